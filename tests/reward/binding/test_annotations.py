# ruff: noqa: UP006, UP035, UP045  the older annotations are among the cases
"""What annotations and sources say of the messages that a function wants, and of its settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Dict, List, Optional, TypedDict

import pytest
from pydantic import BaseModel

import guerdon
from guerdon import (
    Message,
    RewardFunction,
    Sample,
)
from guerdon.errors import BindingError
from guerdon.reward.binding.annotations import Ceiling, Setting, ceilings_of, lowest, wants_chat, wants_dicts
from support.convention_rewards import (
    OBJECTS,
    ROW,
    trl_chat,
    trl_strings,
)

# What a parameter is given


class Turn(TypedDict):
    role: str
    content: str


class Plain:
    pass


@pytest.mark.parametrize(
    ("annotation", "dicts"),
    [
        (List[Dict[str, str]], True),
        (list[dict[str, Any]], True),
        (list[dict], True),
        (dict, True),
        (Sequence[Mapping[str, str]], True),
        (Optional[List[Dict[str, str]]], True),
        ("List[Dict[str, str]]", True),
        ("list[dict] | None", True),
        ("t.Sequence[t.Mapping]", True),
        (list[Message], False),
        (List[Message], False),
        ("List[Message]", False),
        (list[Message | dict], False),
        ("List[Union[Message, Dict]]", False),
        (Message, False),
        (list, False),
        ("list", False),
        (Any, False),
        (inspect.Parameter.empty, False),
        (list[Plain], False),
        (None, False),
    ],
    ids=str,
)
def test_which_annotations_ask_for_plain_dicts(annotation: Any, dicts: bool) -> None:
    assert wants_dicts(annotation) is dicts


def test_annotations_decide_also_as_text_and_under_a_name() -> None:
    """This module's annotations are text, since it imports ``annotations`` from ``__future__``."""
    chat = list[dict[str, str]]
    namespace: dict[str, Any] = {"Chat": chat, "Message": Message}
    exec("def named(messages: Chat): return type(messages[0]) is dict", namespace)
    exec("def quoted(messages: 'Chat'): return type(messages[0]) is dict", namespace)
    exec("def unknown(messages: 'List[Dict[str, Nowhere]]'): return type(messages[0]) is dict", namespace)
    exec("def objects(messages: 'List[Message]'): return type(messages[0]) is Message", namespace)
    exec("def context(original_messages: Chat): return type(original_messages[0]) is dict", namespace)
    exec(
        "def mixed(messages: Chat, original_messages): return type(original_messages[0]) is Message",
        namespace,
    )
    for name in ("named", "quoted", "unknown", "objects", "context", "mixed"):
        reward = RewardFunction(namespace[name])
        assert [reward.evaluate(Sample.from_row(ROW)).score, reward(messages=OBJECTS).score] == [1.0, 1.0], (
            name
        )


@pytest.mark.parametrize(
    ("function", "chat"),
    [
        (trl_strings, False),
        (trl_chat, True),
        (functools.partial(trl_chat), True),
        (lambda completions: [c[0].get("content") for c in completions], True),
        (lambda completions: [len(c) for c in completions], False),
    ],
)
def test_a_batched_function_that_reads_contents_is_given_chats(function: Any, chat: bool) -> None:
    assert wants_chat(function, inspect.Parameter.empty) is chat


class Chatty:
    def __call__(self, completions):
        return [float(c[0]["content"] == "It is 4") for c in completions]


def test_an_instance_that_reads_contents_is_given_chats() -> None:
    assert RewardFunction(Chatty()).evaluate(Sample.from_row(ROW)).unwrap() == 1.0


class ForeignMessage(BaseModel):
    """A message class of another package, as Reward Kit's decorator insists on its own."""

    role: str
    content: str | None = ""


def _takes_foreign(messages: list[ForeignMessage], **kwargs: Any) -> float:
    return float(all(type(m) is ForeignMessage for m in messages))


def _takes_either(messages: list[ForeignMessage] | list[dict[str, Any]]) -> float:
    return float(all(type(m) is ForeignMessage for m in messages))


@pytest.mark.parametrize("function", [_takes_foreign, _takes_either])
def test_another_packages_message_class_is_given_where_it_is_annotated(function: Any) -> None:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    reward = RewardFunction(function)
    assert reward.evaluate(Sample(messages=messages)).score == 1.0
    assert reward(messages=messages).score == 1.0
    assert guerdon.score(function, [{"messages": messages}], workers=1).scores == [1.0]


def in_folder(response: str, folder: Setting[str] = "here", unit: str = "words") -> dict[str, Any]:
    return {"score": 1.0, "reason": f"{folder}, {unit}"}


def all_in_folder(completions: list[str], folder: Setting[str] = "here", unit: Any = None) -> list[float]:
    return [float(folder == "here")] * len(completions)


def needs_folder(response: str, folder: Setting[str]) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("fixed", "reason"),
    [
        ({}, "here, lines"),
        ({"folder": "there"}, "there, lines"),
        ({"folder": "there", "unit": "pages"}, "there, pages"),
    ],
)
def test_no_row_gives_a_setting(fixed: dict[str, Any], reason: str) -> None:
    row = {**ROW, "folder": "elsewhere", "unit": "lines"}
    assert RewardFunction(in_folder, **fixed).evaluate(Sample.from_row(row)).reason == reason
    assert guerdon.score(RewardFunction(all_in_folder), [row])[0].score == 1
    assert in_folder("x", folder="mine")["reason"] == "mine, words"
    with pytest.raises(BindingError, match="folder"):
        guerdon.score(RewardFunction(needs_folder), [row])


def timed(response: str, seconds: Ceiling[float] = 5.0, rows: Ceiling[int] = 100) -> dict[str, Any]:
    return {"score": 1.0, "reason": f"{seconds}, {rows}"}


def all_timed(completions: list[str], seconds: Ceiling[float] = 5.0) -> list[float]:
    given = seconds if isinstance(seconds, list) else [seconds]
    return [float(value) for value in given]


@pytest.mark.parametrize(
    ("fixed", "columns", "reason"),
    [
        ({}, {}, "5.0, 100"),
        ({}, {"seconds": 1, "rows": 7}, "1, 7"),
        ({}, {"seconds": 1e9, "rows": 10**30}, "5.0, 100"),
        ({}, {"seconds": "9000", "rows": float("inf")}, "5.0, 100"),
        ({}, {"seconds": 10**400, "rows": None}, "5.0, 100"),
        ({"seconds": 60.0}, {"seconds": 600, "rows": 99}, "60.0, 99"),
        ({"seconds": 60.0}, {"seconds": 1}, "60.0, 100"),
    ],
)
def test_a_row_lowers_a_ceiling_and_never_raises_it(
    fixed: dict[str, Any], columns: dict[str, Any], reason: str
) -> None:
    reward, row = RewardFunction(timed, **fixed), {**ROW, **columns}
    assert reward.evaluate(Sample.from_row(row)).reason == reason
    assert guerdon.score(reward, [row], workers=1)[0].reason == reason


def test_a_caller_raises_a_ceiling() -> None:
    assert RewardFunction(timed)(response="x", seconds=60).reason == "60, 100"
    assert RewardFunction(timed)(response="x", seconds=60, metadata={"rows": 10**6}).reason == "60, 100"
    timed_in_a_worker = guerdon.reward_function(timeout=30)(timed)
    assert timed_in_a_worker(response="x", seconds=60).reason == "60, 100"
    assert ceilings_of(timed) == {"seconds": lowest, "rows": lowest}


def test_batches_keep_to_a_ceiling() -> None:
    rows = [{**ROW, "seconds": 1}, {**ROW, "seconds": 1e6}]
    assert guerdon.score(RewardFunction(all_timed), rows).scores == [1.0, 5.0]
