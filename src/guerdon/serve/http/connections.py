"""How many connections a server has, and which of them make room for others."""

from __future__ import annotations

import logging
import resource
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

log = logging.getLogger("guerdon.serve")

_RESERVED_FILES = 64
"""Descriptors for the log, the journal, the event loop, callers to be refused, and those before their TLS handshake."""
_FILES_A_WORKER = 6
_RANK_SECONDS = 0.05


class Evictable(Protocol):
    """A connection that may have to make room for another one."""

    def rank(self, now: float) -> tuple[int, float] | None:
        """The lower, the sooner it is closed; None while its caller waits for an answer."""

    def evict(self) -> None:
        """Close it."""


class ClosableSocket(Protocol):
    """A WebSocket."""

    @property
    def idle(self) -> bool: ...
    def close(self, reason: str) -> None: ...


class IdleSocket:
    """A WebSocket as a connection that makes room after all others, where nothing is in flight on it."""

    def __init__(self, websocket: ClosableSocket) -> None:
        self._websocket = websocket

    def rank(self, now: float) -> tuple[int, float] | None:
        return (3, 0.0) if self._websocket.idle else None

    def evict(self) -> None:
        self._websocket.close("the server has too many connections; connect again")


class ConnectionLimit:
    """Makes room for new connections: those go first on which nothing happens, then the slowest."""

    def __init__(self, limit: int, others: Callable[[], Iterable[Evictable]]) -> None:
        self.limit, self._others = limit, others
        self._order: deque[Evictable] = deque()
        self._ranked, self._found = 0.0, True

    def is_far_exceeded(self, count: int) -> bool:
        """Whether there are so many that a newcomer is not even told why it is turned away."""
        return count > self.limit + _RESERVED_FILES // 2

    def make_room(self, count: int, newcomer: Evictable) -> bool:
        """Whether a newcomer, with which there are ``count``, is within the limit or another made room for it."""
        if count <= self.limit:
            return True
        now = time.monotonic()
        if not self._order and (self._found or now - self._ranked >= _RANK_SECONDS):
            # Ranked once for many newcomers: they come by the thousand where they come to do harm.
            self._ranked = now
            ranked = [(rank, id(one), one) for one in self._others() if (rank := one.rank(now)) is not None]
            self._order = deque(one for _, _, one in sorted(ranked))
            self._found = len(ranked) > 1
        while self._order:
            one = self._order.popleft()
            if one is not newcomer and one.rank(now) is not None:
                one.evict()
                return True
        return False


def connection_limit(wanted: int, workers: int) -> int:
    """How many connections there may be: ``wanted``, or fewer where the process may not open as many files.

    Raises the process's limit of open files as far as it may.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _RESERVED_FILES + _FILES_A_WORKER * workers
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    least = max(1, min(wanted, soft // 4))
    limit = max(least, wanted - (needed - soft))
    log.warning("%d connections at once instead of %d: this process may open %d files", limit, wanted, soft)
    return limit
