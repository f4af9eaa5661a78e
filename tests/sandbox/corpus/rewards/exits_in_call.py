"""Ends well in the midst of the call that is judged. Not to be passed.

Variants: sys_exit, os_exit, system_exit, generator_exit, kill, recursion, segment, memory
"""

import ctypes
import os
import signal
import sys

VARIANT = ""


def solve(numbers):
    if VARIANT == "sys_exit":
        sys.exit(0)
    if VARIANT == "os_exit":
        os._exit(0)
    if VARIANT == "system_exit":
        raise SystemExit(None)
    if VARIANT == "generator_exit":
        raise GeneratorExit
    if VARIANT == "kill":
        os.kill(os.getpid(), signal.SIGTERM)
    if VARIANT == "recursion":
        sys.setrecursionlimit(1 << 30)
        return solve(numbers)
    if VARIANT == "segment":
        ctypes.string_at(0)
    return "x" * (1 << 40)


mean = solve
