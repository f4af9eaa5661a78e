"""Replaces, closes and reopens the streams that output is taken from. Not to be passed.

Variants: replaced, closed, reopened, truncated, rewritten, stderr_only, stdin_written, hole
"""

import io
import os
import sys

VARIANT = ""
if VARIANT == "replaced":
    sys.stdout = io.StringIO("1 2 3\n")
    sys.__stdout__ = sys.stdout
elif VARIANT == "closed":
    os.close(1)
elif VARIANT == "reopened":
    os.close(1)
    os.open("out", os.O_RDWR | os.O_CREAT)
    print("1 2 3")
elif VARIANT == "truncated":
    print("1 2 3", flush=True)
    os.ftruncate(1, 0)
elif VARIANT == "rewritten":
    print("1 2 3\n7 9\n2 4 6 10", flush=True)
    os.pwrite(1, b"\0" * 6, 0)
elif VARIANT == "stderr_only":
    print("1 2 3", file=sys.stderr)
elif VARIANT == "stdin_written":
    try:
        os.write(0, b"1 2 3\n")
    except OSError:
        pass
elif VARIANT == "hole":
    os.lseek(1, 100, os.SEEK_SET)
    print("1 2 3", flush=True)


def solve(numbers):
    return [0]


mean = solve
