"""What columns hold of a conversation, as messages: text, TRL's messages, ShareGPT's turns, lists of responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.data.rows import quoted
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError
from guerdon.types import as_messages

_SPEAKERS = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "function_response": "tool",
    "observation": "tool",
}
"""The ``from`` of ShareGPT's turns and its variants, as roles."""


def messages_in(value: Any, role: str, column: str) -> list[Any]:
    """The messages that a column holds; text is one message of ``role``.

    Text becomes a plain dictionary: a Message costs more to make and to send.
    Raises InputError for anything else.

    >>> messages_in([{"from": "human", "value": "2 + 2?"}], "user", "prompt")[0].content
    '2 + 2?'
    """
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    what = f"column {quoted(column)}"
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list) or not value:
        shown = "an empty list" if value == [] else "null" if value is None else type(value).__name__
        raise InputError(f"{what} must hold text or a list of messages, not {shown}")
    return list(as_messages(_from_turns(value, what), what))


def is_turns(value: Any) -> bool:
    """Whether a value is a conversation of ShareGPT: a list of ``from`` and ``value``."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping) and _is_turn(value[0])


def _is_turn(item: Mapping[str, Any]) -> bool:
    return "from" in item and "value" in item and "role" not in item


def _from_turns(items: list[Any], what: str) -> list[Any]:
    if not any(isinstance(item, Mapping) and _is_turn(item) for item in items):
        return items
    return [
        _message(item, f"{what}[{i}]") if isinstance(item, Mapping) and _is_turn(item) else item
        for i, item in enumerate(items)
    ]


def _message(turn: Mapping[str, Any], what: str) -> dict[str, Any]:
    role = _SPEAKERS.get(str(turn["from"]).lower())
    if role is None:
        raise InputError(f"{what}: from is {str(turn['from'])[:40]!r}; known are {', '.join(_SPEAKERS)}")
    return {"role": role, "content": turn["value"]}


def responses_in(value: Any, column: str) -> list[list[Any]]:
    """The responses that a column holds, each a list of messages; all but lists of responses are one.

    A list of texts or of conversations is several, and so are the ``choices`` of OpenAI's chat completions.
    Text is one response, whatever it looks like.

    >>> len(responses_in(["4", "5"], "responses")), len(responses_in('["4", "5"]', "response"))
    (2, 1)
    """
    if isinstance(value, Mapping):
        for inner in ("body", "choices"):  # OpenAI's batch files, a chat completion
            if inner in value and "role" not in value:
                return responses_in(value[inner], f"{column}.{inner}")
    if isinstance(value, list) and value:
        if isinstance(value[0], str):
            return [messages_in(_text(item, i, column), "assistant", column) for i, item in enumerate(value)]
        if isinstance(value[0], list):
            return [messages_in(item, "assistant", f"{column}[{i}]") for i, item in enumerate(value)]
        if is_choices(value):
            return [_choice(item, i, column) for i, item in enumerate(value)]
    return [messages_in(value, "assistant", column)]


def is_choices(value: Any) -> bool:
    """Whether a value is a list of OpenAI's choices: objects with a ``message`` or a ``text``."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], Mapping)
        and "role" not in value[0]
        and not _is_turn(value[0])
        and ("message" in value[0] or "text" in value[0])
    )


def _text(item: Any, position: int, column: str) -> str:
    if not isinstance(item, str):
        kind = "null" if item is None else type(item).__name__
        raise InputError(f"column {quoted(column)}[{position}] must be text as the first one is, not {kind}")
    return item


def _choice(item: Any, position: int, column: str) -> list[Any]:
    held = item.get("message", item.get("text")) if isinstance(item, Mapping) else item
    return messages_in(held, "assistant", f"{column}[{position}]")


def list_in_text(value: Any, column: str) -> Any:
    """What a cell of CSV holds in a column whose cells are lists; an empty cell holds an empty response.

    Raises InputError for text that is not a list as JSON, such as what pandas writes for a list.
    """
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        return value
    what = f"column {quoted(column)} must hold a list as JSON"
    if not text.startswith("["):
        raise InputError(f"{what}, as the first rows do")
    try:
        found, end = parse_json(text)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    if end != len(text):
        raise InputError(f"{what}: more after its end, from column {end + 1}")
    return found


def messages_in_text(value: Any) -> Any:
    """What a cell of CSV holds in a column of prompts: messages, where its text is a list of them as JSON."""
    text = value.strip() if isinstance(value, str) else ""
    if not text.startswith("[") or ('"role"' not in text and '"from"' not in text):
        return value
    try:
        found, end = parse_json(text)
    except InputError:
        return value
    listed = end == len(text) and all(isinstance(item, Mapping) for item in found)
    return found if listed and found else value
