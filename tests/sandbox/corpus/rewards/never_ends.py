"""Never comes back from the call, or from the program. Not to be passed.

Variants: loop, sleep, stop, load, iterator
"""

import itertools
import os
import signal
import time

VARIANT = ""


def hang():
    if VARIANT == "sleep":
        time.sleep(100)
    if VARIANT == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        pass


def solve(numbers):
    return itertools.count() if VARIANT == "iterator" else hang()


mean = solve
if VARIANT == "load" or __name__ == "__main__":
    hang()
