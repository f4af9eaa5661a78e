"""A process that forks and ends at once, again and again, so that whoever kills always comes too late.

No process of the relay must outlive the run. Limits: processes=6, cpu_s=0.4, wall_s=0.6
"""

from attack import os

os.setsid() if os.getpid() != os.getsid(0) else None
while True:
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        continue
