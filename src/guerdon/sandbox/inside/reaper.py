"""What stays behind a fork server that has no process namespace: it ends whatever the server leaves."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from . import kernel, scratch


def stay_behind(box: str) -> None:
    """Returns in a fork of this process, which itself waits for the fork's end, ends all that is left of it,
    removes its working directory, and goes. The fork ends if this process does."""
    kernel.set_subreaper()
    pid = os.fork()
    if pid == 0:
        kernel.die_with_parent()
        return
    # Who is at the other end is to notice when the fork is gone.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    while os.wait()[0] != pid:
        pass
    with suppress(ChildProcessError):
        while children := _children():
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.wait()
    if scratch.remove(box):
        with suppress(OSError):
            os.rmdir(os.path.dirname(box))
    os._exit(0)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel without it
        return []
