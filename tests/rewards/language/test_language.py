"""``language``: the share of the words in the target language, with what has no language left out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from guerdon.rewards.language.reward import language
from guerdon.testing import assert_cases
from support.absent_libraries import said_without

GERMAN = "Der Zug fährt um neun Uhr ab und hält in jedem Dorf."


def test_cases() -> None:
    assert_cases(
        "guerdon.rewards.language.reward:language", Path(__file__).parents[1] / "cases" / "language.jsonl"
    )


def test_the_reason_names_the_other_languages() -> None:
    result = language("So we add them. Dann teilen wir die Summe durch drei.", target="de")
    assert result.reason == "6 of 10 words are German; en 4"
    assert result.metrics["words"].score == 10


@pytest.mark.sample(16, seconds=1)
@pytest.mark.parametrize("code", ["de", "zh", "ar"])
@pytest.mark.parametrize(
    "response",
    [
        "x" * 1_000_000,
        "a " * 500_000,
        "the cat sat. " * 80_000,
        "我" * 1_000_000,
        "a我" * 500_000,
        "[" * 10_000,
        "$" * 1_000_000,
        "\\(" * 500_000,
        "\\begin{a}" * 100_000,
        "`" * 1_000_000,
        "<" * 1_000_000,
        "<!--" * 250_000,
        "$a " * 300_000,
        "\ud800" * 1_000_000,
        "\x00" * 1_000_000,
        "ab cd, " * 150_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_hostile_response_costs_no_time(response: str, code: str) -> None:
    language("Warm up.", target="de")
    start = time.process_time()
    result = language(response, target=code)
    assert time.process_time() - start < 3
    assert result.error is None
    assert result.score is None or 0 <= result.score <= 1


def test_a_lone_surrogate_does_no_harm() -> None:
    assert language(f"{GERMAN}\ud800", target="de").score == 1


def test_both_ends_of_a_long_response_are_read() -> None:
    english = "The train leaves at nine and stops in every village. "
    assert language(f"{GERMAN} " * 2000 + english * 2000, target="de").unwrap() == pytest.approx(
        0.52, abs=0.05
    )


def test_without_its_library() -> None:
    said = said_without("py3langid", "guerdon.rewards.language.reward:language", target="de")
    assert said.startswith(
        'missing_extra telling the language of a text needs an extra: pip install "guerdon[language]"'
    )
