"""Stops itself, so that no limit on processor time is ever reached. It must end at the wall limit.

Ends: timeout, killed
Limits: wall_s=0.5
Variants: SIGSTOP, SIGTSTP, SIGTTIN, all_threads
"""

import signal
import threading

from attack import VARIANT, os, time

if VARIANT == "all_threads":
    for _ in range(4):
        threading.Thread(target=lambda: time.sleep(60)).start()
    os.kill(os.getpid(), signal.SIGSTOP)
else:
    os.kill(os.getpid(), getattr(signal, VARIANT))
time.sleep(60)
