"""The engines that score in this process: for debugging, inside worker processes, for what does not pickle."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from guerdon.errors import InputError, WrongLengthError
from guerdon.reward.binding.returns import not_asked_again
from guerdon.reward.scorers.event_loop import background_loop
from guerdon.scoring.engine.base import Engine, PendingSample, ScoredSample, scored
from guerdon.scoring.evaluate import ascore_samples, score_samples, seconds_each
from guerdon.scoring.outcome import Outcome, failure
from guerdon.types import Sample

_HAND_ON_SECONDS = 0.005


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
        self._reward.ask_again()
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
                batch.append(scored(item, outcome, seconds))
            if now - handed_on > _HAND_ON_SECONDS:
                yield batch
                batch = []
                handed_on = started = clock()
        if batch:
            yield batch


class AsyncInProcessEngine(Engine):
    """Async rewards on this process's background loop: for debugging, and for what does not pickle."""

    def __iter__(self) -> Iterator[list[ScoredSample]]:
        self._reward.ask_again()
        loop = background_loop()
        gate = asyncio.Semaphore(self._limits.concurrency)
        units = self._units()
        refusal: Outcome | None = None
        flying: deque[Future[list[ScoredSample]]] = deque()
        try:
            while True:
                ahead = 4 * self._limits.concurrency - len(flying)
                for unit in itertools.islice(units, 0 if self._stopping else ahead):
                    flying.append(asyncio.run_coroutine_threadsafe(self._run(unit, gate), loop))
                if not flying:
                    return
                batch = flying.popleft().result()
                if refusal is not None:  # whatever was said of them meanwhile
                    batch = [sample._replace(outcome=refusal) for sample in batch]
                elif batch[0].outcome.kind == WrongLengthError.kind:
                    refusal = failure(WrongLengthError.kind, not_asked_again(batch[0].outcome.error or ""))
                yield batch
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
            seconds = seconds_each(time.perf_counter() - started, outcomes)
        return [scored(item, outcome, seconds) for item, outcome in zip(unit, outcomes, strict=True)]
