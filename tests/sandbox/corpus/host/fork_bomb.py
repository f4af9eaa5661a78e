"""Forks without end where eight processes are allowed. No more than those must ever be alive at once.

Linux counts processes and threads together, and 64 threads are allowed beside the processes: that is the bound.

Where there is no user namespace, all tasks of the user count, and where bubblewrap is started by root, none do: there
more are possible for the milliseconds until the run is ended for it. Leaks: landlock, bubblewrap-root

Limits: processes=8, cpu_s=0.5, wall_s=1.5
"""

from attack import breach, mmap, os, time

counter = mmap.mmap(-1, 4096)
slot = 0
deadline = time.monotonic() + 0.6
while time.monotonic() < deadline:
    try:
        pid = os.fork()
    except OSError:
        time.sleep(0.01)
        continue
    slot = slot * 2 + 1 if pid else slot * 2 + 2
    if not pid:
        counter[os.getpid() % (1 << 16)] = 1
        time.sleep(0.05)
    alive = sum(counter[:])
    if alive > 8 + 64:
        breach(f"{alive} processes at once")
        break
counter[os.getpid() % (1 << 16)] = 0
time.sleep(3)
