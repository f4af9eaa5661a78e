"""Records of a run kept compactly: in memory while they are few, in an unnamed file beyond that."""

from __future__ import annotations

import marshal
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterator

from guerdon.scoring.outcome import Outcome

_IN_MEMORY = 1 << 24
_READ = 1 << 16

Row = tuple[str | int, Outcome, float]
"""id, outcome, seconds"""


class ResultBuffer:
    """An append-only list of rows that takes 8 bytes of memory a row once it has outgrown 16 MB."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  lives as long as this
        weakref.finalize(self, self._file.close)
        self._ends = array("Q", [0])
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, identity: str | int, outcome: Outcome, seconds: float) -> None:
        """Add a row at the end."""
        body = marshal.dumps((identity, tuple(outcome), seconds))
        with self._lock:
            self._file.write(body)
            self._ends.append(self._ends[-1] + len(body))

    def __getitem__(self, position: int) -> Row:
        with self._lock:
            body = self._read(position, position + 1)
        return _row(body)

    def __iter__(self) -> Iterator[Row]:
        position = 0
        while position < len(self):
            last = position + 1
            while last < len(self) and self._ends[last] - self._ends[position] < _READ:
                last += 1
            with self._lock:
                block = memoryview(self._read(position, last))
            start = self._ends[position]
            for i in range(position, last):
                yield _row(block[self._ends[i] - start : self._ends[i + 1] - start])
            position = last

    def _read(self, first: int, last: int) -> bytes:
        self._file.seek(self._ends[first])
        body: bytes = self._file.read(self._ends[last] - self._ends[first])
        self._file.seek(0, 2)
        return body


def _row(body: bytes | memoryview) -> Row:
    # marshal reads only what this process itself wrote.
    identity, outcome, seconds = marshal.loads(body)
    return identity, Outcome(*outcome), seconds
