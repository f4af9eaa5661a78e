"""``language``: the share of the words in the target language, with what has no language left out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from guerdon.rewards.common.prose import part_of, prose
from guerdon.rewards.common.words import runs, script_of, units
from guerdon.rewards.language.reward import language
from guerdon.testing import assert_cases

GERMAN = "Der Zug fährt um neun Uhr ab und hält in jedem Dorf."


def test_cases() -> None:
    assert_cases(
        "guerdon.rewards.language.reward:language", Path(__file__).parent / "cases" / "language.jsonl"
    )


def test_the_reason_names_the_other_languages() -> None:
    result = language("So we add them. Dann teilen wir die Summe durch drei.", target="de")
    assert result.reason == "6 of 10 words are German; en 4"
    assert result.metrics["words"].score == 10


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


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>a</think>b", "a", "b"),
        ("a</think>b", "a", "b"),
        ("<think>a</think>b<think>c</think>d", "a</think>b c", "d"),
        ("b", "", "b"),
        ("b<think>a", "a", "b"),
        ("", "", ""),
    ],
)
def test_the_parts_of_a_response(text: str, thinking: str, answer: str) -> None:
    assert (part_of(text, "thinking"), part_of(text, "answer")) == (thinking, answer)
    assert part_of(text, "response") == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a `b` c", "a c"),
        ("a ```b\nc``` d", "a d"),
        ("a $b$ c $$d$$ e", "a c e"),
        (r"a \(b\) c \[d\] e", "a c e"),
        (r"a \begin{align*}b\end{align*} c", "a c"),
        ("a <b>c</b> <!-- d --> e", "a c e"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("costs $5 today", "costs $5 today"),
        ("$we shall say it here$", "$we shall say it here$"),
        (r"\textbf{a} \alpha", "{a}"),
    ],
)
def test_prose(text: str, left: str) -> None:
    assert prose(text).split() == left.split()


def test_words_and_scripts() -> None:
    assert units("E\u0301té, (été) — …5! हिन्दी। 東京 a") == ["été", "été", "5", "हिन्दी", "東", "京", "a"]
    assert runs("東京tower 5") == ["東京", "tower", "5"]
    assert [script_of(c) for c in "aΩжش한ｱ一"] == [
        "LATIN",
        "GREEK",
        "CYRILLIC",
        "ARABIC",
        "HANGUL",
        "CJK",
        "CJK",
    ]
