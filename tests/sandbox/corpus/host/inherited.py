"""Uses every descriptor that it has and was not given. None must be there but the three streams.

Unconfined: breaches
Variants: list, read, receive, send, write, close, duplicate
"""

import socket
import stat

from attack import VARIANT, breach, os, say

for number in range(3, 1024):
    try:
        about = os.fstat(number)
    except OSError:
        continue
    what = stat.S_IFMT(about.st_mode)
    breach(f"descriptor {number}, kind {what:o}")
    try:
        os.set_blocking(number, False)
        if VARIANT == "read":
            say(repr(os.read(number, 200)))
            say(repr(os.pread(number, 200, 0)))
        elif VARIANT == "receive":
            say(repr(socket.socket(fileno=os.dup(number)).recvmsg(4096, 4096)))
        elif VARIANT == "send":
            socket.socket(fileno=os.dup(number)).sendmsg([b'{"status": "ok"}\n' * 100])
        elif VARIANT == "write":
            os.write(number, b"\0" * 4096 + b'{"status": "ok"}\n' * 100)
        elif VARIANT == "close":
            os.close(number)
        elif VARIANT == "duplicate":
            os.dup2(number, 1)
    except OSError as refusal:
        say(f"refused {number}: {refusal}")
