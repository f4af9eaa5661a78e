"""The parts of a weighted sum, for the trainers that need parts which add up to the reward."""

from __future__ import annotations

from guerdon.reward.scorers.sums import Weighted
from guerdon.trainers.adapter import Adapter
from guerdon.types import EvaluateResult

CONSTANT = "constant"
"""The part that a sum's constant is, where it has one."""


class WeightedParts:
    """Weight times score of each component, under the same keys for every sample, adding up to its number.

    >>> from guerdon import weighted, reward_function
    >>> @reward_function
    ... def right(response): return 1.0
    >>> @reward_function
    ... def brief(response): return 0.5
    >>> WeightedParts(Adapter(weighted(right, brief, weights=[0.75, 0.5]))).keys
    ('right', 'brief')
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        scorer = adapter.reward.scorer
        self._bias = scorer.bias if isinstance(scorer, Weighted) else 0.0
        names = [c.name for c in scorer.components] if isinstance(scorer, Weighted) else []
        self.keys: tuple[str, ...] = (*names, CONSTANT) if self._bias else tuple(names)
        """Empty where the reward is not a weighted sum."""

    def parts(self, result: EvaluateResult, number: float) -> dict[str, float]:
        """The parts of one sample; ``number`` is the trainer's number, which the parts of a failed sample share."""
        if result.score is None:
            return {name: number / len(self.keys) for name in self.keys}
        found = {}
        for name in self.keys:
            metric = result.metrics.get(name)
            found[name] = 0.0 if metric is None else metric.score * (metric.weight or 0.0)
        if self._bias:
            found[CONSTANT] = self._bias
        return found
