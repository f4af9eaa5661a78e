"""Working directories in the file system of the machine, for the tiers that have no file system of their own."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from functools import cache

from guerdon.sandbox.inside import scratch

_PREFIX = "guerdon-sandbox-"
_IN_MEMORY = "/dev/shm"
_NAME = "box"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SYSTEM = ("/tmp", "/var/tmp", _IN_MEMORY)
_ROOM = 1 << 30
"""Bytes that have to be free there: in many containers it is small, and others need it."""


def make(*, executable: bool = False) -> str:
    """A new working directory, in memory if there is room and TMPDIR does not say where it is to be; with
    ``executable`` where programs may be executed, if there is such a place.

    It lies in a folder of this user's, whoever is given the working directory itself. Those of this user's processes
    that were killed before they could remove them are removed on the way. Raises OSError where there is no place
    whose entries nobody else can move.
    """
    folder = tempfile.gettempdir()
    places = [folder] if "TMPDIR" in os.environ else [_IN_MEMORY, folder]
    if not _is_safe(folder):
        raise PermissionError(
            errno.EPERM, f"others may move what lies in {folder}: let TMPDIR name a folder of your own"
        )
    chosen = next(
        (place for place in (*places, "/var/tmp") if _will_do(place, executable=executable)), folder
    )
    _sweep(chosen)
    above = os.path.realpath(tempfile.mkdtemp(prefix=f"{_PREFIX}{machine()}-{os.getpid()}-", dir=chosen))
    if os.geteuid() == 0:
        # The working directory becomes nobody's, who has to get there.
        os.chmod(above, 0o755)
    box = os.path.join(above, _NAME)
    os.mkdir(box, 0o700)
    return box


def _is_safe(place: str) -> bool:
    """Whether only its owner, whom one has to trust, can move what others have put there."""
    about = os.stat(place)
    trusted = about.st_uid in (0, os.geteuid()) or place in _SYSTEM
    return trusted and (not about.st_mode & stat.S_IWOTH or bool(about.st_mode & stat.S_ISVTX))


def _will_do(place: str, *, executable: bool) -> bool:
    if not (os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK) and _is_safe(place)):
        return False
    about = os.statvfs(place)
    if executable and about.f_flag & os.ST_NOEXEC:
        return False
    return place != _IN_MEMORY or about.f_bavail * about.f_frsize >= _ROOM


def remove(box: str) -> None:
    """Removes one, whatever lies in it."""
    if scratch.remove(box) or not os.path.lexists(box):
        with suppress(OSError):
            os.rmdir(os.path.dirname(box))


def _sweep(folder: str) -> None:
    mine = f"{_PREFIX}{machine()}-"
    with suppress(OSError):
        place = os.open(folder, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for name in os.listdir(place):
                owner = name.removeprefix(mine).partition("-")[0]
                if name.startswith(mine) and owner.isdecimal() and not os.path.exists(f"/proc/{owner}"):
                    _remove_own(place, name)
        finally:
            os.close(place)


def _remove_own(place: int, name: str) -> None:
    """Removes a folder of this user's. Anybody may have put anything under that name, such as a link."""
    with suppress(OSError):
        found = os.open(name, _FOLDER, dir_fd=place)
        try:
            if os.fstat(found).st_uid == os.geteuid() and scratch.empty(found):
                os.rmdir(name, dir_fd=place)
        finally:
            os.close(found)


@cache
def machine() -> str:
    """Within which a number means one process: several machines or containers may share a folder."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read()[:8]}-{os.stat('/proc/self/ns/pid').st_ino}"
