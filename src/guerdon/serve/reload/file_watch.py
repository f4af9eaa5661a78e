"""Which source files a server's rewards come from, and whether one of them changed."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

from guerdon.reward.loading.modules import loaded_files

_LOOK = 0.25
"""Seconds between two looks at the files."""
Stamp = tuple[int, int, int]


def watched_files(error: BaseException | None = None) -> dict[str, Stamp]:
    """The user's own source files that this process has loaded, as they are now.

    They are the files of modules that belong neither to Python, nor to an installed package, nor to Guerdon; and
    those in the traceback of an import's error.
    """
    files = {*loaded_files().values(), *_files_of(error)}
    files |= {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = (file for file in files if file.endswith(".py") and _is_own(Path(file)))
    return {file: stamp for file in own if (stamp := stamp_of(file)) is not None}


def _files_of(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        if isinstance(error, SyntaxError) and error.filename:
            yield error.filename
        yield from (step.filename for step in traceback.extract_tb(error.__traceback__))
        error = error.__cause__ or error.__context__


def _is_own(file: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    not_own = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), Path(__file__).parents[2])
    return not any(file.is_relative_to(folder) for folder in not_own)


def stamp_of(file: str) -> Stamp | None:
    """A value that changes with the file; None if there is no file, as while an editor replaces it."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class FileWatch:
    """Files that are polled; a change counts once the files have been still for a moment."""

    def __init__(self, every: float = _LOOK) -> None:
        self._every = every
        self._stamps: dict[str, Stamp] = {}
        self._moving = False
        self._next = 0.0

    def set(self, files: Mapping[str, Stamp], since: int) -> None:
        """Watch these files, and no others, as they were loaded by a process that was started at ``since``."""
        self._stamps = {}
        self.add(files, since)

    def add(self, files: Mapping[str, Stamp], since: int) -> None:
        """Watch these files as well. What was written after ``since``, in ns, may have been loaded before it was."""
        now = time.time_ns()
        self._stamps.update(files)
        self._moving = any(since < written <= now for written, _, _ in files.values())

    def changed(self) -> bool:
        """Whether a file has changed, and none did since the last look."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._every
        news = {f: s for f, old in self._stamps.items() if (s := stamp_of(f)) is not None and s != old}
        self._stamps.update(news)
        was_moving, self._moving = self._moving, bool(news)
        return was_moving and not news
