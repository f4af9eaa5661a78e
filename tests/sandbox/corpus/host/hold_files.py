"""Locks a file of the machine that it may read, has it written to the disk, or takes its pages: others would wait.

Unconfined: breaches
Variants: lock, record, splice, send, tee
"""

import fcntl
import tempfile

from attack import VARIANT, breach, os, say

ours = os.__file__
first, second = os.open(ours, os.O_RDONLY), os.open(ours, os.O_RDONLY)
reader, writer = os.pipe()
try:
    if VARIANT == "lock":
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            # Where there was no lock, there is none that this one meets.
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            breach("a lock on a file of the host")
    elif VARIANT == "record":
        fcntl.lockf(first, fcntl.LOCK_SH | fcntl.LOCK_NB)
        own = tempfile.TemporaryFile()
        say(f"a record lock: {own.fileno()}")
    elif VARIANT == "splice":
        breach(f"{os.splice(first, writer, 100)} bytes spliced")
    elif VARIANT == "send":
        breach(f"{os.sendfile(writer, first, 0, 100)} bytes sent")
    else:
        os.write(writer, b"x")
        breach(f"{os.copy_file_range(first, os.open('copy', os.O_CREAT | os.O_RDWR), 100)} bytes copied")
except OSError as refusal:
    say(f"refused: {refusal}")
