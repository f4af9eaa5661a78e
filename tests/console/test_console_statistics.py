"""The statistics of a run, line by line, at several widths and encodings."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich.cells import cell_len

from guerdon.console import (
    print_sample,
)
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.types import EvaluateResult, Sample
from support.console_work import console_of, run, summary, written


def test_summary_by_hand() -> None:
    accumulator = Accumulator()
    for i in range(40):
        accumulator.add([0.0, 0.5, 1.0, 1.0][i % 4], seconds=0.002)
    accumulator.add(None, kind="timeout", seconds=0.002)
    accumulator.add(None, seconds=0.002)
    assert summary(accumulator.statistics()) == [
        "math on rows.jsonl " + "─" * 61,
        "samples    42   40 scored   1 failed (2.4%)   1 not applicable",
        "failed     1 timeout",
        "score      mean 0.625 ± 0.415   min 0   max 1",
        "quantiles  p5 0   p25 0.375   p50 0.75   p75 1   p95 1",
        "levels     3 distinct scores; 50% are 1",
        "",
        "  0  " + "█" * 33 + " " * 33 + "  10  25%",
        "0.5  " + "█" * 33 + " " * 33 + "  10  25%",
        "  1  " + "█" * 66 + "  20  50%",
        "",
        "time       mean 2 ms   p50 2 ms   p99 2 ms   max 2 ms",
        "",
        "warning    1 of 42 samples failed (2.4%): 1 timeout. They have no score and",
        "           count in no other figure.",
        "           Raise the time limit or make the reward faster.",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_too_wide_or_ends_in_spaces(width: int, encoding: str) -> None:
    lines = summary(run(), width, encoding)
    assert max(map(cell_len, lines)) <= min(width, 100)
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\n\n\n" not in "\n".join(lines)
    # Beside a label nothing is cut in two: each figure is on the line of its name.
    text = "\n".join(lines)
    for piece in ("1,580 scored", "16 failed (1%)", "4 not applicable", "p95 0.9", "zero-variance"):
        assert piece in text
    assert all(re.match(r"\S+ +\S|\s{11}\S|$|\s*[\d.]+ to", line) for line in lines)


def test_ascii_where_the_encoding_has_no_blocks() -> None:
    text = "\n".join(summary(run(), encoding="ascii"))
    assert text.isascii()
    assert "mean 0.4" in text
    assert "+/-" in text
    assert "####" in text


def test_findings_come_with_remedies() -> None:
    accumulator = Accumulator()
    for i in range(500):
        accumulator.add(float(i % 25 == 0))
    lines = summary(accumulator.statistics())
    start = next(i for i, line in enumerate(lines) if line.startswith("warning"))
    assert lines[start:] == [
        "warning    Too sparse: 96% of the scores are 0 and the mean is 0.04. In groups",
        "           of 8, 72.1% would be zero-variance and teach nothing.",
        "           Add graduated levels between the lowest and the highest score, such",
        "           as 0.25, 0.5 and 0.75; easier data and larger groups help too.",
    ]


def test_groups_in_the_summary() -> None:
    accumulator = Accumulator()
    for i in range(40):
        accumulator.add(float(i % 2 if i < 20 else 0), group=i // 4)
    assert "groups     10 of 4 on average   std within 0.354   50% zero-variance" in summary(
        accumulator.statistics()
    )
    accumulator = Accumulator()
    accumulator.add(1.0, group="a")
    assert "groups     1   none has two scores to compare" in summary(accumulator.statistics())


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], "samples    0   0 scored"),
        ([{"score": None}], "samples    1   0 scored   1 not applicable"),
        ([{"score": None, "kind": "crash"}], "samples    1   0 scored   1 failed (100%)"),
        ([{"score": 1.0}], "score      mean 1 ± 0   min 1   max 1"),
        ([{"score": 1e308}, {"score": -1e308}], "score      mean 0 ± 1e+308   min -1e+308   max 1e+308"),
        ([{"score": -0.25}], "levels     1 distinct score: all are -0.25"),
    ],
)
def test_edges(outcomes: list[dict[str, Any]], expected: str) -> None:
    accumulator = Accumulator()
    for outcome in outcomes:
        accumulator.add(**outcome)
    assert expected in summary(accumulator.statistics())


@pytest.mark.parametrize("more", [{}, {"force_terminal": True, "no_color": True}, {"color_system": None}])
def test_without_color_there_is_no_escape(more: dict[str, Any]) -> None:
    text = "\n".join(summary(run(), **more))
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == "\n".join(summary(run()))
    assert not re.search(r"\x1b\[[0-9;]*(?:3|4|9|10)\d[;m]", text)


def test_a_failure_is_red_in_a_terminal() -> None:
    console = console_of(force_terminal=True, color_system="standard")
    print_sample(
        0,
        Sample(messages=[{"role": "assistant", "content": "x"}]),  # type: ignore[list-item]
        {"math": EvaluateResult(error="over 10 s", error_kind="timeout")},
        console,
    )
    text = written(console)
    assert "\x1b[1;31mfailed\x1b[0m" in text
    assert "\x1b[31mtimeout: over 10 s\x1b[0m" in text
