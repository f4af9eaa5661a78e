"""Counts and rates, with values worked out by hand."""

from __future__ import annotations

import json

import pytest

from guerdon.accuracy.confusion import ConfusionCounts, Rate
from guerdon.scoring.statistics.intervals import wilson


def counts() -> ConfusionCounts:
    """10 right (6 accepted, 2 rejected, 1 failed, 1 undecided) and 6 wrong (1 accepted, 4 rejected, 1 failed)."""
    made = ConfusionCounts()
    for right, verdict, times in ((True, True, 6), (True, False, 2), (False, True, 1), (False, False, 4)):
        for _ in range(times):
            made.add(right, verdict)
    made.add(True, None, failed=True)
    made.add(True, None)
    made.add(False, None, failed=True)
    return made


def test_counts() -> None:
    made = counts()
    assert (made.cases, made.right, made.wrong) == (16, 10, 6)
    assert (made.decided, made.failed, made.undecided) == (13, 2, 1)


@pytest.mark.parametrize(
    ("name", "successes", "n"),
    [
        ("precision", 6, 7),
        ("recall", 6, 8),
        ("accuracy", 10, 13),
        ("false_positive_rate", 1, 5),
        ("coverage", 13, 16),
    ],
)
def test_shares(name: str, successes: int, n: int) -> None:
    assert getattr(counts(), name) == Rate(successes / n, n, *wilson(successes, n))


def test_f1_is_the_harmonic_mean_and_its_interval_holds_it() -> None:
    rate = counts().f1
    precision, recall = 6 / 7, 6 / 8
    assert rate.value == pytest.approx(2 * precision * recall / (precision + recall))
    assert rate.n == 9
    assert rate.low < rate.value < rate.high
    low, _ = wilson(6, 9)
    assert rate.low == pytest.approx(2 * low / (1 + low))


def test_nothing_to_be_a_share_of() -> None:
    made = ConfusionCounts()
    made.add(False, False)
    assert made.precision == Rate(None, 0, 0.0, 1.0)
    assert made.recall.value is None
    assert made.f1.value is None
    assert made.accuracy.value == 1.0


def test_no_false_positive_has_an_upper_bound() -> None:
    made = ConfusionCounts()
    for _ in range(300):
        made.add(True, True)
    assert (made.precision.value, made.precision.high) == (1.0, 1.0)
    assert made.precision.low == pytest.approx(1 - 3.8416 / 303.8416, abs=1e-6)


def test_there_and_back() -> None:
    assert ConfusionCounts.from_dict(json.loads(json.dumps(counts().to_dict()))) == counts()
