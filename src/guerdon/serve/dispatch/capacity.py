"""How many calls a worker is given at once, and how many samples make up a chunk, by what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_CHUNK_SECONDS = 0.02
"""How much work a worker that answers one call after the other is given at once."""
_CHUNK_ROWS = 256
_CONCURRENT_CHUNK_ROWS = 8
_MAX_IN_HAND = 64
_QUICK_SECONDS = 0.0003
"""Calls that are so quick that handing them over costs as much are handed over together."""


class WorkerCapacity:
    """Learns from the replies what calls and samples cost."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._call_cost = 0.0
        """Seconds a call takes its worker, a running mean; 0 until the first reply."""
        self._sample_cost = 0.0
        self.calls = 1
        """How many calls a worker may have in flight."""
        self.gathers = False
        """Whether calls that come while a worker is busy wait, to be handed over together."""

    def learn(self, replies: Sequence[tuple[Any, ...]]) -> None:
        """Take what the calls and samples of replies that came together cost."""
        seconds, count = 0.0, 0
        for reply in replies:
            seconds += reply[1]
            count += len(reply[4]) or (len(reply[7]) if len(reply) > 7 else 0)
        each = seconds / len(replies)
        self._call_cost = each if not self._call_cost else 0.9 * self._call_cost + 0.1 * each
        if count:
            sample = seconds / count
            self._sample_cost = sample if not self._sample_cost else 0.9 * self._sample_cost + 0.1 * sample

    def update(self, on_event_loop: bool) -> None:
        """Set ``calls`` and ``gathers`` by what was learnt; workers with an event loop run many calls at once."""
        if on_event_loop:
            self.calls, self.gathers = self._concurrency, False
        elif not self._call_cost:
            self.calls = 2
        else:
            self.gathers = self._call_cost < _QUICK_SECONDS
            self.calls = max(2, min(_MAX_IN_HAND, int(_CHUNK_SECONDS / max(self._call_cost, 1e-6))))

    def chunk_rows(self, count: int, workers: int, on_event_loop: bool) -> int:
        """Rows that make up some 20 ms of work, and no more than leaves something for every worker."""
        share = -(-count // max(1, workers))
        if on_event_loop:
            return max(1, min(share, _CONCURRENT_CHUNK_ROWS))
        cost = self._sample_cost or _CHUNK_SECONDS
        return max(1, min(share, int(_CHUNK_SECONDS / cost), _CHUNK_ROWS))

    def seconds_for(self, calls: int, workers: int) -> float:
        """About how long so many calls take."""
        return self._call_cost * calls / max(1, workers)
