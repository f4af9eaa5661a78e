"""MemoryBudget: what requests that are still arriving may hold, over all connections together."""

from __future__ import annotations

from typing import Protocol

FREE_BYTES = 64 << 10
"""What each connection may hold besides, so that a short request never waits for anybody."""
LEAST_BYTES = 256_000_000
_BODIES = 4


class BudgetHolder(Protocol):
    """A connection with the beginning of a request."""

    def evict(self) -> None:
        """Give up what is held, since others need the room; the connection ends."""


class MemoryBudget:
    """Counts the bytes that connections hold of requests that are not whole yet.

    Over the limit, the request that has been arriving longest is given up: a peer that sends a little and waits
    goes before those that send.

    >>> class Peer:
    ...     def evict(self) -> None:
    ...         print("evicted")
    >>> budget = MemoryBudget(1_000_000)
    >>> slow, fast = Peer(), Peer()
    >>> budget.hold(slow, 700_000)
    >>> budget.hold(fast, 600_000)
    evicted
    >>> budget.held
    600000
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._holders: dict[BudgetHolder, int] = {}

    @classmethod
    def for_bodies(cls, max_body: int) -> MemoryBudget:
        """A budget that has room for some bodies of the largest size."""
        return cls(max(LEAST_BYTES, _BODIES * max_body))

    def hold(self, holder: BudgetHolder, count: int) -> None:
        """Say how many bytes a connection holds now; the oldest are evicted until all fit."""
        self.held += count - self._holders.get(holder, 0)
        self._holders[holder] = count
        while self.held > self.limit and self._holders:
            oldest = next(iter(self._holders))
            self.release(oldest)
            oldest.evict()

    def release(self, holder: BudgetHolder) -> None:
        """The connection holds nothing any more."""
        self.held -= self._holders.pop(holder, 0)
