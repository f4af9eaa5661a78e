"""Some of the samples of a run with their results: the worst, the failed, those of one group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from guerdon.scoring import hooks
from guerdon.scoring.texts import SampleText
from guerdon.types import EvaluateResult, MetricResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """One sample of a run: its id, its text and its result."""

    position: int
    """In the run, counted from 0."""
    id: str | int
    result: EvaluateResult
    text: SampleText
    group: Any = None
    seconds: float = 0.0

    @property
    def prompt(self) -> str | None:
        """The prompt as text; None where it is unknown."""
        return self.text.prompt

    @property
    def response(self) -> str | None:
        """The response as text; None where it is unknown."""
        return self.text.response

    @property
    def ground_truth(self) -> Any:
        """What was expected, if the row says so."""
        return self.text.ground_truth

    @property
    def score(self) -> float | None:
        """The score; None for a sample that failed or to which the reward does not apply."""
        return self.result.score

    @property
    def error(self) -> str | None:
        """Why the sample failed; None where it did not."""
        return self.result.error

    @property
    def reason(self) -> str | None:
        """The reward's reason."""
        return self.result.reason

    @property
    def metrics(self) -> Mapping[str, MetricResult]:
        """The components of the verdict."""
        return self.result.metrics

    def __repr__(self) -> str:
        return hooks.shown_as_text(self)

    def _repr_html_(self) -> str:
        return hooks.shown_as_html(self)


class SampleResults(Sequence[SampleResult]):
    """Samples of a run in some order, each read when it is asked for; shows them in terminals and notebooks."""

    def __init__(self, read: Callable[[int], SampleResult], positions: Sequence[int]) -> None:
        self._read, self._positions = read, positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> SampleResult: ...
    @overload
    def __getitem__(self, index: slice) -> SampleResults: ...
    def __getitem__(self, index: int | slice) -> SampleResult | SampleResults:
        if isinstance(index, slice):
            return SampleResults(self._read, self._positions[index])
        return self._read(self._positions[index])

    def __iter__(self) -> Iterator[SampleResult]:
        return map(self._read, self._positions)

    @property
    def ids(self) -> list[str | int]:
        """The samples' ids."""
        return [one.id for one in self]

    def __repr__(self) -> str:
        return hooks.shown_as_text(self)

    def _repr_html_(self) -> str:
        return hooks.shown_as_html(self)


@dataclass(slots=True, kw_only=True)
class FailureGroup:
    """The samples that failed alike."""

    kind: str
    error: str
    count: int = 0
    ids: list[str | int]
    """The ids of the first."""
    has_ids: bool = False
    """Whether the data have ids; otherwise they are the positions of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreGroup:
    """The samples of one group, such as the responses to one prompt."""

    key: Any
    """What they have in common, as the data say."""
    samples: SampleResults
    scores: Sequence[float]
    """The scores of those that have one."""

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def mean(self) -> float | None:
        """The mean score; None where no sample has one."""
        return math.fsum(self.scores) / len(self.scores) if self.scores else None

    @property
    def spread(self) -> float:
        """The distance from the lowest to the highest score; 0 for a zero-variance group."""
        return max(self.scores) - min(self.scores) if self.scores else 0.0

    def __repr__(self) -> str:
        mean = "no score" if self.mean is None else f"mean {self.mean:.3g}, spread {self.spread:.3g}"
        return f"<ScoreGroup {self.key!r}: {len(self)} samples, {mean}>"

    def _repr_html_(self) -> str:
        return hooks.shown_as_html(self.samples)
