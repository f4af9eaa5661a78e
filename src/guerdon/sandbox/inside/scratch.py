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
                    else:
                        used += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:
            if error.errno not in _GONE:
                # Nobody can look into it: it cannot be opened, or lies too deep to be named.
                return False
            entries += 1
        if entries > MAX_ENTRIES or used > size:
            return False
    return True


def empty(box: str) -> bool:
    """Removes all that lies in the folder; whether that worked."""
    try:
        # A number that is never given twice: what is moved up must not meet what a program named so.
        moved = 0
        while left := os.listdir(box):
            for name in left:
                moved = _remove(box, os.path.join(box, name), moved)
    except OSError:
        return False
    return True


def _remove(box: str, path: str, moved: int) -> int:
    """Removes a file or an empty folder. What a folder holds comes to the top first, where it is removed in
    turn, so that no path grows long. Returns the number of the next that is moved up."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return moved
    _open_up(path)
    for name in os.listdir(path):
        below = os.path.join(path, name)
        if not stat.S_ISDIR(os.lstat(below).st_mode):
            os.unlink(below)
            continue
        # Moving a folder writes to it.
        _open_up(below)
        while os.path.lexists(above := os.path.join(box, f".up-{moved}")):
            moved += 1
        os.rename(below, above)
    os.rmdir(path)
    return moved


def _open_up(folder: str) -> None:
    """Makes a folder its owner's own, whatever rights the program that made it left out."""
    if os.stat(folder).st_mode & 0o700 != 0o700:
        os.chmod(folder, 0o700)


def _named(box: str, names: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        chosen += fnmatch.filter(sorted(os.listdir(box)), name) if "*" in name else [name]
    return chosen


def collect(box: str, names: Sequence[str], into: int) -> None:
    """Writes the regular files of those names to a descriptor: a line of JSON with names and sizes, then
    their contents. What is missing or is not a regular file is left out, and what is more than ``MAX_COLLECTED``
    bytes together. A name with ``*`` is a pattern for what lies at the top."""
    found: list[tuple[str, int]] = []
    left = MAX_COLLECTED
    for name in _named(box, names):
        size = -1
        with suppress(OSError):
            descriptor = _opened(box, name)
            about = os.fstat(descriptor)
            os.close(descriptor)
            size = about.st_size if stat.S_ISREG(about.st_mode) else -1
        if 0 <= size <= left:
            left -= size
            found.append((name, size))
    os.write(into, json.dumps(found).encode() + b"\n")
    for name, size in found:
        descriptor = _opened(box, name)
        # Never through the memory of this process, of which all later forks have a copy.
        while size and (sent := os.sendfile(into, descriptor, None, size)):
            size -= sent
        os.close(descriptor)


def _opened(box: str, name: str) -> int:
    return os.open(os.path.join(box, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
