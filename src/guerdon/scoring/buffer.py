"""Records of a run kept compactly: in memory while they are few, in an unnamed file beyond that."""

from __future__ import annotations

import marshal
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterator
from typing import Any

_IN_MEMORY = 1 << 24
_READ = 1 << 16

Record = tuple[Any, ...]
"""Plain values only: text, numbers, None, and lists and dicts of these."""


class RecordBuffer:
    """An append-only list of tuples that takes 8 bytes of memory a tuple once it has outgrown 16 MB.

    Can be pickled, which writes out all that it holds.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  lives as long as this
        weakref.finalize(self, self._file.close)
        self._ends = array("Q", [0])
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, record: Record) -> None:
        """Add a record at the end."""
        body = marshal.dumps(record)
        with self._lock:
            self._file.write(body)
            self._ends.append(self._ends[-1] + len(body))

    def __getitem__(self, position: int) -> Record:
        with self._lock:
            body = self._read(position, position + 1)
        return _record(body)

    def __iter__(self) -> Iterator[Record]:
        position = 0
        while position < len(self):
            last = position + 1
            while last < len(self) and self._ends[last] - self._ends[position] < _READ:
                last += 1
            with self._lock:
                block = memoryview(self._read(position, last))
            start = self._ends[position]
            for i in range(position, last):
                yield _record(block[self._ends[i] - start : self._ends[i + 1] - start])
            position = last

    def _read(self, first: int, last: int) -> bytes:
        self._file.seek(self._ends[first])
        body: bytes = self._file.read(self._ends[last] - self._ends[first])
        self._file.seek(0, 2)
        return body

    def __getstate__(self) -> list[Record]:
        # As values, since the bytes of marshal differ between Pythons.
        return list(self)

    def __setstate__(self, records: list[Record]) -> None:
        self.__init__()  # type: ignore[misc]
        for record in records:
            self.append(record)


def _record(body: bytes | memoryview) -> Record:
    # marshal reads only what this process itself wrote.
    record: Record = marshal.loads(body)
    return record
