"""The working directory of a run: how full it is, what is brought back from it, and how it is emptied.

What lies in it was made by hostile programs: links are never followed, and depth is no recursion.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress

MAX_ENTRIES = 4096
MAX_COLLECTED = 256 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What is said of a folder that was removed or replaced in the meantime."""


def within(box: str, size: int) -> bool:
    """Whether what lies in the folder is no more than ``size`` bytes and ``MAX_ENTRIES`` entries."""
    entries, used, open_folders = 0, 0, [box]
    while open_folders:
        try:
            with os.scandir(open_folders.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append(entry.path)
                        continue
                    # One that is removed meanwhile must not hide those after it.
                    with suppress(FileNotFoundError):
                        used += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:
            if error.errno not in _GONE:
                # Nobody can look into it: it cannot be opened, or lies too deep to be named.
                return False
            entries += 1
        if entries > MAX_ENTRIES or used > size:
            return False
    return True


def empty(folder: int) -> bool:
    """Removes all that lies in the folder of this descriptor; whether that worked.

    Goes from folder to folder by descriptors and never by a path or a link, and moves nothing, which Landlock's
    first version forbids. One descriptor is open at a time, however deep it goes. Other file systems are left alone.
    """
    here = -1
    try:
        _open_up(folder)
        here = os.open(".", _FOLDER, dir_fd=folder)
        device = os.fstat(here).st_dev
        above: list[tuple[tuple[int, int], str]] = []
        while True:
            _open_up(here)
            if name := _first_full(here, device):
                above.append((_identity(here), name))
                here = _replaced(here, _entered(here, name, device))
            elif above:
                known, name = above.pop()
                here = _replaced(here, os.open("..", _FOLDER, dir_fd=here))
                if _identity(here) != known:
                    return False
                os.rmdir(name, dir_fd=here)
            else:
                return True
    except OSError:
        return False
    finally:
        if here >= 0:
            os.close(here)


def remove(path: str) -> bool:
    """Removes a folder of that path, which is no link, and all that lies in it; whether that worked."""
    try:
        folder = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        if not empty(folder):
            return False
        os.rmdir(path)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def is_empty(folder: int) -> bool:
    """Whether nothing lies in the folder of this descriptor. Reads no more than that takes."""
    with os.scandir(folder) as found:
        return next(found, None) is None


def _replaced(here: int, other: int) -> int:
    os.close(here)
    return other


def _identity(folder: int) -> tuple[int, int]:
    about = os.fstat(folder)
    return about.st_dev, about.st_ino


def _first_full(folder: int, device: int, *, looks_below: bool = True) -> str:
    """Removes files and empty folders, and what holds nothing but those, until there is a folder that holds more:
    its name."""
    while True:
        removed = 0
        with os.scandir(folder) as found:
            for entry in found:
                removed += 1
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=folder)
                elif not _removed(folder, entry.name, device, looks_below=looks_below):
                    return entry.name
        # A file system may leave names out while others are removed.
        if not removed:
            return ""


def _removed(folder: int, name: str, device: int, *, looks_below: bool) -> bool:
    try:
        os.rmdir(name, dir_fd=folder)
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    if not looks_below:
        return False
    below = _entered(folder, name, device)
    try:
        _open_up(below)
        if _first_full(below, device, looks_below=False):
            return False
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=folder)
    return True


def _entered(folder: int, name: str, device: int) -> int:
    """A descriptor of the folder of that name."""
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        below = os.open(name, _FOLDER, dir_fd=folder)
    if os.fstat(below).st_dev != device:
        os.close(below)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return below


def _open_up(folder: int) -> None:
    """Makes a folder its owner's own, whatever rights the program that made it left out."""
    if os.fstat(folder).st_mode & 0o700 != 0o700:
        os.fchmod(folder, 0o700)


def _named(box: str, names: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        chosen += fnmatch.filter(sorted(os.listdir(box)), name) if "*" in name else [name]
    return chosen


def collect(box: str, names: Sequence[str], into: int, size: int = MAX_COLLECTED) -> None:
    """Writes the regular files of those names to a descriptor: a line of JSON with names and sizes, then their
    contents. What is missing or is not a regular file is left out, and what is more than ``size`` or
    ``MAX_COLLECTED`` bytes together: a file may hold nothing and be large all the same. A name with ``*`` is a
    pattern for what lies at the top."""
    found: list[tuple[str, int]] = []
    left = min(size, MAX_COLLECTED)
    for name in _named(box, names):
        holds = -1
        with suppress(OSError):
            descriptor = _opened(box, name)
            about = os.fstat(descriptor)
            os.close(descriptor)
            holds = about.st_size if stat.S_ISREG(about.st_mode) else -1
        if 0 <= holds <= left:
            left -= holds
            found.append((name, holds))
    os.write(into, json.dumps(found).encode() + b"\n")
    for name, holds in found:
        descriptor = _opened(box, name)
        # Never through the memory of this process, of which all later forks have a copy.
        while holds and (sent := os.sendfile(into, descriptor, None, holds)):
            holds -= sent
        os.close(descriptor)


def _opened(box: str, name: str) -> int:
    return os.open(os.path.join(box, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
