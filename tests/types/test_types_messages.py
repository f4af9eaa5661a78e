"""Messages: both ways to read them, what they refuse, and their round trips."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

import guerdon
from guerdon import Message
from guerdon.errors import InputError
from guerdon.types import as_messages, check_ending
from support.type_strategies import CALL, MESSAGES

# Messages


def test_a_message_reads_as_attributes_and_as_a_mapping() -> None:
    message = Message(role="assistant", content=None, tool_calls=[CALL], custom=[1, 2])
    assert (message.role, message["role"], message.get("role")) == ("assistant",) * 3
    assert (message.custom, message["custom"]) == ([1, 2], [1, 2])
    assert list(message) == ["role", "content", "tool_calls", "custom"]
    assert ("name" in message, message.get("name", "x"), message.name, len(message)) == (False, "x", None, 4)
    assert isinstance(message, Mapping)
    assert {**message} == dict(message) == dict(message.items())
    assert message["tool_calls"][0]["function"]["name"] == message.tool_calls[0].function.name == "f"
    with pytest.raises(KeyError, match="name"):
        message["name"]
    match message:
        case {"role": role}:
            assert role == "assistant"


def test_a_message_cannot_be_changed() -> None:
    message = Message(role="user", content="x")
    with pytest.raises(ValidationError, match="frozen"):
        message.content = "y"
    with pytest.raises(TypeError):
        message["content"] = "y"  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"text": "b"}], "ab"),
        ([{"type": "text", "text": None}, {"text": 5}], ""),
        ("half a pair \ud800, NUL \0", "half a pair \ud800, NUL \0"),
    ],
)
def test_the_text_of_a_content(content: Any, text: str) -> None:
    assert Message(role="user", content=content).text == text


@given(MESSAGES)
def test_a_message_survives_json_and_a_pickle(given_message: dict[str, Any]) -> None:
    message = Message(**given_message)
    assert message.to_dict() == given_message
    assert as_messages([json.loads(json.dumps(message.to_dict()))]) == [message]
    back = pickle.loads(pickle.dumps(message))
    assert (back, back.to_dict()) == (message, given_message)
    assert Message.model_validate_json(message.model_dump_json(exclude_unset=True)) == message


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "messages must be a list of messages such as .*, not NoneType"),
        ("hello", "not str"),
        (b"hello", "not bytes"),
        ({"role": "user", "content": ""}, "not dict"),
        (iter([]), "not list_iterator"),
        (5, "not int"),
        ([None], r"messages\[0\] must be an object with a role and a content, not NoneType"),
        (["hello"], r"messages\[0\] .* not str"),
        ([[{"role": "user"}]], r"messages\[0\] .* not list"),
        ([{"role": "user"}, {}], r"messages\[1\]\.role: Field required"),
        ([{"content": "x"}], r"messages\[0\]\.role: Field required"),
        ([{"role": None, "content": "x"}], r"messages\[0\]\.role: "),
        ([{"role": 5, "content": "x"}], r"messages\[0\]\.role: "),
        ([{"role": "user", "content": 5}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": b"x"}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": ["x"]}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": {"text": "x"}}], r"messages\[0\]\.content"),
        ([{"role": "user", "tool_calls": [{}]}], r"messages\[0\]\.tool_calls\[0\]\.function: Field required"),
        ([{5: "x", "role": "user"}], r"messages\[0\] has a key that is not a string"),
    ],
)
def test_malformed_messages_are_one_line_with_index_and_field(value: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        as_messages(value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "last",
    [
        {},
        {"name": "x"},
        {"text": "4"},
        {"contents": "4"},
        {"tool_calls": []},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "output_text", "text": 4}]},
    ],
    ids=str,
)
def test_a_message_without_a_content_is_no_response(last: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", **last}]
    with pytest.raises(InputError, match="the last message has"):
        check_ending(as_messages(messages))
    with pytest.raises(InputError, match="the last message has"):
        guerdon.score(lambda response: float(len(response)), [{"messages": messages}], workers=0)
    adapter = guerdon.RewardFunction(lambda response: 1.0).to_trl(workers=0)
    assert adapter(prompts=["2 + 2?"], completions=[messages[1:]]) == [None]


@pytest.mark.parametrize(
    "last",
    [
        {"content": ""},
        {"content": None},
        {"content": []},
        {"content": [{"type": "image_url"}]},
        {"tool_calls": [{"function": {"name": "f"}}]},
        {"reasoning_content": "4"},
        {"refusal": "no"},
    ],
    ids=str,
)
def test_a_message_may_say_nothing(last: dict[str, Any]) -> None:
    check_ending(as_messages([{"role": "assistant", **last}]))
