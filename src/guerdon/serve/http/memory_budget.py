"""MemoryBudget: how many bytes of requests and of unread responses a server holds, over all connections together."""

from __future__ import annotations

from typing import Protocol

FREE_BYTES = 64 << 10
"""What each WebSocket may hold besides, so that a short message never waits for anybody."""


class BudgetHolder(Protocol):
    """A connection with the beginning of a request."""

    def evict(self) -> None:
        """Give up what is held, since others need the room; the connection ends."""


class MemoryBudget:
    """Counts bytes that are held for callers.

    Where there is no room, what has been arriving longest on a WebSocket is given up: a peer that sends a little and
    waits goes before those that send. What still finds none is refused.

    >>> class Peer:
    ...     def evict(self) -> None:
    ...         print("evicted")
    >>> budget = MemoryBudget(100)
    >>> slow, fast = Peer(), Peer()
    >>> budget.hold(slow, 70)
    >>> budget.hold(fast, 60)
    evicted
    >>> budget.take(30), budget.take(90), budget.used
    evicted
    (True, False, 30)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._holders: dict[BudgetHolder, int] = {}

    def take(self, size: int) -> bool:
        """Count bytes that are about to be held, unless there is no room for them."""
        if self.used + size > self.limit:
            self._make_room(size)
            if self.used + size > self.limit:
                return False
        self.used += size
        return True

    def release(self, size: int) -> None:
        """Count bytes as held no more."""
        self.used -= size

    def hold(self, holder: BudgetHolder, count: int) -> None:
        """Say how many bytes a connection holds now; the oldest are evicted until all fit."""
        self.used += count - self._holders.get(holder, 0)
        self._holders[holder] = count
        self._make_room(0)

    def let_go(self, holder: BudgetHolder) -> None:
        """The connection holds nothing any more."""
        self.used -= self._holders.pop(holder, 0)

    def _make_room(self, size: int) -> None:
        while self.used + size > self.limit and self._holders:
            oldest = next(iter(self._holders))
            self.let_go(oldest)
            oldest.evict()
