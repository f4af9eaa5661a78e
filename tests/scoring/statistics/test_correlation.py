"""Rank correlation against values worked out by hand and against its definition."""

from __future__ import annotations

import random

import pytest

from guerdon.scoring.statistics.correlation import MOST, rank_correlation


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [10, 200, 3000], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 1, 2, 2], [0, 1, 0, 1], 0.0),
        # Ranks 0.5 0.5 2 and 0 1 2: covariance 1.5, squares 1.5 and 2.
        ([1, 1, 2], [1, 2, 3], 0.8660254037844387),
        ([1, 1, 1], [1, 2, 3], None),
        ([1, 2, 3], [5, 5, 5], None),
        ([1], [2], None),
        ([], [], None),
    ],
)
def test_by_hand(first: list[float], second: list[float], expected: float | None) -> None:
    found = rank_correlation(first, second)
    assert found == (None if expected is None else pytest.approx(expected))


def test_of_very_many_some_are_drawn() -> None:
    rng = random.Random(1)
    first = [rng.random() for _ in range(MOST + 1000)]
    found = rank_correlation(first, [value**3 for value in first])
    assert found == pytest.approx(1.0)
