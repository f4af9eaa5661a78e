"""Replay: recorded requests scored again with the present reward, in process; nothing is sent anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.outcome import Outcome, unpack
from guerdon.scoring.run import DEFAULT_BATCH, stream
from guerdon.serve.formats.base import Detail, Format, RefusedError, RewardInfo
from guerdon.serve.journal.migrations import Score
from guerdon.serve.journal.reader import JournalRecord
from guerdon.types import EvaluateResult, Sample

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A sample whose verdict is another one than was recorded."""

    index: int
    """Which of the request's samples, from 0."""
    before: Score
    after: Score
    reason: str | None
    """Why it is what it is now: the reward's reason, or the failure."""


@dataclass(slots=True)
class Replayed:
    """A recorded request and how it was scored again."""

    id: int
    request_id: str
    time: float
    version: str
    """The version of the reward that the recorded scores are from."""
    samples: int = 0
    changes: list[ScoreChange] = field(default_factory=list)
    skipped: str | None = None
    """Why it was not scored again."""


@dataclass(slots=True)
class _ReplayTask:
    replayed: Replayed
    before: Sequence[Score]
    samples: Sequence[Sample | Outcome]


def replay(
    rows: Iterable[JournalRecord],
    reward: RewardFunction,
    formats: Iterable[Format],
    reward_info: RewardInfo,
    *,
    timeout: float | None = None,
    workers: int | None = None,
) -> list[Replayed]:
    """Score recorded requests again, their bodies read by the format that they were recorded with.

    A reward that takes batches gets those that it had: the samples of one request. Requests that were not scored,
    or whose body is not there, are skipped. Raises BindingError where the reward needs what no sample has.
    """
    by_name = {format.name: format for format in formats}
    jobs: list[_ReplayTask] = []
    everything: list[Replayed] = []
    for row in rows:
        replayed = Replayed(row.id, row.request_id, row.time, row.version)
        everything.append(replayed)
        try:
            jobs.append(_job_of(row, replayed, by_name.get(row.format), reward_info))
        except _SkippedError as skipped:
            replayed.skipped = str(skipped)
    for batch_size, group in _groups(jobs, reward):
        _score(group, reward, batch_size, timeout, workers)
    return everything


class _SkippedError(Exception):
    pass


def _job_of(
    row: JournalRecord, replayed: Replayed, format: Format | None, reward_info: RewardInfo
) -> _ReplayTask:
    if not row.scores:
        raise _SkippedError(f"it was answered {row.status} and not scored")
    if row.request is None:
        raise _SkippedError("its body was too large for the journal")
    if format is None:
        raise _SkippedError(f"the format {row.format!r} is not known")
    before = _known(row)
    replayed.samples = len(before)
    try:
        samples: Sequence[Sample | Outcome] = format.read(row.op, row.request, reward_info).samples
    except RefusedError as refused:
        error = f"the request is refused: {_text_of(refused.detail)}"
        samples = [Outcome(None, error=error, kind=InputError.kind)] * len(before)
    if len(samples) != len(before):
        raise _SkippedError(f"{len(before)} scores were recorded, and its body holds {len(samples)} samples")
    return _ReplayTask(replayed, before, samples)


def _text_of(detail: Detail) -> str:
    if isinstance(detail, str):
        return detail
    return "; ".join(f"{'.'.join(map(str, item.get('loc', ())))}: {item.get('msg')}" for item in detail[:3])


def _known(row: JournalRecord) -> Sequence[Score]:
    """The recorded scores; the kind of a failure in its place where there is only one that it can be."""
    kinds = list(row.failures)
    if len(kinds) == 1 and sum(score is None for score in row.scores) == row.failures[kinds[0]]:
        return [kinds[0] if score is None else score for score in row.scores]
    return row.scores


def _groups(jobs: Sequence[_ReplayTask], reward: RewardFunction) -> Iterator[tuple[int, list[_ReplayTask]]]:
    """Jobs that are scored in one run, with the size of its batches."""
    if not reward.is_batch:
        yield DEFAULT_BATCH, list(jobs)
        return
    for size in sorted({_live(job) for job in jobs}):
        yield max(size, 1), [job for job in jobs if _live(job) == size]


def _live(job: _ReplayTask) -> int:
    return sum(isinstance(sample, Sample) for sample in job.samples)


def _score(
    jobs: Sequence[_ReplayTask],
    reward: RewardFunction,
    batch_size: int,
    timeout: float | None,
    workers: int | None,
) -> None:
    samples = [sample for job in jobs for sample in job.samples if isinstance(sample, Sample)]
    results: Iterator[EvaluateResult] = iter(())
    if samples:
        results = stream(
            reward, samples, timeout=timeout, workers=workers, batch_size=batch_size, on_error="result"
        )
    for job in jobs:
        for index, (sample, before) in enumerate(zip(job.samples, job.before, strict=True)):
            result = next(results) if isinstance(sample, Sample) else unpack(sample, None)
            if not _same(before, result):
                after = result.error_kind if result.score is None else result.score
                job.replayed.changes.append(ScoreChange(index, before, after, result.error or result.reason))


def _same(before: Score, result: EvaluateResult) -> bool:
    if isinstance(before, str):
        return result.error_kind == before
    if before is None or result.score is None:
        return before is None and result.score is None
    return math.isclose(before, result.score, rel_tol=_CLOSE, abs_tol=_CLOSE)


def shown(score: Score) -> str:
    """A score, or what there is in its place, in a few characters.

    >>> [shown(score) for score in (0.5, 1.0, 1 / 3, "timeout", None)]
    ['0.5', '1', '0.333333333333', 'timeout', 'none']
    """
    if score is None:
        return "none"
    return score if isinstance(score, str) else f"{score:.12g}"


def shown_scores(scores: Sequence[Score], most: int = 4) -> str:
    """The scores of a request on one line.

    >>> shown_scores([0.5, None, 1.0, 0.25, 0.125, 0.0])
    '0.5 none 1 0.25 and 2 more'
    """
    text = " ".join(map(shown, scores[:most]))
    return f"{text} and {len(scores) - most} more" if len(scores) > most else text


def as_dict(replayed: Replayed) -> dict[str, object]:
    """A replayed request for machines; what is absent is left out."""
    row: dict[str, object] = {
        "id": replayed.id,
        "request_id": replayed.request_id,
        "version": replayed.version,
        "samples": replayed.samples,
    }
    if replayed.skipped is not None:
        return {**row, "skipped": replayed.skipped}
    changes = [
        {"sample": change.index, "before": change.before, "after": change.after, "reason": change.reason}
        for change in replayed.changes
    ]
    return {**row, "changes": changes}
