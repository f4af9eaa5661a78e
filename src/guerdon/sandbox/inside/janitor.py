"""Who cleans up after a fork server that works in a folder of the host and has no process namespace of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from . import kernel, scratch

_HIGHEST = 1 << 20


def stay_behind(box: str) -> None:
    """Returns in a fork, which becomes the fork server. This process waits for its end, however it comes, ends
    what it left running, removes its folder, and ends."""
    # What loses its parent becomes a child of this process, and so cannot get away.
    kernel.set_subreaper()
    pid = os.fork()
    if pid == 0:
        return
    os.closerange(3, _HIGHEST)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.waitpid(pid, 0)
    while True:
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            break
    scratch.empty(box)
    with suppress(OSError):
        os.rmdir(box)
    os._exit(0)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
        return [int(number) for number in file.read().split()]
