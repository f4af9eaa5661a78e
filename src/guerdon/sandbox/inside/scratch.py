"""The working directory of a run: how full it is, what is brought back from it, and how it is emptied.

What lies in it was made by hostile programs: links are never followed, and depth is no recursion.
"""

from __future__ import annotations

import fnmatch
import json
import os
import stat
from collections.abc import Sequence

MAX_ENTRIES = 4096
MAX_LEVELS = 64


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
        except OSError:  # it went away in the meantime, or is too deep to be named: that counts as one
            entries += 1
        if entries > MAX_ENTRIES or used > size:
            return False
    return True


def empty(box: str) -> bool:
    """Removes all that lies in the folder; whether that worked."""
    try:
        left = os.listdir(box)
        while left:
            for name in left:
                _remove(box, os.path.join(box, name))
            left = os.listdir(box)
    except OSError:
        return False
    return True


def _remove(box: str, path: str) -> None:
    """Removes a file or an empty folder. What a folder holds comes to the top first, where it is removed in
    turn, so that no path grows long."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    while True:
        try:
            names = os.listdir(path)
        except PermissionError:
            # A folder that its owner may not read; made so by a program, since nothing else is here.
            os.chmod(path, 0o700)
            names = os.listdir(path)
        if not names:
            os.rmdir(path)
            return
        for number, name in enumerate(names):
            _move_up(os.path.join(path, name), box, number)


def _move_up(path: str, box: str, number: int) -> None:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    try:
        os.rename(path, os.path.join(box, f".up-{number}-{os.lstat(path).st_ino}"))
    except PermissionError:
        # Renaming a folder writes to it.
        os.chmod(path, 0o700)
        os.rename(path, os.path.join(box, f".up-{number}-{os.lstat(path).st_ino}"))


def _named(box: str, names: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        chosen += fnmatch.filter(sorted(os.listdir(box)), name) if "*" in name else [name]
    return chosen


def collect(box: str, names: Sequence[str], into: int) -> None:
    """Writes the regular files of those names to a descriptor: a line of JSON with names and sizes, then
    their contents. What is missing or is no regular file is left out. A name with ``*`` is a pattern for what
    lies at the top."""
    found: list[tuple[str, bytes]] = []
    for name in _named(box, names):
        try:
            descriptor = os.open(os.path.join(box, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                found.append((name, file.read()))
    with open(into, "wb", closefd=False) as out:
        out.write(json.dumps([(name, len(content)) for name, content in found]).encode() + b"\n")
        for _, content in found:
            out.write(content)
