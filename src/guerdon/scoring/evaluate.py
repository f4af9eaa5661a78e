"""Evaluate samples in this process: rows to samples, samples to outcomes.

A unit is a list of (index, pickled row): one sample for a pointwise reward, a batch for a batched one.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from guerdon.checks import text_of
from guerdon.errors import DeadlineError, ExecutionError, InputError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.outcome import Outcome, failure, pack
from guerdon.types import EvaluateResult, Sample, check_ending

Row = tuple[int, bytes]
Unit = list[Row]

CANCEL_GRACE = 0.2
"""Seconds that a cancelled coroutine has to end."""


class AsyncEvaluator(Protocol):
    """What ``ascore_samples`` needs of an async reward."""

    @property
    def name(self) -> str: ...
    @property
    def allows_any_ending(self) -> bool: ...
    def aevaluate(self, sample: Sample) -> Coroutine[Any, Any, EvaluateResult]: ...
    def aevaluate_batch(self, samples: Sequence[Sample]) -> Coroutine[Any, Any, list[EvaluateResult]]: ...


def samples_of(unit: Sequence[Row]) -> list[Sample | Outcome]:
    """The samples of a unit; a row that makes no sample becomes the failure that says why."""
    found: list[Sample | Outcome] = []
    for _, body in unit:
        try:
            row = pickle.loads(body)
            found.append(row if isinstance(row, Sample | Outcome) else Sample.from_row(row))
        except InputError as error:
            found.append(failure(error.kind, str(error)))
        except MemoryError:
            raise
        except Exception as error:  # whatever the row's objects raise when they are made anew
            found.append(failure(InputError.kind, f"the row cannot be read in a worker: {text_of(error)}"))
    return found


def without_response(reward: AsyncEvaluator | RewardFunction, sample: Sample) -> Outcome | None:
    """The failure of a sample whose conversation does not end with the assistant; None where it may be scored."""
    if reward.allows_any_ending:
        return None
    try:
        check_ending(sample.messages)
    except InputError as error:
        return failure(error.kind, str(error))
    return None


def _with_responses(
    reward: AsyncEvaluator | RewardFunction, samples: Sequence[Sample | Outcome]
) -> list[Sample | Outcome]:
    """The samples; one without a response becomes a failure."""
    return [(isinstance(s, Sample) and without_response(reward, s)) or s for s in samples]


def score_samples(reward: RewardFunction, samples: Sequence[Sample | Outcome]) -> list[Outcome]:
    """The outcomes of samples, those that are failures already as they stand."""
    samples = _with_responses(reward, samples)
    good = [sample for sample in samples if isinstance(sample, Sample)]
    results = iter(
        [reward.evaluate(good[0])] if len(good) == 1 else reward.evaluate_batch(good) if good else []
    )
    return [pack(next(results)) if isinstance(sample, Sample) else sample for sample in samples]


async def ascore_samples(
    reward: AsyncEvaluator, samples: Sequence[Sample | Outcome], timeout: float
) -> list[Outcome]:
    """As ``score_samples`` for an async reward, each call ended after ``timeout`` seconds."""
    samples = _with_responses(reward, samples)
    good = [sample for sample in samples if isinstance(sample, Sample)]
    if not good:
        return [sample for sample in samples if isinstance(sample, Outcome)]
    call = reward.aevaluate_batch(good) if len(good) != 1 else _single(reward, good[0])
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        cancelled = failure(ExecutionError.kind, f"{reward.name} cancelled itself: CancelledError")
        return [cancelled if isinstance(sample, Sample) else sample for sample in samples]
    if done and isinstance(raised := task.exception(), GeneratorExit):
        return [ended_from_within(raised) if isinstance(sample, Sample) else sample for sample in samples]
    if not done:
        task.cancel()
        # A coroutine may refuse to be cancelled; it is left behind then, and the rest goes on.
        await asyncio.wait({task}, timeout=CANCEL_GRACE)
        overrun = failure(DeadlineError.kind, timeout_message(reward.name, timeout))
        return [overrun if isinstance(sample, Sample) else sample for sample in samples]
    results = iter(task.result())
    return [pack(next(results)) if isinstance(sample, Sample) else sample for sample in samples]


async def _single(reward: AsyncEvaluator, sample: Sample) -> list[EvaluateResult]:
    return [await reward.aevaluate(sample)]


def ended_from_within(error: BaseException) -> Outcome:
    """The failure of a coroutine that was cancelled or closed, though not for its deadline: by its own code."""
    return failure(ExecutionError.kind, f"the call was ended from within: {type(error).__name__}")


def seconds_each(seconds: float, outcomes: Sequence[Outcome]) -> float:
    """What each sample of a unit took: its share, or all of it where the unit ran into its deadline."""
    is_overdue = outcomes[0].kind == DeadlineError.kind
    return seconds if is_overdue else seconds / len(outcomes)


def timeout_message(name: str, timeout: float) -> str:
    """The sentence for a call that was ended at its deadline."""
    return f"{name} overran its deadline of {timeout:g} s and was ended"
