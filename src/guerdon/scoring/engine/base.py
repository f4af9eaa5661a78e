"""What an engine is given and gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from guerdon.reward.function import RewardFunction
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.texts import NO_TEXT, SampleText
from guerdon.types import Sample


class PendingSample(NamedTuple):
    """One sample on its way in, with what its record will need on the way out."""

    position: int
    row: Mapping[str, Any] | Sample | Outcome
    """The sample; an Outcome where it is known already that it cannot be scored."""
    id: str | int
    digest: str | None = None
    group: Any = None
    text: SampleText = NO_TEXT


class ScoredSample(NamedTuple):
    """One sample on its way out."""

    position: int
    id: str | int
    outcome: Outcome
    seconds: float
    digest: str | None = None
    group: Any = None
    text: SampleText = NO_TEXT


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineLimits:
    """What holds for one run."""

    timeout: float
    """Seconds that one sample may take, from the moment its call starts."""
    workers: int
    """Worker processes; 0 scores in this process, without a deadline that can be enforced."""
    concurrency: int
    """Calls of an async reward in flight at once."""
    max_memory: int | None
    """Bytes that one worker may grow by."""
    load_timeout: float
    batch_size: int
    """Samples that a batched reward gets at once."""


class Engine(ABC):
    """One run: iterate it for batches of records in the samples' order."""

    def __init__(self, reward: RewardFunction, items: Iterator[PendingSample], limits: EngineLimits) -> None:
        self._reward, self._items, self._limits = reward, items, limits
        self._stopping = False

    @abstractmethod
    def __iter__(self) -> Iterator[list[ScoredSample]]: ...

    def stop(self) -> None:
        """Take no more samples; those in flight are finished and still come out."""
        self._stopping = True

    def abort(self) -> None:
        """Drop everything that is in flight."""
        self._stopping = True

    def _units(self) -> Iterator[list[PendingSample]]:
        """The items in units: one by one, or batches whose bounds depend on the index alone."""
        size = self._limits.batch_size if self._reward.is_batch else 1
        unit: list[PendingSample] = []
        for item in self._items:
            unit.append(item)
            if size == 1 or (item.position + 1) % size == 0:
                yield unit
                unit = []
        if unit:
            yield unit


def scored(item: PendingSample, outcome: Outcome, seconds: float) -> ScoredSample:
    """A pending sample with its outcome."""
    return ScoredSample(item.position, item.id, outcome, seconds, item.digest, item.group, item.text)
