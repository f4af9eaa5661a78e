"""A source read ahead on a thread of its own, so that one that is slow holds nothing else up."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_UNITS = 256
_BYTES = 1 << 22


class Prefetcher(Generic[T]):
    """Reads an iterator up to 256 items or 4 MB ahead; the socket ``bell`` is readable when one came.

    The thread outlives ``close`` for as long as the source's own code does not return.
    """

    def __init__(self, source: Iterator[T], size: Callable[[T], int]) -> None:
        self.bell, self._ringer = socket.socketpair()
        for end in (self.bell, self._ringer):
            end.setblocking(False)
        self._source, self._size = source, size
        self._items: deque[T] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None
        threading.Thread(target=self._read, name="guerdon-source", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether all that the source gives has been taken."""
        with self._changed:
            return self._ended and not self._items

    def take(self) -> T | None:
        """The next item, or None where none has come yet; raises what the source raised, in its place."""
        with self._changed:
            if self._items:
                item = self._items.popleft()
                self._bytes -= self._size(item)
                self._changed.notify()
                return item
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return None

    def silence(self) -> None:
        """Let the bell ring anew for what comes from now on."""
        with contextlib.suppress(BlockingIOError):
            self.bell.recv(1 << 12)

    def close(self) -> None:
        """Take no more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            self._items.clear()
            self.bell.close()
            self._ringer.close()

    def _read(self) -> None:
        error: BaseException | None = None
        try:
            for item in self._source:
                if not self._put(item):
                    break
        except BaseException as raised:  # the edge of the thread: ``take`` raises it
            error = raised
        with self._changed:
            self._error, self._ended = error, True
            self._ring()
        if isinstance(self._source, Generator):
            self._source.close()

    def _put(self, item: T) -> bool:
        with self._changed:
            while (len(self._items) >= _UNITS or self._bytes > _BYTES) and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._items.append(item)
            self._bytes += self._size(item)
            if len(self._items) == 1:
                self._ring()
            return True

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # it rings already, or nobody listens any more
            self._ringer.send(b"\0")
