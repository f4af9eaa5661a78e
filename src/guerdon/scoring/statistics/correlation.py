"""How far two series rise and fall together."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

MOST = 200_000
"""Pairs that are looked at; of more, so many are drawn at random, always the same."""


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, from -1 to 1; None where a series is constant or has one value.

    >>> rank_correlation([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 25.0])
    0.8
    """
    if len(first) > MOST:
        drawn = random.Random(0).sample(range(len(first)), MOST)
        first, second = [first[i] for i in drawn], [second[i] for i in drawn]
    if len(first) < 2:
        return None
    a, b = _ranks(first), _ranks(second)
    middle = (len(a) - 1) / 2
    both = math.fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    own = [math.fsum((x - middle) ** 2 for x in ranks) for ranks in (a, b)]
    return max(-1.0, min(1.0, both / math.sqrt(own[0] * own[1]))) if all(own) else None


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, counted from 0; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2
        start = end + 1
    return ranks
