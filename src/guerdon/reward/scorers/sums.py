"""Compositions of all components' scores: weighted sums, products, the least and the greatest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from guerdon.errors import BindingError
from guerdon.reward.scorers.component import Component
from guerdon.reward.scorers.composite import Composite, OnFailure
from guerdon.types import EvaluateResult, Sample


class Weighted(Composite):
    """The sum of weight × score over the components, plus a constant."""

    op = "weighted"

    def __init__(
        self, components: tuple[Component, ...], on_failure: OnFailure = "fail", bias: float = 0.0
    ) -> None:
        super().__init__(components, on_failure)
        numbers = [bias, *(c.weight for c in components if c.weight is not None)]
        if not all(math.isfinite(number) for number in numbers):
            raise BindingError("the weights and the constant of a sum must be finite numbers")
        self.bias = bias

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        terms = [(c.weight or 0.0) * (r.score or 0.0) for c, r in verdicts]
        return EvaluateResult(math.fsum([*terms, self.bias]))

    def settings(self) -> Mapping[str, Any]:
        return {"bias": self.bias} if self.bias else {}


class Product(Composite):
    """The product of the scores."""

    op = "product"

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        return EvaluateResult(math.prod(r.score or 0.0 for _, r in verdicts))


class Extremum(Composite):
    """The least or the greatest of the scores."""

    def __init__(
        self, op: Literal["minimum", "maximum"], components: tuple[Component, ...], on_failure: OnFailure
    ) -> None:
        self.op = op
        super().__init__(components, on_failure)

    def combine(self, verdicts: Sequence[tuple[Component, EvaluateResult]], sample: Sample) -> EvaluateResult:
        pick = min if self.op == "minimum" else max
        component, result = pick(verdicts, key=lambda verdict: verdict[1].score or 0.0)
        return EvaluateResult(result.score, f"from {component.name}")
