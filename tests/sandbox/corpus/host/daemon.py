"""Leaves a daemon behind: two forks, a new session, all signals ignored, descriptors closed, the name changed.

The daemon must not outlive the run. Limits: processes=6, wall_s=1
Variants: detached, subreaper, group, sleeping_parent, stopped
"""

import signal

from attack import VARIANT, os, say, syscall, time

if VARIANT == "subreaper":
    say(str(syscall("prctl", 36, 1, 0, 0, 0)))
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
if not os.fork():
    if VARIANT == "group":
        os.setpgid(0, 0)
    else:
        os.setsid()
    if not os.fork():
        for descriptor in range(256):
            try:
                os.close(descriptor)
            except OSError:
                continue
        if VARIANT == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.01)
    os._exit(0)
if VARIANT == "sleeping_parent":
    time.sleep(30)
