"""What the terminal shows, line by line, at several widths, encodings and with hostile content."""

from __future__ import annotations

import io
import random
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from guerdon.console import (
    clean,
    cut,
    duration,
    print_failures,
    print_sample,
    print_statistics,
    score_text,
)
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.summary import Statistics
from guerdon.types import EvaluateResult, MetricResult, Sample


def console_of(width: int = 80, encoding: str = "utf-8", **more: Any) -> Console:
    """A console on a real text stream of an encoding that refuses what it cannot write."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="\n")
    return Console(file=stream, width=width, **more)


def written(console: Console) -> str:
    console.file.flush()
    stream = console.file
    assert isinstance(stream, io.TextIOWrapper)
    return stream.buffer.getvalue().decode(stream.encoding)  # type: ignore[attr-defined]


def summary(stats: Statistics, width: int = 80, encoding: str = "utf-8", **more: Any) -> list[str]:
    console = console_of(width, encoding, **more)
    print_statistics(stats, console, title="math on rows.jsonl")
    return written(console).splitlines()


def preview(
    results: dict[str, EvaluateResult], width: int = 80, encoding: str = "utf-8", **fields: Any
) -> list[str]:
    fields.setdefault("prompt", "What is 2 + 2?")
    fields.setdefault("response", "4")
    messages = [
        {"role": "user", "content": fields.pop("prompt")},
        {"role": "assistant", "content": fields.pop("response")},
    ]
    console = console_of(width, encoding)
    print_sample(0, Sample(messages=messages, **fields), results, console)  # type: ignore[arg-type]
    return written(console).splitlines()


def run(count: int = 1600) -> Statistics:
    rng = random.Random(1)
    accumulator = Accumulator()
    for i in range(count):
        if i % 100 == 99:
            accumulator.add(None, kind="timeout" if i % 200 == 99 else "exception", seconds=10.0)
        elif i % 400 == 0:
            accumulator.add(None, seconds=0.001)
        else:
            parts = {"correct": float(rng.random() < 0.4), "brief": rng.random(), "format": 1.0}
            score = 0.6 * parts["correct"] + 0.4 * parts["brief"]
            accumulator.add(score, components=parts, seconds=0.0123, group=i // 8)
    return accumulator.statistics()


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
        "levels     3 distinct   2.83 effective   most frequent 1 (50%)",
        "",
        "  0  " + "█" * 33 + " " * 33 + "  10  25%",
        "0.5  " + "█" * 33 + " " * 33 + "  10  25%",
        "  1  " + "█" * 66 + "  20  50%",
        "",
        "time       mean 2 ms   p50 2 ms   p99 2 ms   max 2 ms",
        "",
        "warning    1 of 42 samples failed (2.4%): 1 timeout. They have no score and",
        "           enter no figure but these.",
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
    for piece in ("1,580 scored", "16 failed (1%)", "4 not applicable", "p95 0.9", "without variance"):
        assert piece in text
    assert all(re.match(r"\S+ +\S|\s{11}\S|$|\s*[\d.]+ to", line) for line in lines)


def test_ascii_where_the_encoding_has_no_blocks() -> None:
    text = "\n".join(summary(run(), encoding="ascii"))
    assert text.isascii()
    assert "mean 0.4" in text
    assert "+/-" in text
    assert "####" in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_bar_that_is_not_empty_shows(encoding: str) -> None:
    accumulator = Accumulator()
    for i in range(100_000):
        accumulator.add(float(i == 0))
    bars = [line for line in summary(accumulator.statistics(), encoding=encoding) if line.endswith("%")]
    assert bars[0].startswith("0  ████" if encoding == "utf-8" else "0  ####")
    assert re.match(r"1  [▏#] +1 +<0\.1%$", bars[1])


def test_component_table_lines_up() -> None:
    accumulator = Accumulator()
    for i in range(4):
        accumulator.add(0.5, components={"correct": float(i == 0), "漢字": -i * 12.5, "format": 1.0})
    accumulator.add(0.5, components={"correct": 1.0})
    lines = summary(accumulator.statistics())
    start = lines.index("component  scored    mean     std    min  max  levels")
    assert lines[start + 1 : start + 4] == [
        "correct         5    0.4    0.49     0      1       2",
        "漢字            4  -18.75  13.975  -37.5    0       4",
        "format          4    1      0        1      1       1",
    ]


def test_long_and_many_component_names() -> None:
    accumulator = Accumulator()
    for i in range(30):
        accumulator.add(i / 30, components={f"{'quality/' * 10}{k}漢字": i / 30 for k in range(300)})
    lines = summary(accumulator.statistics(), width=60)
    assert max(map(cell_len, lines)) <= 60
    assert "and 226 more" in lines
    assert "1,320 values have further names and are not counted here" in lines


def test_findings_come_with_remedies() -> None:
    accumulator = Accumulator()
    for i in range(500):
        accumulator.add(float(i % 25 == 0))
    lines = summary(accumulator.statistics())
    start = next(i for i, line in enumerate(lines) if line.startswith("warning"))
    assert lines[start:] == [
        "warning    Too sparse: 96% of the scores are 0 and the mean is 0.04. In groups",
        "           of 8, 72.1% would be all alike and teach nothing.",
        "           Add graduated levels between the lowest and the highest score, such",
        "           as 0.25, 0.5 and 0.75; easier data and larger groups help too.",
    ]


def test_groups_in_the_summary() -> None:
    accumulator = Accumulator()
    for i in range(40):
        accumulator.add(float(i % 2 if i < 20 else 0), group=i // 4)
    assert "groups     10 of 4 on average   std within 0.354   50% without variance" in summary(
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
        ([{"score": -0.25}], "levels     1 distinct"),
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


HOSTILE: list[tuple[str, str]] = [
    ("[bold]loud[/bold]", "[bold]loud[/bold]"),
    ("[/]", "[/]"),
    ("[link=http://x]y[/link]", "[link=http://x]y[/link]"),
    (":smile:", ":smile:"),
    ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
    ("\x9b31m", "\\x9b31m"),
    ("right\u202etfel", "right\\u202etfel"),
    ("\u2066a\u2069", "\\u2066a\\u2069"),
    ("4\u200b2\ufeff", "4\\u200b2\\ufeff"),
    ("a\ud800b\udfff", "a\\ud800b\\udfff"),
    ("a\rb\x00c\x08", "a\\rb\\x00c\\x08".replace("\\r", "\\x0d")),
    ("a\u2028b\u0085c\x0bd", "a\\u2028b\\x85c\\x0bd"),
    ("\U000e0041tag", "\\U000e0041tag"),
    ("a\tb", "a    b"),
    ("漢字 ümläut 😀", "漢字 ümläut 😀"),
]


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


@pytest.mark.parametrize("text", [text for text, _ in HOSTILE])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_hostile_text_in_any_encoding(text: str, encoding: str) -> None:
    console = console_of(encoding=encoding)
    accumulator = Accumulator()
    for i in range(30):
        accumulator.add(i / 30, components={text: 1.0})
    accumulator.add(None, kind=text)
    print_statistics(accumulator.statistics(), console, title=text)
    result = EvaluateResult(error=text, error_kind=text)
    messages: Any = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    print_sample(0, Sample(messages=messages), {text: result}, console)
    out = written(console)
    assert "\x1b" not in out
    assert "1 failed" in out


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "\n" * 100_000, "word " * 200_000, "漢" * 100_000, "\x1b" * 9999, "a\n" * 9999]
)
def test_long_text_stays_short(text: str) -> None:
    result = EvaluateResult(0.5, reason=text, metrics={text: MetricResult(1.0, reason=text)})
    lines = preview({text: result}, prompt=text, response=text, ground_truth=text, id=text)
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 260


@pytest.mark.parametrize(
    ("text", "limit", "lines", "expected"),
    [
        ("short", 30, 14, "short"),
        ("a" * 30, 30, 14, "a" * 30),
        ("a" * 31, 30, 14, "a" * 20 + " [... 1 character left out ...] " + "a" * 10),
        ("one two three four five six seven", 20, 14, "one two three [... 15 characters left out ...] seven"),
        ("1\n2\n3\n4\n5\n6", 100, 3, "1\n2\n[... 7 characters left out ...]\n6"),
        ("1\n2\n3", 100, 3, "1\n2\n3"),
        ("x" * 100, 200, 14, "x" * 50 + "[... 40 ...]" + "x" * 10),
    ],
)
def test_cut(text: str, limit: int, lines: int, expected: str) -> None:
    assert cut(text, limit, lines) == expected


@pytest.mark.parametrize("count", [901, 1000, 5000])
def test_the_number_left_out_is_right(count: int) -> None:
    text = "".join(random.Random(count).choices("aaabbb  \n", k=count))
    shown = cut(text, 900)
    head, left, tail = re.split(r"\n\[\.\.\. ([\d,]+) characters? left out \.\.\.\]\n", shown)
    assert len(head) + int(left.replace(",", "")) + len(tail) == count
    assert text.startswith(head)
    assert text.endswith(tail)


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


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0 µs"),
        (1.5e-7, "0.15 µs"),
        (0.000_012_3, "12.3 µs"),
        (0.001, "1 ms"),
        (0.9994, "999 ms"),
        (1.0, "1 s"),
        (12.34, "12.3 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (36_000.0, "600 min"),
    ],
)
def test_duration(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected
    assert duration(seconds, ascii_only=True).isascii()


def test_an_unknown_encoding_is_taken_for_ascii() -> None:
    class Odd(io.StringIO):
        encoding = "no-such-encoding"  # type: ignore[assignment]

    assert clean("ü", Console(file=Odd())) == "\\xfc"


def test_failures_alike_are_said_once() -> None:
    console = console_of(60)
    failures = [(n, EvaluateResult(error="odd" if n % 2 else "even", error_kind="input")) for n in range(9)]
    failures += [(n, EvaluateResult(error=f"error {n}")) for n in range(9, 15)]
    print_failures(failures, 20, console)
    assert written(console).splitlines() == [
        "failed     0, 2, 4 and 2 more  input: even",
        "failed     1, 3, 5 and 1 more  input: odd",
        "failed     9  exception: error 9",
        "failed     10  exception: error 10",
        "failed     11  exception: error 11",
        "           and 8 more",
    ]


def test_failures_are_listed_and_the_rest_counted() -> None:
    console = console_of(60)
    failures = [
        ("a\x1b[2J", EvaluateResult(error="no\nluck", error_kind="timeout")),
        (7, EvaluateResult(error="x")),
    ]
    print_failures(failures, 1002, console)
    assert written(console).splitlines() == [
        "failed     a\\x1b[2J  timeout: no luck",
        "failed     7  exception: x",
        "           and 1,000 more",
    ]
