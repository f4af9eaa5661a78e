"""JSON Lines that grow with a run, in the order of its steps, and can be cut back to one of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from guerdon.errors import InputError, ResumeError
from guerdon.scoring.rows import dumps, loads

_MOST_STEPS = 1 << 53
"""Numbers that a float, and with it a plot, can tell apart."""


class StepLines:
    """A file with any number of objects a step, each with its ``step``; opened when it is first written.

    A file that holds lines already is written on only after ``resume``: InputError otherwise, as also where
    another process writes it or it cannot be written.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lines = StepLines(Path(folder.name, "metrics.jsonl"))
    >>> for step in (1, 2, 3):
    ...     lines.append([{"step": step, "loss": 0.5}])
    >>> [line["step"] for line in lines.resume(2)]
    [1, 2]
    >>> lines.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def append(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Write objects; they are with the system on return."""
        text = "".join(dumps(one) + "\n" for one in objects)
        if not text:
            return
        file = self._file or self._open(fresh=True)
        try:
            file.write(text.encode("ascii"))
            file.flush()
        except OSError as error:
            raise InputError(
                f"cannot write {self.path}: {error.strerror or error}; the run can be resumed from its last "
                "checkpoint"
            ) from error

    def resume(self, step: int) -> Iterator[dict[str, Any]]:
        """The objects up to a step; once all are read, those of later steps are gone from the file.

        A last line that was cut off is one of those. Raises ResumeError where a line is none of ours.
        """
        file = self._file or self._open(fresh=False)
        end = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                one = parsed(line, f"{self.path}, line {number}")
                if one["step"] > step:
                    break
                yield one
                end += len(line)
        file.truncate(end)

    def sync(self) -> None:
        """Have what was written on the disk itself, so that it survives a machine that loses power."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let the file go; it can be written again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, *, fresh: bool) -> IO[bytes]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("ab")
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror or error}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(f"{self.path} is being written by another run") from None
        if fresh and file.tell():
            file.close()
            raise InputError(f"{self.path} already holds a run; resume it or choose another folder")
        self._file = file
        return file


def parsed(line: bytes, where: str) -> dict[str, Any]:
    """An object with a ``step``; raises ResumeError that says where there is none."""
    try:
        one = loads(line)
        if isinstance(one, dict) and type(one["step"]) is int and abs(one["step"]) < _MOST_STEPS:
            return one
    except (ValueError, KeyError):
        pass
    raise ResumeError(f"{where} is not a line of a training run")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of such a file, which may be growing: a last line that has no end yet is left out.

    Nothing where there is no file. Raises ResumeError where a line is none of ours.
    """
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith(b"\n"):
                yield parsed(line, f"{path}, line {number}")
