"""Burns in slices shorter than a clock tick, to be charged for none. It must end at one of the limits.

Ends: timeout, killed
Limits: cpu_s=0.4, wall_s=0.8
"""

from attack import time

while True:
    end = time.perf_counter() + 0.0005
    while time.perf_counter() < end:
        pass
    time.sleep(0.0005)
