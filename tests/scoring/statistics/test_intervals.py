"""Wilson's interval: published values, the ends, and that it covers."""

from __future__ import annotations

import random

import pytest

from guerdon.scoring.statistics.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, table I, method 3 (z = 1.95996).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_values(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_the_ends() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(0, 100)
    assert (low, high) == (0.0, pytest.approx(3.84 / 103.84, abs=1e-4))
    assert wilson(100, 100) == (pytest.approx(1 - high), 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_what_cannot_be(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="there cannot be"):
        wilson(successes, n)


def test_a_higher_z_is_wider() -> None:
    narrow, wide = wilson(30, 40, z=1.0), wilson(30, 40, z=3.0)
    assert wide[0] < narrow[0] < 0.75 < narrow[1] < wide[1]


def test_it_covers_about_as_often_as_it_says() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(1000):
        low, high = wilson(sum(draw.random() < 0.9 for _ in range(80)), 80)
        hits += low <= 0.9 <= high
    assert 920 <= hits <= 980
