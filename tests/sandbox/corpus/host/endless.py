"""Runs for ever with every signal that a limit could send ignored, handled, blocked, or in code that holds the GIL.

Ends: timeout, killed
Limits: cpu_s=0.3, wall_s=0.8
Variants: ignored_burn, handled_burn, blocked_burn, ignored_sleep, handled_sleep, blocked_sleep, one_operation, regex
"""

import re
import signal

from attack import VARIANT, burn, time

how, _, what = VARIANT.partition("_")
for number in range(1, 65):
    try:
        if how == "blocked":
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        else:
            signal.signal(number, (lambda *_: None) if how == "handled" else signal.SIG_IGN)
    except (OSError, ValueError):
        continue
if VARIANT == "one_operation":
    print(len(str(7 ** (10**8))))
elif VARIANT == "regex":
    re.match(r"(a*)*b", "a" * 40)
elif what == "burn":
    burn()
while True:
    time.sleep(60)
