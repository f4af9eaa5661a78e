"""The numbers of one training step: the rewards of its samples, their lengths, and where the time went."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.summary import Distribution, Histogram, Statistics
from guerdon.types import EvaluateResult, Sample

if TYPE_CHECKING:
    from guerdon.trainers.adapter import ScoredBatch

EVAL = "eval/"
"""What the keys of batches begin with that were scored to evaluate and not to train."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNumbers:
    """The numbers of one step, under the names by which every sink shows them."""

    scalars: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, Histogram] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """One scored sample, as far as statistics and trends look at it."""

    score: float | None
    kind: str | None
    """The kind of its failure."""
    metrics: Mapping[str, tuple[float, float | None]]
    """Value and weight of each component."""
    group: str
    """The same for the samples that answer the same prompt."""
    length: int
    """Characters of the completion."""


def observe(sample: Sample, result: EvaluateResult) -> Observation:
    """What counts of a sample and its verdict."""
    metrics = {name: (metric.score, metric.weight) for name, metric in result.metrics.items()}
    kind = (result.error_kind or "error") if result.error is not None else None
    return Observation(result.score, kind, metrics, prompt_key(sample), len(sample.response))


def prompt_key(sample: Sample) -> str:
    """A name for what was asked, the same for every sample that has the same context.

    >>> sums = [Sample([{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": a}])
    ...         for a in ("4", "5")]
    >>> prompt_key(sums[0]) == prompt_key(sums[1])
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for message in sample.original_messages:
        digest.update(f"{message.role}\0{message.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class StepStatistics:
    """Gathers the batches of one step and gives their numbers.

    >>> step = StepStatistics()
    >>> for score in (0.0, 1.0):
    ...     step.add(Observation(score, None, {"format": (1.0, 0.5)}, "2 + 2?", 3))
    >>> numbers = step.numbers()
    >>> numbers.scalars["reward/mean"], numbers.scalars["reward/format/mean"], numbers.scalars["length/mean"]
    (0.5, 1.0, 3.0)
    """

    def __init__(self) -> None:
        self._rewards = Accumulator()
        self._lengths = Accumulator()
        self.reward_seconds = 0.0
        """Seconds that the batches took to score."""

    def add(self, seen: Observation) -> None:
        """Take one sample."""
        components = {name: value for name, (value, _) in seen.metrics.items()}
        self._rewards.add(
            seen.score, kind=seen.kind, components=components, group=seen.group, length=seen.length
        )
        self._lengths.add(float(seen.length))

    @property
    def count(self) -> int:
        """Samples so far."""
        return self._rewards.count

    def rewards(self) -> Statistics:
        """The statistics of the samples so far."""
        return self._rewards.statistics()

    def numbers(self, prefix: str = "") -> StepNumbers:
        """The numbers of the samples so far, each name after ``prefix``; none where there are no samples."""
        if not self.count:
            return StepNumbers()
        stats = self.rewards()
        scalars: dict[str, float] = {"samples": stats.count, "scored": stats.scored, "failed": stats.failed}
        if stats.not_applicable:
            scalars["not_applicable"] = stats.not_applicable
        scalars.update({f"failures/{kind}": number for kind, number in stats.failures.items()})
        histograms: dict[str, Histogram] = {}
        for name, part in _series(stats):
            scalars.update(_moments(name, part))
            histograms[f"{name}/histogram"] = part.histogram
        if (groups := stats.groups) is not None:
            scalars["groups/count"] = groups.count
            if groups.compared:
                scalars["groups/zero_variance"] = groups.zero_variance
                scalars["groups/all_low"] = groups.all_low
                scalars["groups/all_high"] = groups.all_high
                scalars["groups/std_within"] = groups.std_within
        scalars.update(_moments("length", self._lengths.statistics()))
        if stats.lengths is not None and stats.lengths.correlation is not None:
            scalars["length/correlation"] = stats.lengths.correlation
        return StepNumbers(
            scalars={prefix + name: float(value) for name, value in scalars.items()},
            histograms={prefix + name: bars for name, bars in histograms.items()},
        )


def _series(stats: Statistics) -> Iterator[tuple[str, Distribution]]:
    if stats.scored:
        yield "reward", stats
    for name, part in stats.components.items():
        yield f"reward/{name}", part


def _moments(name: str, part: Distribution) -> dict[str, float]:
    if part.mean is None or part.std is None or part.min is None or part.max is None:
        return {}
    return {
        f"{name}/mean": part.mean,
        f"{name}/var": part.std**2,
        f"{name}/min": part.min,
        f"{name}/max": part.max,
    }


def observations(batch: ScoredBatch) -> list[Observation]:
    """The samples of a batch with their verdicts, in order."""
    return [observe(sample, result) for sample, result in zip(batch.samples, batch.results, strict=True)]


def component_names(scalars: Mapping[str, float]) -> list[str]:
    """The components that a step's numbers name, in their order.

    >>> component_names({"reward/mean": 0.5, "reward/format/mean": 1.0, "reward/format/var": 0.0})
    ['format']
    """
    start, end = "reward/", "/mean"
    long = [key for key in scalars if key.startswith(start) and key.endswith(end)]
    return [key[len(start) : -len(end)] for key in long if len(key) > len(start + end) - 1]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error of the mean of a series, the error 0 for less than two values.

    >>> spread([1.0, 3.0])
    (2.0, 1.0)
    """
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, 0.0
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, (variance / count) ** 0.5
