"""``diversity``: different words out of all, in windows, so that length does not count."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from guerdon.rewards.diversity import diversity
from guerdon.testing import assert_cases

WORDS = [f"word{i}" for i in range(60)]


def test_cases() -> None:
    path = Path(__file__).parent / "cases" / "diversity.jsonl"
    assert_cases("guerdon.rewards.diversity:diversity", path)


def test_length_does_not_count_by_mattr_and_does_by_distinct() -> None:
    short, long = " ".join(WORDS), " ".join(WORDS * 20)
    assert diversity(short).score == diversity(long).score == 1
    assert diversity(short, measure="distinct").score == 1
    # 60 different pairs out of 1,199.
    assert diversity(long, measure="distinct").unwrap() == pytest.approx(60 / 1199)


def test_the_average_over_windows_is_that_of_each_window() -> None:
    words = ["a", "b", "a", "c", "a", "b", "d", "d", "e", "a", "b", "c", "a"]
    windows = [words[i : i + 4] for i in range(len(words) - 3)]
    by_hand = sum(len(set(window)) / 4 for window in windows) / len(windows)
    assert diversity(" ".join(words), window=4).unwrap() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    "response",
    ["a" * 1_000_000, "a " * 500_000, "我" * 1_000_000, "[" * 10_000, "\ud800" * 10_000, "\x00a " * 300_000],
    ids=lambda text: repr(text[:6]),
)
def test_hostile_responses(response: str) -> None:
    start = time.process_time()
    assert 0 <= diversity(response).unwrap() <= 0.1
    assert time.process_time() - start < 2
