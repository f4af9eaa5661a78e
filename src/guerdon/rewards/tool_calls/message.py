"""The calls of tools that a message makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.rewards.common.json_text import is_deep
from guerdon.rewards.tool_calls.calls import ARGUMENT_KEYS, ParsedCall, arguments_of, broken
from guerdon.rewards.tool_calls.text import calls_in_text
from guerdon.types import Message


def calls_of_message(message: Message, names: Iterable[str] | None = None) -> list[ParsedCall]:
    """The calls that a message makes: those of its field ``tool_calls``, else those that its text holds.

    ``names`` are those of the tools there are, where they are known.
    """
    found = [_native(call.function) for call in message.tool_calls or ()]
    if isinstance(legacy := message.get("function_call"), Mapping):
        found.append(_native(legacy))
    if isinstance(message.content, list):
        found.extend(_native(part) for part in message.content if part.get("type") == "tool_use")
    return found or calls_in_text(message.text, names)


def _native(function: Any) -> ParsedCall:
    """The call of a mapping or a record with a name and arguments."""
    name = function.get("name")
    if not isinstance(name, str):
        return broken("the call has no name")
    given = next((function[key] for key in ARGUMENT_KEYS if function.get(key) is not None), None)
    if is_deep(given):
        return broken("the arguments are nested too deep", name)
    return ParsedCall(name, arguments_of(given), is_native=True)
