"""The window: how many samples may be between the source and the caller, and their way back into order."""

from __future__ import annotations

from guerdon.scoring.engine.base import PendingSample, ScoredSample, scored
from guerdon.scoring.engine.source import PackedUnit
from guerdon.scoring.evaluate import Row
from guerdon.scoring.outcome import Outcome

_ROWS = 1 << 13
_BYTES = 1 << 26


class SampleWindow:
    """The samples that workers have, and those that are scored and wait for an earlier one."""

    def __init__(self, batch_size: int, in_order: bool) -> None:
        self._in_order = in_order
        self._rows = max(_ROWS, 2 * batch_size)
        self._bytes = 0
        self._pending: dict[int, PendingSample] = {}
        self._done: dict[int, ScoredSample] = {}
        self._next = -1
        self._sizes: dict[int, int] = {}
        """Bytes of each sample's pickle, and of its outcome once it has one."""

    def is_open(self) -> bool:
        """Whether there is room for another unit."""
        return self._bytes <= _BYTES and len(self._pending) + len(self._done) < self._rows

    def admit(self, unit: PackedUnit) -> list[Row]:
        """Take a unit in; the rows that are to be scored. What cannot be scored is done at once."""
        rows: list[Row] = []
        for item, body in unit:
            if self._next < 0:
                self._next = item.position
            if isinstance(body, Outcome):
                self._done[item.position] = scored(item, body, 0.0)
                continue
            self._pending[item.position] = item
            size = len(body) + _text_size(item)
            self._sizes[item.position] = size
            self._bytes += size
            rows.append((item.position, body))
        return rows

    def finish(self, index: int, outcome: Outcome, seconds: float) -> None:
        """Take the outcome of a sample."""
        item = self._pending.pop(index)
        size = _size(outcome) + _text_size(item)
        self._bytes += size - self._sizes[index]
        self._sizes[index] = size
        self._done[index] = scored(item, outcome, seconds)

    def take_ready(self) -> list[ScoredSample]:
        """The samples that are next in order, or all that are scored."""
        batch = []
        if not self._in_order and self._done:
            self._next = next(iter(self._done))
        while (sample := self._done.pop(self._next, None)) is not None:
            batch.append(sample)
            self._bytes -= self._sizes.pop(self._next, 0)
            self._next = self._next + 1 if self._in_order else next(iter(self._done), -1)
        return batch


def _size(outcome: Outcome) -> int:
    """About how many bytes an outcome takes."""
    if outcome.metrics is None and outcome.steps is None:
        return len(outcome.reason or "") + len(outcome.error or "")
    return len(repr(outcome))


def _text_size(item: PendingSample) -> int:
    return len(item.text.prompt or "") + len(item.text.response or "")
