"""Whether the value of an argument is the expected one, or one of those that are accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from guerdon.rewards.common.json_text import read_json, same_json
from guerdon.rewards.tool_calls.calls import Untyped
from guerdon.rewards.tool_calls.languages import value_in
from guerdon.rewards.tool_calls.python import python_literal

_TYPES: Mapping[str, frozenset[str]] = {
    "string": frozenset({"string", "str", "String", "char", "any", "Any"}),
    "integer": frozenset({"integer", "int", "byte", "short", "long", "Bigint"}),
    "number": frozenset({"number", "float", "double"}),
}
_NUMBER = re.compile(r"\s*[-+]?(?:\d{1,300}(?:\.\d*)?|\.\d+)\s*", re.ASCII)
_PUNCTUATION = re.compile(r"[ ,./\-_*^]")


def is_same(value: Any, wanted: Any, schema: Any) -> bool:
    """Whether the value is the expected one, as JSON; white space and letters count."""
    return any(same_json(reading, wanted) for reading in readings(value, schema))


def is_accepted(value: Any, choices: Sequence[Any], schema: Any, language: str = "python") -> bool:
    """Whether the value is one of those accepted, as BFCL compares: see ``_matches``.

    In another ``language`` than Python a text is first read in its notation.
    """
    if language != "python" and isinstance(value, str):
        return any(_matches(value_in(language, str(value), schema), choice, schema) for choice in choices)
    return any(_matches(reading, choice, schema) for reading in readings(value, schema) for choice in choices)


def readings(value: Any, schema: Any) -> list[Any]:
    """What the value may mean: itself, or what the text of an element does under the type of its schema."""
    if not isinstance(value, Untyped):
        return [value]
    text = str(value)
    kinds = _kinds(schema)
    if kinds and kinds <= _TYPES["string"]:
        # An element cannot hold a null but by its name.
        return [text, None] if text == "null" else [text]
    read = read_json(text)
    literal, is_literal = (read.value, True) if not read.problem else python_literal(text)
    return [literal] if is_literal and kinds else [text, literal] if is_literal else [text]


def _kinds(schema: Any) -> set[str]:
    """The types that a schema names; none where it names none."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, str):
        return {kind}
    return {name for name in kind if isinstance(name, str)} if isinstance(kind, list) else set()


def _matches(value: Any, choice: Any, schema: Any) -> bool:
    """Whether a value is the choice.

    Text is compared without case, spaces and ``,./-_*^``, with one sort of quotation marks; numbers in texts
    keep their sign and their point. A whole number is
    accepted for a float, a float for an integer is not; true and 1 differ. Lists are compared in order.
    Objects may hold lists of choices themselves.
    """
    if isinstance(value, str) and isinstance(choice, str):
        return value == choice or _is_alike(value, choice)
    if isinstance(value, Mapping):
        return isinstance(choice, Mapping) and (
            _is_choice_of_members(value, choice, schema) or _is_same_object(value, choice, schema)
        )
    if isinstance(value, list | tuple):
        items = schema.get("items") if isinstance(schema, Mapping) else None
        return (
            isinstance(choice, list | tuple)
            and len(value) == len(choice)
            and all(_matches(one, other, items) for one, other in zip(value, choice, strict=True))
        )
    if isinstance(value, float | Decimal) and isinstance(choice, int) and _is_integer(schema):
        return False
    return same_json(value, choice)


def _is_alike(value: str, choice: str) -> bool:
    plain = _plain(value)
    # What is nothing but punctuation would be the empty text, which stands for an argument left out.
    if not plain or plain != _plain(choice):
        return False
    return not (_NUMBER.fullmatch(value) and _NUMBER.fullmatch(choice)) or float(value) == float(choice)


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", text).lower().replace("'", '"')


def _is_integer(schema: Any) -> bool:
    kinds = _kinds(schema)
    return bool(kinds) and kinds <= _TYPES["integer"]


def _member(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


def _is_choice_of_members(value: Mapping[str, Any], choice: Mapping[str, Any], schema: Any) -> bool:
    if not all(isinstance(values, list | tuple) for values in choice.values()):
        return False
    return value.keys() <= choice.keys() and all(
        is_accepted(value[name], values, _member(schema, name)) if name in value else "" in values
        for name, values in choice.items()
    )


def _is_same_object(value: Mapping[str, Any], choice: Mapping[str, Any], schema: Any) -> bool:
    return value.keys() == choice.keys() and all(
        _matches(item, choice[name], _member(schema, name)) for name, item in value.items()
    )
