"""Working directories in the file system of the machine, for the tiers that have no file system of their own."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache

from guerdon.sandbox.inside import scratch

_PREFIX = "guerdon-sandbox-"
_IN_MEMORY = "/dev/shm"
_ROOM = 1 << 30
"""Bytes that have to be free there: in many containers it is small, and others need it."""


def make(*, executable: bool = False) -> str:
    """A new working directory, in memory if there is room and TMPDIR does not say where it is to be; with
    ``executable`` where programs may be executed, if there is such a place.

    Those of processes that were killed before they could remove them are removed on the way.
    """
    folder = tempfile.gettempdir()
    places = [folder] if "TMPDIR" in os.environ else [_IN_MEMORY, folder]
    chosen = next(
        (place for place in (*places, "/var/tmp") if _will_do(place, executable=executable)), folder
    )
    _sweep(chosen)
    return os.path.realpath(tempfile.mkdtemp(prefix=f"{_PREFIX}{_machine()}-{os.getpid()}-", dir=chosen))


def _will_do(place: str, *, executable: bool) -> bool:
    if not (os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)):
        return False
    about = os.statvfs(place)
    if executable and about.f_flag & os.ST_NOEXEC:
        return False
    return place != _IN_MEMORY or about.f_bavail * about.f_frsize >= _ROOM


def remove(box: str) -> None:
    """Removes one, whatever lies in it."""
    scratch.remove(box)


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
