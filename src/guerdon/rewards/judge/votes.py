"""What comes of several votes of a judge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.rewards.judge.verdicts import Judgement
from guerdon.types import MetricResult

VOTINGS = ("mean", "majority")


@dataclass(frozen=True, slots=True)
class Vote:
    """What one round of asking gave."""

    value: float | None
    label: str
    explanation: str
    met: tuple[bool, ...] = ()
    consistent: bool | None = None
    """Of a pair, whether both orders gave the same."""
    orders: tuple[float, float] = (0.0, 0.0)
    """Of a pair, what the response got where it stood first, and where it stood second."""

    @property
    def bias(self) -> float:
        """1 where the response that stood first won in both orders, -1 where it lost in both, else 0."""
        return {(1.0, 0.0): 1.0, (0.0, 1.0): -1.0}.get(self.orders, 0.0)


def of_pair(forwards: Judgement, backwards: Judgement) -> Vote:
    """The vote of two judgements on a pair, in one of which the candidate stood first, in the other second."""
    assert forwards.value is not None
    assert backwards.value is not None
    one, other = forwards.value, 1.0 - backwards.value
    value = (one + other) / 2
    label = "better" if value > 0.5 else "worse" if value < 0.5 else "a tie"
    if one == other:
        return Vote(value, label, forwards.explanation, consistent=True, orders=(one, other))
    both = f"first shown: {forwards.explanation} Second shown: {backwards.explanation}"
    return Vote(value, label, both, consistent=False, orders=(one, other))


def combined(votes: Sequence[Vote], voting: str) -> float | None:
    """The score of the votes: their mean, or the most common value; None where most say "does not apply".

    Values that are equally common count as their mean.
    """
    values = [vote.value for vote in votes if vote.value is not None]
    if len(values) < len(votes) - len(values) or not values:
        return None
    if voting == "majority":
        counts = Counter(values)
        most = max(counts.values())
        values = [value for value, count in counts.items() if count == most]
    return math.fsum(values) / len(values)


def agreement(votes: Sequence[Vote]) -> float:
    """The share of the votes that gave the most common verdict."""
    return max(Counter(vote.value for vote in votes).values()) / len(votes)


def explanation_of(votes: Sequence[Vote], score: float | None) -> str:
    """The judge's explanation: of the vote that is nearest to the score."""
    if score is None:
        best = next(vote for vote in votes if vote.value is None)
    else:
        best = min(
            (vote for vote in votes if vote.value is not None), key=lambda v: abs((v.value or 0.0) - score)
        )
    return f"{best.label}: {best.explanation}" if best.explanation else best.label


def metrics_of(votes: Sequence[Vote], asked: int) -> dict[str, MetricResult]:
    """What the votes say besides the score."""
    found = {"votes": MetricResult(len(votes), success=len(votes) == asked)}
    if asked > 1:
        found["agreement"] = MetricResult(agreement(votes))
    if votes[0].consistent is not None:
        consistent = sum(bool(vote.consistent) for vote in votes) / len(votes)
        found["position_consistency"] = MetricResult(consistent, success=consistent == 1.0)
        found["position_bias"] = MetricResult(math.fsum(vote.bias for vote in votes) / len(votes))
        for place, name in enumerate(("as_first", "as_second")):
            found[name] = MetricResult(math.fsum(vote.orders[place] for vote in votes) / len(votes))
    return found
