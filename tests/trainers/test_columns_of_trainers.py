"""What trainers hand over, as samples."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import pytest

from guerdon.errors import InputError
from guerdon.trainers.columns import messages_of, plain, sample_of, samples_of
from guerdon.trainers.swift import SwiftReward
from guerdon.trainers.trl import TrlReward
from guerdon.trainers.tunix import TunixReward

CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.str_("a"), "a"),
        (numpy.float32(0.5), 0.5),
        (numpy.array(["a", "b"]), ["a", "b"]),
        (numpy.array([{"a": numpy.int64(1)}], dtype=object), [{"a": 1}]),
        ({"a": numpy.array([1]), "b": (numpy.int64(2),)}, {"a": [1], "b": (2,)}),
        (numpy.array(3), 3),
        (None, None),
    ],
)
def test_plain(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("prompt", "completion", "roles"),
    [
        ("2 + 2?", "4", ["user", "assistant"]),
        (None, "4", ["assistant"]),
        ("", "4", ["assistant"]),
        (CHAT, [{"role": "assistant", "content": "4"}], ["system", "user", "assistant"]),
        (CHAT, "4", ["system", "user", "assistant"]),
        (
            numpy.array(CHAT, dtype=object),
            {"role": "assistant", "content": "4"},
            ["system", "user", "assistant"],
        ),
    ],
)
def test_conversations(prompt: Any, completion: Any, roles: list[str]) -> None:
    sample = sample_of(prompt, completion)
    assert [message.role for message in sample.messages] == roles
    assert sample.response == "4"


def test_columns_named_like_a_sample_s_keys() -> None:
    columns = {
        "messages": "the data's own",
        "prompt": "another",
        "id": 1.5,
        "metadata": "text",
        "answer": numpy.str_("4"),
        "step": 3,
    }
    sample = sample_of("2 + 2?", "4", columns)
    assert (sample.answer, sample.id, len(sample.messages)) == ("4", None, 2)
    assert sample.metadata == {"id": 1.5, "metadata": "text", "step": 3}
    merged = sample_of("2 + 2?", "4", {"id": "a", "metadata": {"level": 2}})
    assert (merged.id, merged.metadata) == ("a", {"level": 2})


def test_batches() -> None:
    columns = {"answer": numpy.array(["4", "5"]), "beta": 0.1, "many": {"a": [1, 2, 3]}}
    first, second = samples_of(numpy.array(["a", "b"]), ["4", "5"], columns)
    assert (first.answer, second.answer, second.prompt) == ("4", "5", "b")
    assert first.metadata == {"beta": 0.1, "many": {"a": [1, 2, 3]}}
    assert samples_of(None, [], {}) == []
    with pytest.raises(InputError, match="1 prompts for 2 completions"):
        samples_of(["a"], ["4", "5"], {})
    with pytest.raises(InputError, match="the column 'few' has 3 values for 2 completions"):
        samples_of(["a", "b"], ["4", "5"], {"few": [1, 2, 3]})


class LazyColumn:
    """A column of a Hugging Face data set: a sequence that is no list."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, position: int) -> Any:
        return self.values[position]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


@pytest.mark.parametrize(
    "wrap", [list, tuple, deque, UserList, LazyColumn, numpy.array, lambda v: dict(enumerate(v)).values()]
)
@pytest.mark.parametrize("make", [TrlReward, TunixReward, SwiftReward])
def test_every_kind_of_sequence_is_a_column(make: Any, wrap: Any) -> None:
    reward = make(lambda response, ground_truth: response == ground_truth, workers=0)
    columns = {"ground_truth": wrap(["4", "6"])}
    if make is not SwiftReward:
        columns["prompts"] = ["2 + 2?", "2 + 3?"]
    assert reward(completions=wrap(["4", "5"]) if make is not TunixReward else ["4", "5"], **columns) == [
        1.0,
        0.0,
    ]
    with pytest.raises(InputError, match="3 values for 2 completions"):
        reward(**{**columns, "completions": ["4", "5"], "ground_truth": deque("456")})


@pytest.mark.parametrize(
    "column",
    [iter(["4", "5"]), (c for c in "45"), {"4", "5"}, map(str, [4, 5])],
    ids=lambda v: type(v).__name__,
)
def test_values_without_positions_are_refused(column: Any) -> None:
    with pytest.raises(InputError, match="ground_truth must be a list with one entry for each sample"):
        samples_of(["a", "b"], ["4", "5"], {"ground_truth": column})


def test_an_empty_completion_is_not_the_prompt() -> None:
    assert messages_of([{"role": "user", "content": "4"}], [])[-1].to_dict() == {
        "role": "assistant",
        "content": "",
    }


@pytest.mark.parametrize("completion", [None, 4, b"four"])
def test_what_is_no_completion(completion: Any) -> None:
    with pytest.raises(InputError, match="a completion must be text or a list of messages"):
        messages_of("2 + 2?", completion)
