"""Text of any origin: harmless in any encoding, and short."""

from __future__ import annotations

import io
import random
import re
from typing import Any

import pytest
from rich.console import Console

from guerdon.console import (
    clean,
    cut,
    duration,
    print_sample,
    print_statistics,
)
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.types import EvaluateResult, Sample
from support.console_work import HOSTILE, console_of, written


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
