"""Leaves something for the next run to find, wherever state could be kept. It must find nothing.

Variants: modules, builtins, environment, handlers, mask, umask, directory, temporary, limits, timer, locale, ticker
"""

import builtins
import json
import locale
import resource
import signal
import sys

from attack import LIBC, TARGETS, VARIANT, os, say

try:
    if VARIANT == "modules":
        sys.modules["left"] = sys
        json.loads = lambda *a: "left"
        sys.path.insert(0, "/left")
    elif VARIANT == "builtins":
        builtins.left = True
        builtins.sum = lambda *a: "left"
    elif VARIANT == "environment":
        os.environ["LEFT"] = "left"
    elif VARIANT == "handlers":
        for number in (1, 2, 10, 12, 14, 15):
            signal.signal(number, signal.SIG_IGN)
    elif VARIANT == "mask":
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    elif VARIANT == "umask":
        os.umask(0o777)
    elif VARIANT == "directory":
        open("left", "w").write("left")
        os.mkdir("left-folder")
    elif VARIANT == "temporary":
        for place in (
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/dev/mqueue",
            "/run",
            "/",
            "..",
            os.path.expanduser("~"),
        ):
            try:
                open(os.path.join(place, TARGETS["mark"]), "w").write("left")
                say(f"left in {place}")
            except OSError as refusal:
                say(f"refused {refusal}")
    elif VARIANT == "limits":
        for name in ("NOFILE", "CPU", "FSIZE", "STACK"):
            resource.setrlimit(
                getattr(resource, "RLIMIT_" + name), (1 << 20, 1 << 20) if name == "STACK" else (3, 3)
            )
    elif VARIANT == "timer":
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        signal.alarm(1)
    elif VARIANT == "locale":
        locale.setlocale(locale.LC_ALL, "C")
        sys.set_int_max_str_digits(0)
        sys.setrecursionlimit(50)
    else:
        LIBC.prctl(29, 1, 0, 0, 0)
        LIBC.prctl(15, b"left")
except (OSError, ValueError) as refusal:
    say(f"refused {refusal}")
