"""Frames between the engine and its worker processes, and the page of memory that they share.

A frame is an 8-byte little-endian length and a pickle. Both ends run the user's own code and trust each
other; what a model wrote is only ever data in a frame.
"""

from __future__ import annotations

import mmap
import pickle
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

_LENGTH = struct.Struct("<Q")
SLOT_BYTES = mmap.PAGESIZE
IDLE = -1
_SINCE, _RUNNING, _BEAT = range(3)
"""Which word of the page holds what."""


def frame(message: Any) -> bytes:
    """A message as it goes over the socket."""
    body = pickle.dumps(message, 5)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Messages out of a stream of bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """The messages that are complete with these bytes."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            body = bytes(memoryview(self._buffer)[start + _LENGTH.size : end])
            start = end
            yield pickle.loads(body)
        if start:
            del self._buffer[:start]


class Slot:
    """What a worker is doing now, in memory that its parent can read: which unit, and since when.

    Times are ``time.monotonic()``, which all processes of a machine share. Each field is one machine word,
    written at once; the fields together are not, so a reader believes only what it has seen twice.
    """

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, SLOT_BYTES)
        self._times = memoryview(self._page).cast("d")
        self._indices = memoryview(self._page).cast("q")

    @staticmethod
    def file() -> Any:
        """An unnamed file of the slot's size to map; it vanishes with its last holder."""
        file = tempfile.TemporaryFile()  # noqa: SIM115  it is the caller's to close
        file.write(bytes(8) + IDLE.to_bytes(8, sys.byteorder, signed=True) + bytes(SLOT_BYTES - 16))
        file.flush()
        return file

    def start(self, index: int) -> None:
        """Say that the unit which begins with sample ``index`` runs from now on."""
        self._times[_SINCE] = time.monotonic()
        self._indices[_RUNNING] = index

    def stop(self) -> None:
        """Say that nothing runs."""
        self._indices[_RUNNING] = IDLE

    def running(self) -> tuple[int, float]:
        """The index of the running unit, or IDLE, and the moment it started."""
        return self._indices[_RUNNING], self._times[_SINCE]

    def beat(self) -> None:
        """Say that the event loop turns."""
        self._times[_BEAT] = time.monotonic()

    def last_beat(self) -> float:
        """When the event loop last turned; 0 where there is none."""
        return self._times[_BEAT]

    def close(self) -> None:
        self._times.release()
        self._indices.release()
        self._page.close()
