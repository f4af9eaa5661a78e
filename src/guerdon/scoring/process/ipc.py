"""Frames between the engine and its worker processes, and the page of memory that they share.

A frame is four marking bytes, an 8-byte little-endian length and a pickle. Both ends run the user's own code
and trust each other; what a model wrote is only ever data in a frame.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

_HEAD = struct.Struct("<4sQ")
_MARK = b"\xf5gd\xf5"
STATUS_BYTES = mmap.PAGESIZE
IDLE = -1
BEAT_SECONDS = 0.05
"""How often a worker's event loop says that it turns."""
_SINCE, _RUNNING, _BEAT, _ITEM = range(4)
"""Which word of the page holds what."""


class BrokenFrameError(Exception):
    """What came over the socket is no frame: somebody else wrote to it."""

    messages: Sequence[Any] = ()
    """What came whole before it."""


def frame(message: Any) -> bytes:
    """A message as it goes over the socket."""
    body = pickle.dumps(message, 5)
    return _HEAD.pack(_MARK, len(body)) + body


class FrameDecoder:
    """Messages out of a stream of bytes."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[Any]:
        """The messages that are complete with these bytes; raises BrokenFrameError."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _HEAD.size:
            mark, length = _HEAD.unpack_from(self._buffer, start)
            if mark != _MARK:
                raise BrokenFrameError
            end = start + _HEAD.size + length
            if len(self._buffer) < end:
                break
            try:
                with memoryview(self._buffer)[start + _HEAD.size : end] as body:
                    message = pickle.loads(body)
            except Exception as error:  # a message is plain data, so what does not load was damaged
                raise BrokenFrameError from error
            start = end
            yield message
        if start:
            del self._buffer[:start]


class StatusPage:
    """What a worker is doing now, in a page of memory that its parent can read: which unit, and since when.

    Times are ``time.monotonic()``, which all processes of a machine share. Each field is one machine word,
    written at once; the fields together are not. A reader reads the index first, and the writer writes it
    last, so a call is never seen older than it is; what is read is believed once it is seen twice.
    """

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, STATUS_BYTES)
        self._times = memoryview(self._page).cast("d")
        self._indices = memoryview(self._page).cast("q")

    @staticmethod
    def file() -> Any:
        """An unnamed file of a status page's size to map; it vanishes with its last holder."""
        if hasattr(os, "memfd_create"):  # needs no folder that can be written to
            file: Any = open(os.memfd_create("guerdon-status"), "w+b")  # noqa: SIM115  it is the caller's to close
        else:
            file = tempfile.TemporaryFile()  # noqa: SIM115
        file.write(bytes(8) + IDLE.to_bytes(8, sys.byteorder, signed=True) + bytes(STATUS_BYTES - 16))
        file.flush()
        return file

    def start(self, index: int, item: int = 0) -> None:
        """Say that the unit which begins with sample ``index`` runs from now on, or one item of a call."""
        self._times[_SINCE] = time.monotonic()
        self._indices[_ITEM] = item
        self._indices[_RUNNING] = index

    def begin(self, index: int, now: float) -> None:
        """As ``start`` with the first item, where the time is known."""
        self._times[_SINCE] = now
        self._indices[_ITEM] = 0
        self._indices[_RUNNING] = index

    def step(self, item: int, now: float) -> None:
        """Say that the next item of the call runs, since ``now``."""
        self._times[_SINCE] = now
        self._indices[_ITEM] = item

    def stop(self) -> None:
        """Say that nothing runs."""
        self._indices[_RUNNING] = IDLE

    def running(self) -> tuple[int, float]:
        """The index of the running unit, or IDLE, and the moment it started."""
        return self._indices[_RUNNING], self._times[_SINCE]

    def item(self) -> int:
        """Which item of the call that runs, where it has several."""
        return self._indices[_ITEM]

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
