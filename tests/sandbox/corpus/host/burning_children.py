"""Burns in children, where several processes are allowed: while they run, and when their parent has gone or waits.

Their processor time counts together with its own. Ends: timeout, killed
Limits: processes=6, cpu_s=0.4, wall_s=2.5
Variants: waiting, orphans, short_lived
"""

from attack import VARIANT, burn, os, time

if VARIANT == "short_lived":
    while True:
        if not os.fork():
            burn(0.05)
            os._exit(0)
        os.wait()
for _ in range(4):
    if not os.fork():
        if VARIANT == "orphans" and os.fork():
            os._exit(0)
        burn()
while True:
    time.sleep(10)
