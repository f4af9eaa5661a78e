"""What an engine is given and gives, and the engines that score in this process."""

from __future__ import annotations

import asyncio
import itertools
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from guerdon.errors import (
    InputError,
)
from guerdon.reward.function import RewardFunction
from guerdon.reward.scorers.event_loop import background_loop
from guerdon.scoring.evaluate import ascore_samples, score_samples
from guerdon.scoring.outcome import Outcome, failure
from guerdon.types import Sample

_HAND_ON_SECONDS = 0.005


class PendingSample(NamedTuple):
    """One sample on its way in, with what its record will need on the way out."""

    position: int
    row: Mapping[str, Any] | Sample | Outcome
    """The sample; an Outcome where it is known already that it cannot be scored."""
    id: str | int
    digest: str | None = None
    group: Any = None


class ScoredSample(NamedTuple):
    """One sample on its way out."""

    position: int
    id: str | int
    outcome: Outcome
    seconds: float
    digest: str | None = None
    group: Any = None


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


def _as_sample(row: Mapping[str, Any] | Sample | Outcome) -> Sample | Outcome:
    if isinstance(row, Sample | Outcome):
        return row
    try:
        return Sample.from_row(row)
    except InputError as error:
        return failure(error.kind, str(error))


class InProcessEngine(Engine):
    """Sync rewards in the caller's own thread: for debugging, and inside worker processes."""

    def __iter__(self) -> Iterator[list[ScoredSample]]:
        batch: list[ScoredSample] = []
        clock = time.perf_counter
        handed_on = started = clock()
        for unit in self._units():
            if self._stopping:
                break
            outcomes = score_samples(self._reward, [_as_sample(item.row) for item in unit])
            now = clock()
            seconds = (now - started) / len(unit)
            started = now
            for item, outcome in zip(unit, outcomes, strict=True):
                batch.append(ScoredSample(item.position, item.id, outcome, seconds, item.digest, item.group))
            if now - handed_on > _HAND_ON_SECONDS:
                yield batch
                batch = []
                handed_on = started = clock()
        if batch:
            yield batch


class AsyncInProcessEngine(Engine):
    """Async rewards on this process's background loop: for debugging, and for what does not pickle."""

    def __iter__(self) -> Iterator[list[ScoredSample]]:
        loop = background_loop()
        gate = asyncio.Semaphore(self._limits.concurrency)
        units = self._units()
        flying: deque[Future[list[ScoredSample]]] = deque()
        try:
            while True:
                ahead = 4 * self._limits.concurrency - len(flying)
                for unit in itertools.islice(units, 0 if self._stopping else ahead):
                    flying.append(asyncio.run_coroutine_threadsafe(self._run(unit, gate), loop))
                if not flying:
                    return
                yield flying.popleft().result()
        finally:
            for future in flying:
                future.cancel()

    async def _run(self, unit: list[PendingSample], gate: asyncio.Semaphore) -> list[ScoredSample]:
        async with gate:
            started = time.perf_counter()
            samples = [_as_sample(item.row) for item in unit]
            if any(isinstance(sample, Sample) for sample in samples):
                outcomes = await ascore_samples(self._reward, samples, self._limits.timeout)
            else:
                outcomes = [sample for sample in samples if isinstance(sample, Outcome)]
            seconds = (time.perf_counter() - started) / len(unit)
        return [scored(item, outcome, seconds) for item, outcome in zip(unit, outcomes, strict=True)]


def scored(item: PendingSample, outcome: Outcome, seconds: float) -> ScoredSample:
    return ScoredSample(item.position, item.id, outcome, seconds, item.digest, item.group)
