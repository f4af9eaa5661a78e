"""Sink: where the numbers of a run go, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from guerdon.scoring.statistics.summary import Histogram
from guerdon.train.diagnostics.step_statistics import Observation
from guerdon.train.diagnostics.trends import WarningChange
from guerdon.trainers.adapter import ScoredBatch
from guerdon.types import EvaluateResult, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What there is to say of one step."""

    step: int
    scalars: Mapping[str, float]
    """Under the names of ``metrics.jsonl``, such as ``reward/mean`` and ``time/step``."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    warning_change: WarningChange = field(default_factory=WarningChange)
    """The warnings that came up or are over."""
    seen: Sequence[Observation] = ()
    """The samples that were scored for training."""
    first: Sequence[tuple[Sample, EvaluateResult]] = ()
    """The first few of them whole, where the run traces them."""
    scored: Sequence[ScoredBatch] = ()
    """What was scored, in training and on held-out problems."""


class Sink(Protocol):
    """Takes a run's steps. A sink raises only where the run should not go on without it."""

    def step(self, report: StepReport) -> None:
        """A step ended."""

    def resume(self, step: int) -> None:
        """The run goes on after this step: what later steps have left is to be forgotten."""

    def flush(self) -> None:
        """Let what was taken survive this process."""

    def close(self) -> None:
        """The run is over."""
