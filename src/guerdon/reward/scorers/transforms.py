"""Compositions that put one component's score through a formula."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.scorers.component import Component
from guerdon.reward.scorers.composite import Composite
from guerdon.types import EvaluateResult, Sample


class Transform(Composite):
    """One reward with its score put through a formula."""

    def __init__(self, component: Component) -> None:
        super().__init__((component,))

    @abstractmethod
    def apply(self, score: float) -> float:
        """The formula."""

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        result = verdicts[0][1]
        return EvaluateResult(self.apply(result.score or 0.0), result.reason)


class Clip(Transform):
    """The score held between two bounds."""

    op = "clip"

    def __init__(self, component: Component, low: float, high: float) -> None:
        super().__init__(component)
        if not low <= high:
            raise BindingError(f"clip needs low <= high, not {low} and {high}")
        self.low, self.high = low, high

    def apply(self, score: float) -> float:
        return min(max(score, self.low), self.high)

    def settings(self) -> Mapping[str, Any]:
        # JSON has no infinity, and a bound that is absent says the same.
        bounds = {"low": self.low, "high": self.high}
        return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


class Normalize(Transform):
    """The score clipped at ±3 standard deviations around the mean, then standardised."""

    op = "normalize"
    epsilon = 1e-8

    def __init__(self, component: Component, mean: float, std: float) -> None:
        super().__init__(component)
        if not std >= 0:
            raise BindingError(f"normalize needs a standard deviation of 0 or more, not {std}")
        self.mean, self.std = mean, std

    def apply(self, score: float) -> float:
        clipped = max(self.mean - 3 * self.std, min(self.mean + 3 * self.std, score))
        return (clipped - self.mean) / (self.std + self.epsilon)

    def settings(self) -> Mapping[str, Any]:
        return {"mean": self.mean, "std": self.std}
