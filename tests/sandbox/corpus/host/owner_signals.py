"""Has the kernel send a signal to others: as the owner of a socket or pipe, by a timer, at the death of a parent.

Variants: fcntl, fcntl_ex, ioctl, group

"""

import fcntl
import socket
import struct

from attack import TARGETS, VARIANT, breach, os, say

WINCH = 28  # ignored unless it is handled
for target in (TARGETS["pid"], os.getppid() or 1):
    one, other = socket.socketpair()
    try:
        fcntl.fcntl(one, 10, WINCH)
        if VARIANT == "fcntl":
            fcntl.fcntl(one, fcntl.F_SETOWN, target)
        elif VARIANT == "group":
            fcntl.fcntl(one, fcntl.F_SETOWN, -target)
        elif VARIANT == "fcntl_ex":
            fcntl.fcntl(one, 15, struct.pack("ii", 1, target))
        else:
            fcntl.ioctl(one, 0x8901, struct.pack("i", target))
        fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
        other.send(b"x")
    except OSError as refusal:
        say(f"refused {target}: {refusal}")
        continue
    if fcntl.fcntl(one, fcntl.F_GETOWN) in (target, -target):
        breach(f"events are signalled to {target}")
