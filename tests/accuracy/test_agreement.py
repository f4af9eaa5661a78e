"""Kappa, rank correlation and the best threshold, against values worked out by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from guerdon.accuracy.agreement import best_threshold, kappa, spearman


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        ([(1, 1)], None),  # both say the one thing: chance agrees always
        ([(1, 0)], 0.0),
        ([(1, 1), (0, 0)], 1.0),
        ([(1, 0), (0, 1)], -1.0),
        # 45 and 15 on the diagonal, 25 and 15 off it: 0.6 seen, 0.6 * 0.7 + 0.4 * 0.3 = 0.54 by chance.
        ([(1, 1)] * 45 + [(1, 0)] * 15 + [(0, 1)] * 25 + [(0, 0)] * 15, (0.6 - 0.54) / 0.46),
        # Three categories: 3 of 4 agree; chance 1/4 * 1/2 + 1/2 * 1/4 + 1/4 * 1/4 = 5/16.
        ([("A", "A"), ("B", "A"), ("B", "B"), ("tie", "tie")], (3 / 4 - 5 / 16) / (11 / 16)),
    ],
)
def test_kappa(pairs: list[tuple[Any, Any]], expected: float | None) -> None:
    assert kappa(pairs) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        ([(1, 1)], None),
        ([(1, 1), (1, 2)], None),
        ([(1, 5), (2, 7)], 1.0),
        ([(1, 7), (2, 5)], -1.0),
        ([(1, 1), (2, 100), (3, 1e9)], 1.0),
        # Without ties it is 1 - 6 * sum(d^2) / (n (n^2 - 1)): here d = 0, 0, -1, 1.
        ([(1, 10), (2, 20), (3, 25), (4, 22)], 0.8),
        # With ties: ranks 1.5, 1.5, 3 and 1, 2, 3; covariance 1.5, spreads sqrt(1.5) and sqrt(2).
        ([(1, 1), (1, 2), (2, 3)], 1.5 / (1.5 * 2) ** 0.5),
    ],
)
def test_spearman(pairs: list[tuple[float, float]], expected: float | None) -> None:
    assert spearman(pairs) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("scored", "value", "correct"),
    [
        ([(0.5, True)], 0.5, 1),
        ([(0.2, False), (0.9, True)], 0.9, 2),
        ([(0.2, True), (0.9, False)], 0.2, 1),
        ([(0.0, False), (0.25, True), (0.5, True), (1.0, True)], 0.25, 4),
        ([(0.0, False), (0.0, True), (1.0, True)], 0.0, 2),
        ([(0.25, False), (0.75, True), (0.75, False), (1.0, True)], 0.75, 3),
    ],
)
def test_best_threshold(scored: list[tuple[float, bool]], value: float, correct: int) -> None:
    best = best_threshold(scored)
    assert best is not None
    assert (best.value, best.correct) == (value, correct)


def test_no_threshold_without_cases() -> None:
    assert best_threshold([]) is None


def test_no_other_threshold_is_better() -> None:
    chance = random.Random(4)
    for _ in range(200):
        scored = [(chance.randrange(5) / 4, chance.random() < 0.5) for _ in range(chance.randrange(1, 12))]
        best = best_threshold(scored)
        assert best is not None
        counts = {t: sum((score >= t) == right for score, right in scored) for t, _ in scored}
        assert best.correct == counts[best.value] == max(counts.values())
