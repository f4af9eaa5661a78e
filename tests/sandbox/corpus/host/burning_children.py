"""Burns in children, where several processes are allowed: while they run, and when their parent has gone or waits.

Their processor time counts together with its own, also where nobody waits for them. Ends: timeout, killed
Limits: processes=6, cpu_s=0.4, wall_s=2.5
Variants: waiting, orphans, short_lived, ignored, ignored_and_short, unwaited, unwaited_orphans
"""

import signal

from attack import LIBC, VARIANT, breach, burn, ctypes, os, time


def unwaited():
    """SA_NOCLDWAIT, which shows nowhere."""
    action = (ctypes.c_long * 19)()
    action[17] = 2  # sa_flags, behind the handler and 128 bytes of mask
    LIBC.sigaction(signal.SIGCHLD, action, None)


if VARIANT.startswith(("ignored", "unwaited")):
    if VARIANT.startswith("ignored"):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    else:
        unwaited()
    if VARIANT == "unwaited_orphans" and os.fork():
        time.sleep(10)
    end = time.monotonic() + 1.8
    while time.monotonic() < end:
        if not os.fork():
            burn(0.005 if VARIANT == "ignored_and_short" else 0.06)
            os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass
    breach("1.8 s of children that nobody waited for")
    os._exit(0)
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
