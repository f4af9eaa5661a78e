"""The text of a sample as a person reads it, for every shape of a row."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.scoring.texts import NO_TEXT, SampleText, length_of, text_of
from guerdon.types import Sample

USER = {"role": "user", "content": "2 + 2?"}
SYSTEM = {"role": "system", "content": "Be brief."}
FOUR = {"role": "assistant", "content": "4"}
CALL = {"function": {"name": "add", "arguments": {"a": 2}}}


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"messages": [USER, FOUR], "ground_truth": 4}, SampleText("2 + 2?", "4", 4, 1)),
        ({"messages": [SYSTEM, USER, FOUR], "answer": "4"}, SampleText("2 + 2?", "4", "4", 1)),
        ({"messages": [FOUR]}, SampleText(None, "4", None, 1)),
        (
            {"messages": [USER, FOUR, {"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "Yes"}]},
            SampleText("user: 2 + 2?\n\nassistant: 4\n\nuser: Sure?", "Yes", None, 3),
        ),
        (
            {"messages": [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]},
            SampleText("2 + 2?", "a", None, 1),
        ),
        (
            {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}]},
            SampleText("2 + 2?", 'calls add({"a": 2})', None, 19),
        ),
        ({"messages": [USER, FOUR], "ground_truth": {"x": (1, {2})}}, SampleText("2 + 2?", "4", {"x": [1, "{2}"]}, 1)),
        ({"messages": [USER, FOUR], "answer": {(1, 2): 3}}, SampleText("2 + 2?", "4", "{(1, 2): 3}", 1)),
        ({"messages": [USER, FOUR], "answer": Broken()}, NO_TEXT),
        ({"messages": [FOUR], "original_messages": [USER]}, SampleText("2 + 2?", "4", None, 1)),
        ({"messages": []}, NO_TEXT),
        ({"messages": "text"}, NO_TEXT),
        ({"messages": [1, 2]}, NO_TEXT),
        ({}, NO_TEXT),
        (None, NO_TEXT),
    ],
)  # fmt: skip
def test_shapes(row: Any, expected: SampleText) -> None:
    assert text_of(row) == expected
    assert length_of(row) == SampleText(length=expected.length)


def test_a_sample_reads_as_its_row() -> None:
    row = {"messages": [SYSTEM, USER, FOUR], "answer": "4"}
    assert text_of(Sample.from_row(row)) == text_of(row)
