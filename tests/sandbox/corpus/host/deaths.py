"""Ends in unusual ways: by signals that have no name, with codes out of range, from a thread. Each must be told.

Ends: killed, error, timeout, output_limit
Variants: SIGKILL, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS, SIGALRM, realtime, last, unknown, code_1, code_255, thread
"""

import signal
import threading

from attack import VARIANT, os, syscall

numbers = {"realtime": 40, "last": 64, "unknown": 33}
if VARIANT.startswith("SIG") or VARIANT in numbers:
    number = numbers.get(VARIANT) or getattr(signal, VARIANT)
    syscall("kill", os.getpid(), number)
    os._exit(3)
if VARIANT == "thread":
    threading.Thread(target=lambda: os._exit(5)).start()
    threading.Event().wait()
if VARIANT == "code_1":
    raise SystemExit(1)
os._exit(255)
