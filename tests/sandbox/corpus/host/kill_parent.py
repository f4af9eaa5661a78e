"""Kills whatever is above it and beside it. The same sandbox must go on to serve.

Variants: parent, group, hang_up, stop_parent, stop_group, descriptors
"""

import signal

from attack import VARIANT, os, say

try:
    target = os.getppid() or 1
    if VARIANT in ("group", "stop_group"):
        os.killpg(os.getpgrp(), signal.SIGSTOP if VARIANT == "stop_group" else signal.SIGKILL)
    elif VARIANT == "descriptors":
        os.closerange(0, 4096)
    else:
        name = {"parent": "SIGKILL", "hang_up": "SIGHUP", "stop_parent": "SIGSTOP"}[VARIANT]
        os.kill(target, getattr(signal, name))
except OSError as refusal:
    say(f"refused {refusal}")
