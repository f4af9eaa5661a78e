"""Waits for connections from the host: on a port, on an abstract name. Nobody must be able to connect.

Reach: outside
Limits: wall_s=2
Variants: tcp, tcp6, abstract
"""

import select
import socket

from attack import TARGETS, VARIANT, breach, say

if VARIANT == "abstract":
    one = socket.socket(socket.AF_UNIX)
    one.bind("\0" + TARGETS["free_name"])
elif VARIANT == "tcp6":
    one = socket.socket(socket.AF_INET6)
    one.bind(("::", TARGETS["free_port"]))
else:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("0.0.0.0", TARGETS["free_port"]))
one.listen()
say("listening")
if select.select([one], [], [], 0.3)[0]:
    breach("somebody connected")
