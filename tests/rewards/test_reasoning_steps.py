"""``reasoning_steps``: steps that say something, each marker and each content once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from guerdon.rewards.reasoning_steps import reasoning_steps
from guerdon.testing import assert_cases


def test_cases() -> None:
    path = Path(__file__).parent / "cases" / "reasoning_steps.jsonl"
    assert_cases("guerdon.rewards.reasoning_steps:reasoning_steps", path)


def test_stuffing_gains_nothing() -> None:
    honest = "1. Add the two numbers.\n2. Double the sum."
    once = reasoning_steps(honest)
    assert once.reason == "2 steps of 3"
    for stuffed in (honest * 10, honest + "\n3.\n4.\n5.", honest + "\nStep 3:\nStep 4:" + "\nFirst," * 50):
        assert reasoning_steps(stuffed).score == once.score


def test_the_reason_says_what_did_not_count() -> None:
    result = reasoning_steps("1. Add the two numbers.\n2.  \n3. Add the two numbers.")
    assert result.reason == "1 steps of 3; 2 markers repeat another or have nothing after them"
    assert result.metrics["markers"].score == 3


@pytest.mark.parametrize(
    "response",
    [
        "1. a b c\n" * 110_000,
        "- " * 500_000,
        "\t- \n" * 250_000,
        " " * 1_000_000,
        ">" * 1_000_000,
        "\n" * 1_000_000,
        "First, " * 140_000,
        "Step 1" * 160_000,
        "[" * 10_000,
        "*" * 1_000_000,
        "\ud800\x00",
    ],
    ids=lambda text: repr(text[:6]),
)
def test_hostile_responses(response: str) -> None:
    start = time.process_time()
    assert 0 <= reasoning_steps(response).unwrap() <= 1 / 3
    assert time.process_time() - start < 2
