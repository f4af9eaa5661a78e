"""Raises its own limits, or sets those of its parent. None must change.

Variants: CPU, AS, DATA, FSIZE, NOFILE, NPROC, STACK, CORE, MEMLOCK, RTPRIO, NICE, parent
"""

import resource

from attack import VARIANT, attempt, breach, os, say

if VARIANT == "parent":
    target = os.getppid() or 1
    attempt("parent's limits", resource.prlimit, target, resource.RLIMIT_NOFILE)
    attempt("parent's limits", resource.prlimit, target, resource.RLIMIT_CORE, (0, 0))
else:
    name = getattr(resource, f"RLIMIT_{VARIANT}")
    soft, hard = resource.getrlimit(name)
    say(f"{soft}, {hard}")
    for wanted in (-1, hard * 2 if hard > 0 else 1 << 20):
        if hard == -1 or wanted == hard:
            continue
        try:
            resource.setrlimit(name, (wanted, wanted))
        except (OSError, ValueError) as refusal:
            say(f"refused {refusal}")
            continue
        breach(f"{VARIANT} from {hard} to {resource.getrlimit(name)}")
    if hard == -1 and VARIANT in ("FSIZE", "NOFILE", "MEMLOCK", "CORE"):
        breach(f"{VARIANT} has no limit")
