"""A sample with its verdicts, line by line, with hostile content."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from guerdon.console import (
    print_failures,
    print_sample,
    score_text,
)
from guerdon.scoring.selection import FailureGroup
from guerdon.types import EvaluateResult, MetricResult, Sample
from support.console_work import HOSTILE, console_of, preview, written


def test_sample_by_hand() -> None:
    results = {
        "relevance": EvaluateResult(
            0.48599999,
            reason="covers 3 of 7 words",
            metrics={
                "coverage": MetricResult(0.33, reason="found: two"),
                "brevity": MetricResult(1.0, reason="short", weight=0.3),
            },
        ),
        "math": EvaluateResult(error="over 10 s", error_kind="timeout"),
        "tools": EvaluateResult(reason="no tool was called"),
        "plain": EvaluateResult(0.0),
        "silent": EvaluateResult(),
    }
    assert preview(results, prompt="What is 2 + 2?", response="It is\n\n4.", ground_truth="4", id="q-17") == [
        "Sample 1  id q-17 " + "─" * 62,
        "prompt     What is 2 + 2?",
        "response   It is",
        "",
        "           4.",
        "expected   4",
        "",
        "reward      score   weight  reason",
        "relevance   0.486           covers 3 of 7 words",
        "  coverage  0.33            found: two",
        "  brevity   1       0.3     short",
        "math        failed          timeout: over 10 s",
        "tools       n/a             does not apply: no tool was called",
        "plain       0",
        "silent      n/a             does not apply",
        "",
    ]


def test_sample_with_more_to_it() -> None:
    call = {"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    sample = Sample(
        messages=[
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "And now?"},
            {"role": "assistant", "content": None, "tool_calls": [call] * 20},
        ],  # type: ignore[arg-type]
        ground_truth={"b": [1, 2]},
    )
    console = console_of()
    print_sample(6, sample, {}, console)
    lines = written(console).splitlines()
    assert lines[:4] == [
        "Sample 7 " + "─" * 71,
        "prompt     And now?",
        "           (and 1 other message before the response)",
        'response   calls weather({"city": "Oslo"})',
    ]
    assert "           and 6 more calls" in lines
    assert "expected   {'b': [1, 2]}" in lines


@pytest.mark.parametrize(("text", "shown"), [("", "(empty)"), ("  \n", "(3 blank characters)")])
def test_nothing_to_see_is_said(text: str, shown: str) -> None:
    assert f"response   {shown}" in preview({}, response=text)


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(text: str, shown: str) -> None:
    results = {
        text: EvaluateResult(0.5, reason=text, metrics={text: MetricResult(0.5, reason=text)}),
        "failed": EvaluateResult(error=text, error_kind=text),
        "absent": EvaluateResult(reason=text),
    }
    lines = preview(results, width=200, prompt=text, response=text, ground_truth=text, id=text)
    whole = "\n".join(lines)
    assert whole.count(shown) == 11
    dangerous = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    assert not re.search(f"[{dangerous}]", whole)


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "\n" * 100_000, "word " * 200_000, "漢" * 100_000, "\x1b" * 9999, "a\n" * 9999]
)
def test_long_text_stays_short(text: str) -> None:
    result = EvaluateResult(0.5, reason=text, metrics={text: MetricResult(1.0, reason=text)})
    lines = preview({text: result}, prompt=text, response=text, ground_truth=text, id=text)
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 260


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (EvaluateResult(0.48599999), "0.486"),
        (EvaluateResult(-1.0), "-1"),
        (EvaluateResult(error="no"), "failed"),
        (EvaluateResult(), "n/a"),
    ],
)
def test_score_text(result: EvaluateResult, expected: str) -> None:
    assert score_text(result).plain == expected


def test_failures_alike_are_said_once() -> None:
    console = console_of(60)
    failures = [
        FailureGroup(kind="input", error="even", count=20_000, ids=[0, 2, 4]),
        FailureGroup(kind="input", error="odd", count=3, ids=[1, 3, 5]),
        FailureGroup(kind="exception", error="named", count=4, ids=["a", "b", "c"], has_ids=True),
    ]
    failures += [FailureGroup(kind="exception", error=f"error {n}", count=1, ids=[n]) for n in range(9, 15)]
    print_failures(failures, console)
    assert written(console).splitlines() == [
        "failed     20,000 samples, e.g. rows 0, 2, 4  input: even",
        "failed     3 samples: rows 1, 3, 5  input: odd",
        "failed     4 samples, e.g. a, b, c  exception: named",
        "failed     row 9  exception: error 9",
        "failed     row 10  exception: error 10",
        "           and 4 more samples with other errors",
    ]


def test_failures_are_shown_harmless() -> None:
    console = console_of(60)
    failure = FailureGroup(kind="timeout", error="no\nluck", count=1, ids=["a\x1b[2J"], has_ids=True)
    print_failures([failure], console)
    assert written(console).splitlines() == ["failed     a\\x1b[2J  timeout: no luck"]
