"""Working directories in the file system of the machine, for the tiers that have no file system of their own."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache

from guerdon.sandbox.inside import scratch

_PREFIX = "guerdon-sandbox-"


def make(*, executable: bool = False) -> str:
    """A new working directory; with ``executable`` where programs may be executed, if there is such a place.

    Those of processes that were killed before they could remove them are removed on the way.
    """
    folder = tempfile.gettempdir()
    places = [folder, "/var/tmp", "/dev/shm"] if executable else [folder]
    may = [place for place in places if os.path.isdir(place) and os.access(place, os.W_OK)]
    chosen = next((place for place in may if not os.statvfs(place).f_flag & os.ST_NOEXEC), folder)
    _sweep(chosen)
    return os.path.realpath(tempfile.mkdtemp(prefix=f"{_PREFIX}{_machine()}-{os.getpid()}-", dir=chosen))


def remove(box: str) -> None:
    """Removes one, whatever lies in it."""
    if scratch.empty(box):
        with suppress(OSError):
            os.rmdir(box)


def _sweep(folder: str) -> None:
    mine = f"{_PREFIX}{_machine()}-"
    with suppress(OSError):
        for name in os.listdir(folder):
            owner = name.removeprefix(mine).partition("-")[0]
            if name.startswith(mine) and owner.isdecimal() and not os.path.exists(f"/proc/{owner}"):
                remove(os.path.join(folder, name))


@cache
def _machine() -> str:
    """Within which a number means one process: several machines or containers may share a folder."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read()[:8]}-{os.stat('/proc/self/ns/pid').st_ino}"
