"""Dies so that the kernel would write its memory to a file, or hand it to a program of the host. No file must appear.

Ends: killed, error
Variants: abort, segment, quit
"""

import resource
import signal

from attack import VARIANT, ctypes, os, say, syscall

say(str(syscall("prctl", 4, 1, 0, 0, 0)))
try:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
except (OSError, ValueError) as refusal:
    say(f"refused {refusal}")
if VARIANT == "abort":
    os.abort()
if VARIANT == "quit":
    os.kill(os.getpid(), signal.SIGQUIT)
ctypes.string_at(0)
