"""Consoles of any width and encoding, and what was written to them."""

from __future__ import annotations

import io
import random
from typing import Any

from rich.console import Console

from guerdon.console import (
    print_sample,
    print_statistics,
)
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.summary import Statistics
from guerdon.types import EvaluateResult, Sample

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
