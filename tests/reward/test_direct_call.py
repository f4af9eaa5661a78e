"""What a reward is called with, down to the malformed: a clear error, or the right score."""

from __future__ import annotations

import math
from typing import Any

import pytest

from guerdon import RewardFunction, Sample, reward_function
from guerdon.errors import BindingError, InputError, RewardError
from support.small_rewards import TALK, length

LOOP: dict[str, Any] = {"role": "assistant"}


LOOP["content"] = LOOP


# What it is called with


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        (None, "messages must be a list"),
        ("hello", "messages must be a list"),
        (b"hello", "messages must be a list"),
        (5, "messages must be a list"),
        (TALK[0], "messages must be a list"),
        ((m for m in TALK), "messages must be a list"),
        ({1, 2}, "messages must be a list"),
        (bytearray(b"ab"), "messages"),
        (range(2), r"messages\[0\] must be an object"),
        ([None], r"messages\[0\] must be an object"),
        ([[]], r"messages\[0\] must be an object"),
        (["hello"], r"messages\[0\] must be an object"),
        ([{}], r"messages\[0\].role: Field required"),
        ([{"content": "x"}], r"messages\[0\].role: Field required"),
        ([{"role": "user", "content": 5}], r"messages\[0\].content"),
        ([{"role": "user", "content": b"x"}], r"messages\[0\].content"),
        ([{"role": "user", "content": math.nan}], r"messages\[0\].content"),
        ([{"role": 5, "content": "x"}], r"messages\[0\].role"),
        ([{"role": None, "content": "x"}], r"messages\[0\].role"),
        ([{5: 6, "role": "user"}], r"messages\[0\] has a key that is not a string"),
        ([LOOP], r"messages\[0\].content"),
        ([*TALK, object()], r"messages\[2\] must be an object"),
        ([RuntimeError("x")], r"messages\[0\] must be an object"),
    ],
)
def test_malformed_messages(messages: Any, says: str) -> None:
    for call in (lambda: length(messages), lambda: length(messages=messages)):
        with pytest.raises(InputError, match=says) as caught:
            call()
        assert len(str(caught.value)) < 300
    with pytest.raises(InputError):
        Sample.from_row({"messages": messages or "x"})


@pytest.mark.parametrize("original", ["x", [None], [{}], 5, {"role": "user"}])
def test_malformed_context(original: Any) -> None:
    with pytest.raises(InputError, match="original_messages"):
        length(TALK, original_messages=original)


@pytest.mark.parametrize(
    ("content", "score"),
    [
        ("", 0.0),
        (None, 0.0),
        ("\0", 1.0),
        ("\ud800", 1.0),
        ("\u2028\u2029\x85", 3.0),
        ("x" * 10_000_000, 10_000_000.0),
        ([{"type": "text", "text": "ab"}, {"type": "image_url"}], 2.0),
        ([], 0.0),
        ([{"loop": LOOP}], 0.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_odd_but_legal_contents(content: Any, score: float) -> None:
    assert length([*TALK, {"role": "assistant", "content": content}]).unwrap() == score


def test_ten_thousand_messages() -> None:
    counted = RewardFunction(lambda messages: len(messages))
    assert counted(messages=[TALK[0]] * 10_000).score == 10_000.0


def test_no_messages_at_all() -> None:
    result = length([])
    assert (result.score, result.error_kind) == (None, "exception")
    with pytest.raises(IndexError):
        result.unwrap()
    # As with the function itself, what the caller left out is raised at the caller.
    for call in (length, lambda: RewardFunction(lambda response: 1.0)()):
        with pytest.raises(BindingError, match="which nothing supplies"):
            call()


def test_a_metadata_that_is_no_object() -> None:
    seen = RewardFunction(lambda messages, metadata: float(metadata == "text"))
    assert seen(TALK, "text").score == 1.0


def test_names_that_are_no_names() -> None:
    everything = RewardFunction(lambda messages, **columns: len(columns))
    row = {
        "messages": TALK,
        "a b": 1,
        "": 2,
        "class": 3,
        "self": 4,
        5: 6,
        "x/y": 7,
        "func": 8,
        "messages\n": 9,
    }
    result = everything.evaluate(Sample.from_row(row))
    assert result.error is None
    assert result.unwrap() >= 7


def test_on_error_raise_in_a_batch_call_with_one_bad_result() -> None:
    @reward_function(mode="batch", on_error="raise")
    def batched(completions: list[str]) -> list[float]:
        return [1.0, math.nan]

    with pytest.raises(RewardError, match="must be finite"):
        batched(completions=["a", "b"])
