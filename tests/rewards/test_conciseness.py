"""``conciseness``: in full up to the target, target / length beyond, nothing for saying nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.rewards.conciseness import conciseness
from guerdon.testing import assert_cases
from support.absent_libraries import said_without


def test_cases() -> None:
    path = Path(__file__).parent / "cases" / "conciseness.jsonl"
    assert_cases("guerdon.rewards.conciseness:conciseness", path)


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("word " * 100, 1.0),
        ("word " * 101, 100 / 101),
        ("word " * 1000, 0.1),
        ("x " * 500_000, 0.0002),
        ("x" * 1_000_000, 1.0),
        ("[" * 10_000, 0.0),
        ("\ud800", 0.0),
        ("a\ud800", 1.0),
    ],
)
def test_score(response: str, score: float) -> None:
    assert conciseness(response).unwrap() == pytest.approx(score)


def test_shorter_is_never_worse() -> None:
    scores = [conciseness("word " * count, target=10).unwrap() for count in range(1, 60)]
    assert scores == sorted(scores, reverse=True)


def test_the_reason_says_the_length() -> None:
    result = conciseness("one two three", target=2)
    assert (result.reason, result.metrics["words"].success) == ("3 words, expected at most 2", False)


def test_without_its_library() -> None:
    said = said_without(
        "tokenizers", "guerdon.rewards.conciseness:conciseness", unit="tokens", tokenizer="a.json"
    )
    assert said.startswith('missing_extra counting tokens needs an extra: pip install "guerdon[tokens]"')
