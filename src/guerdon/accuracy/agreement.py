"""How well scores agree with labels: kappa, rank correlation, the threshold that fits best."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of two judges over the same cases: their agreement beyond what chance gives.

    1 where they always agree, 0 where they agree as often as chance has it, negative below. None where it is not
    defined: without cases, and where both say the same one thing of all.

    Source: Cohen (1960), A coefficient of agreement for nominal scales.

    >>> kappa([(1, 1), (1, 1), (0, 0), (0, 1)])
    0.5
    """
    count = len(pairs)
    if not count:
        return None
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[name] * second[name] for name in first) / count**2
    if chance == 1.0:
        return None
    return (sum(a == b for a, b in pairs) / count - chance) / (1.0 - chance)


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation, equal values sharing the mean of their ranks.

    None for fewer than two pairs, and where all values of one side are the same.

    >>> spearman([(1, 10), (2, 20), (3, 25), (4, 22)])
    0.8
    """
    if len(pairs) < 2:
        return None
    first, second = _ranks([a for a, _ in pairs]), _ranks([b for _, b in pairs])
    middle = (len(pairs) + 1) / 2
    together = math.fsum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    squares = [math.fsum((rank - middle) ** 2 for rank in ranks) for ranks in (first, second)]
    spread = math.sqrt(squares[0] * squares[1])
    return max(-1.0, min(1.0, together / spread)) if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; of equal ones the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold from which on a score counts as right."""

    value: float
    correct: int
    """How many cases it gets right."""


def best_threshold(scored: Iterable[tuple[float, bool]]) -> Threshold | None:
    """The threshold under which most cases agree with their labels; of several the one nearest to 0.5.

    Each threshold is a score that occurs, so the last one refuses least. None without cases.

    >>> best_threshold([(0.25, False), (0.5, False), (0.75, True), (1.0, True)])
    Threshold(value=0.75, correct=4)
    """
    cases = sorted(scored)
    if not cases:
        return None
    correct = sum(right for _, right in cases)  # with the lowest score as the threshold all count as right
    best = Threshold(cases[0][0], correct)
    for (below, right), (score, _) in itertools.pairwise(cases):
        correct += -1 if right else 1
        if score != below:
            found = Threshold(score, correct)
            best = max(best, found, key=lambda t: (t.correct, -abs(t.value - 0.5)))
    return best
