"""Ends well before any assertion, in every way there is: as the program starts. Not to be passed.

Variants: sys_exit, os_exit, system_exit, quit, keyboard, signal, raw, kill, abort, thread, at_exit
"""

import atexit
import ctypes
import os
import platform
import signal
import sys
import threading

VARIANT = ""
if VARIANT == "sys_exit":
    sys.exit(0)
if VARIANT == "os_exit":
    os._exit(0)
if VARIANT == "system_exit":
    raise SystemExit
if VARIANT == "quit":
    quit(0)
if VARIANT == "keyboard":
    raise KeyboardInterrupt
if VARIANT == "signal":
    signal.raise_signal(signal.SIGTERM)
if VARIANT == "raw":
    ctypes.CDLL(None).syscall(231 if platform.machine() == "x86_64" else 94, 0)
if VARIANT == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if VARIANT == "abort":
    ctypes.CDLL(None).exit(0)
if VARIANT == "thread":
    threading.Timer(0.001, lambda: os._exit(0)).start()
if VARIANT == "at_exit":
    atexit.register(os._exit, 0)


def solve(numbers):
    return None


mean = solve
