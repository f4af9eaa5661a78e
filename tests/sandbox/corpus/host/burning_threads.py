"""Eight threads that go on after the main one has ended, by every way to end it.

Their processor time counts together, and the run must end at the limit. Ends: timeout, killed
Variants: exception, pthread_exit, exit_call
Limits: cpu_s=0.3, wall_s=2
"""

import hashlib
import threading

from attack import LIBC, VARIANT, say, syscall


def work():
    block = bytes(1 << 20)
    while True:
        hashlib.sha256(block)


for _ in range(8):
    threading.Thread(target=work).start()
say("main ends")
if VARIANT == "exception":
    raise OSError("main has ended")
if VARIANT == "pthread_exit":
    LIBC.pthread_exit(None)
syscall("exit", 0)
