"""Eight processes that each stay below the limit on memory. Together they must not have three times of it.

Limits: memory_mb=96, processes=8, cpu_s=2, wall_s=2
"""

from attack import BURST, breach, mmap, os, time

counter = mmap.mmap(-1, 4096)
for number in range(7):
    try:
        if not os.fork():
            try:
                block = bytearray(b"x") * (64 * BURST)
                counter[number] = len(block) // BURST
            except MemoryError:
                pass
            time.sleep(1)
            os._exit(0)
    except OSError:
        break
time.sleep(0.9)
total = sum(counter[:7])
if total > 288:
    breach(f"{total} MiB in several processes")
