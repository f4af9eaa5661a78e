"""Thousands of threads with tiny stacks. The kernel's memory for them is not the program's: 2,000 is too many.
Where bubblewrap is started by root, nothing else bounds them. Leaks: bubblewrap-root
Variants: idle, burning
"""

import threading

from attack import VARIANT, breach, burn, say, time

threading.stack_size(32768)
alive = 0
hold = threading.Event()
target = burn if VARIANT == "burning" else hold.wait
try:
    while alive < 2_000:
        threading.Thread(target=target, daemon=True).start()
        alive += 1
    breach(f"{alive} threads")
except (RuntimeError, MemoryError) as refusal:
    say(f"refused after {alive}: {refusal}")
time.sleep(5)
