"""``repetition``: the share of word sequences that came before, also without spaces, in loops and stutters."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from guerdon.rewards.repetition import repetition
from guerdon.testing import assert_cases

SENTENCE = "The train leaves at nine and stops in every village along the river. "


def test_cases() -> None:
    path = Path(__file__).parent / "cases" / "repetition.jsonl"
    assert_cases("guerdon.rewards.repetition:repetition", path)


def test_more_copies_are_worse() -> None:
    scores = [repetition(SENTENCE * copies).unwrap() for copies in (1, 2, 3, 10, 100)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_a_loop_at_the_end_is_told() -> None:
    fresh = " ".join(f"word{i}" for i in range(100))
    result = repetition(f"{fresh} " + "I am sure. " * 100)
    # 400 words, 300 of them the loop; 398 triples, of which the loop repeats all but its first three.
    assert result.metrics["looped"].score == 0.75
    assert result.unwrap() == pytest.approx(1 - 295 / 398)
    assert result.reason == "74% of 3-grams came before; 75% is a loop"


@pytest.mark.parametrize(
    ("response", "low", "high"),
    [
        ("a" * 1_000_000, 0, 0),
        ("a " * 500_000, 0, 0.01),
        (SENTENCE * 15_000, 0, 0.01),
        ("我" * 1_000_000, 0, 0.01),
        ("(" * 1_000_000, 0, 0),
        ("[" * 10_000 + "a", 0, 0.01),
        (" " * 1_000_000 + "a", 1, 1),
        ("-" * 200 + "\n" + "a b c", 1, 1),
        ("- " * 500_000 + "a", 1, 1),
        ("abcdefg" * 140_000, 0, 0.01),
        (" ".join(map(str, range(150_000))), 1, 1),
        ("\ud800a " * 300_000, 0, 0.01),
        ("\x00" * 1_000_000, 0, 0),
    ],
    ids=lambda value: repr(value[:8]) if isinstance(value, str) else str(value),
)
def test_hostile_responses(response: str, low: float, high: float) -> None:
    start = time.process_time()
    score = repetition(response).unwrap()
    assert time.process_time() - start < 2
    assert low <= score <= high
