"""Changes the streams, which the host may share or use again: seals, locks, flags, leases, signals, offsets.

The next run must have sound streams. Variants: seal, lock, nonblocking, append, lease, truncate, stdin, close
"""

import fcntl

from attack import VARIANT, os, say


def do(action, *arguments):
    try:
        say(str(action(*arguments)))
    except (OSError, ValueError) as refusal:
        say(f"refused: {refusal}")


for stream in (0, 1, 2):
    if VARIANT == "seal":
        for seal in (0x2, 0x4, 0x8, 0x10, 0x1):
            do(fcntl.fcntl, stream, 1033, seal)
    elif VARIANT == "lock":
        do(fcntl.flock, stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        do(fcntl.lockf, stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif VARIANT == "nonblocking":
        do(fcntl.fcntl, stream, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
    elif VARIANT == "append":
        do(fcntl.fcntl, stream, fcntl.F_SETFL, os.O_APPEND | os.O_DIRECT)
    elif VARIANT == "lease":
        do(fcntl.fcntl, stream, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    elif VARIANT == "truncate":
        do(os.ftruncate, stream, 0)
        do(os.lseek, stream, 4096, os.SEEK_SET)
    elif VARIANT == "stdin":
        do(os.write, 0, b"left for the next run")
    elif VARIANT == "close":
        os.close(stream)
