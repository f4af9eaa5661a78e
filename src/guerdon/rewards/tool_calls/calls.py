"""Calls of tools as a message makes them, whatever form a model writes them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.common.json_text import read_json

ARGUMENT_KEYS = ("arguments", "parameters", "input", "args")
"""Under which name the forms have a call's arguments: OpenAI and Hermes, Llama, Anthropic, Google."""


class Untyped(str):
    """The text of an argument in a form that does not tell its type, such as an element of XML."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call that a message makes."""

    name: str
    arguments: Mapping[str, Any] | str
    """By name; the text as it stands where it is not an object of JSON."""
    problem: str = ""
    """Why it is not a call that could be carried out; such a call is none that was wanted."""
    is_native: bool = False
    """Whether it came in the message's own field, where names have no dots."""


def broken(problem: str, name: str = "") -> ParsedCall:
    """A call that was begun but cannot be carried out."""
    return ParsedCall(name, {}, problem)


def arguments_of(value: Any) -> Mapping[str, Any] | str:
    """The arguments of a call from an object or its JSON text; other text stays as it is."""
    if value is None:
        return {}
    if isinstance(value, str):
        if not value.strip():
            return {}
        read = read_json(value)
        if read.problem or not isinstance(read.value, dict | None):
            return value
        return read.value or {}
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)


def calls_of_json(value: Any, *, lenient: bool = False) -> list[ParsedCall] | None:
    """The calls that a JSON value writes down; None where it is something else.

    ``lenient`` is for places that hold nothing but calls: there a name alone is a call as well.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [calls_of_json(item, lenient=lenient) for item in value]
        return None if None in parts else [call for part in parts if part for call in part]
    if not isinstance(value, Mapping):
        return None
    if isinstance(calls := value.get("tool_calls"), Sequence) and not isinstance(calls, str):
        return calls_of_json(calls, lenient=True)
    for key in ("function", "function_call"):
        if isinstance(inner := value.get(key), Mapping):
            return calls_of_json(inner, lenient=True)
    name = value.get("name", value.get("function"))
    held = next((key for key in ARGUMENT_KEYS if key in value), None)
    # With a description it is the definition of a tool, not a call of one.
    if not isinstance(name, str) or "description" in value or not (held or lenient):
        return None
    given = value[held] if held else None
    if not isinstance(given, Mapping | str | None):
        return [broken("the arguments are not an object", name)] if lenient else None
    return [ParsedCall(name, arguments_of(given))]
