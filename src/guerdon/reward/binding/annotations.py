"""What a function's annotations, or its source where it has none, say of the messages that it wants."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel

from guerdon.types import Message

MessageConverter = Callable[[Any], list[Any]]
"""Messages in the shape that a function wants."""


T = TypeVar("T")


class _Set:
    """Marks a parameter that only the user sets."""


Setting = Annotated[T, _Set]
"""The annotation of a parameter that no row of the data sets, and no request to a server: a folder to read, say.

Such a parameter has the value that it is given in Python or on the command line, else its default.
"""


def lowest(value: Any, most: Any) -> Any:
    """A row's number, or the one that the caller set where the row's is larger; what is no number as it is.

    >>> lowest(2, 5.0), lowest("9", 5.0), lowest(float("inf"), 5.0)
    (2, 5.0, 5.0)
    """
    try:
        return most if float(value) > float(most) else value
    except OverflowError:  # a whole number that no float can hold
        return most if value > 0 else value
    except (TypeError, ValueError):
        return value


@dataclasses.dataclass(frozen=True)
class Lowered:
    """Marks a parameter that a row of the data may lower, by a function of the row's value and the default."""

    by: Callable[[Any, Any], Any] = lowest


Ceiling = Annotated[T, Lowered()]
"""The annotation of a number that a row of the data, or a request to a server, may lower and never raise: seconds, say.

The default holds for all rows; given in Python or on the command line it is the same for all, as any parameter is.
"""


def ceilings_of(function: Callable[..., Any]) -> dict[str, Callable[[Any, Any], Any]]:
    """How a row lowers those parameters that it may only lower, by their names."""
    return {
        name: mark.by
        for name, hint in _marked_hints(function).items()
        for mark in getattr(hint, "__metadata__", ())
        if isinstance(mark, Lowered)
    }


def _marked_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(code_behind(function), include_extras=True)
    except Exception:  # annotations are the user's code, whatever they raise
        return {}


def settings_of(function: Callable[..., Any]) -> frozenset[str]:
    """The names of the parameters that are annotated as a Setting."""
    hints = _marked_hints(function)
    return frozenset(n for n, hint in hints.items() if _Set in getattr(hint, "__metadata__", ()))


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(code_behind(function))
    except Exception:  # annotations are the user's code: whatever they raise, the text is left to read
        return {}


def wants_dicts(annotation: Any) -> bool:
    """Whether messages are annotated as plain dicts, so that they are given as such.

    >>> wants_dicts(list[dict[str, str]]), wants_dicts(list[Message]), wants_dicts("List[Dict]")
    (True, False, True)
    """
    text = annotation if isinstance(annotation, str) else _annotation_text(annotation)
    return bool(re.search(r"\b([dD]ict|Mapping)\b", text)) and not re.search(r"\bMessage\b", text)


def _annotation_text(annotation: Any) -> str:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return "Message" if issubclass(annotation, Message) else annotation.__name__
    return str(annotation)


def code_behind(function: Any) -> Any:
    """The function with the code of a callable: under a partial, a method, an instance's ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.FunctionType | types.MethodType):
        return function
    return getattr(type(function), "__call__", function)


def wants_chat(function: Callable[..., Any], annotation: Any) -> bool:
    """Whether a batched function reads completions as lists of messages, as TRL gives them for chats.

    The annotation decides; without one, a function whose source reads ``["content"]`` wants messages.
    """
    if annotation is not inspect.Parameter.empty:
        text = annotation if isinstance(annotation, str) else _annotation_text(annotation)
        return bool(re.search(r"\b([dD]ict|Mapping|Message)\b", text)) or bool(
            re.search(r"list\[list\b", text, re.IGNORECASE)
        )
    try:
        source = inspect.getsource(code_behind(function))
    except (OSError, TypeError):
        return False
    return bool(re.search(r"""\[\s*["']content["']\s*\]|\.get\(\s*["']content["']""", source))


def message_form(annotation: Any) -> MessageConverter | None:
    """How messages are to be given: None for Message objects, else what makes the wanted shape of them.

    Annotated as dicts they are given as dicts. Annotated with another package's message class, a pydantic
    model or a dataclass with a role and a content, they are given as objects of that class: functions
    under Reward Kit's own decorator refuse all others.
    """
    foreign = _foreign_message(annotation)
    if foreign is not None:
        return functools.partial(_as_objects, foreign)
    return as_dicts if wants_dicts(annotation) else None


def as_dicts(messages: Any) -> list[Any]:
    """Messages as fresh plain dicts."""
    return [message.to_dict() for message in messages]


def _as_objects(cls: type, messages: Any) -> list[Any]:
    return [cls(**message.to_dict()) for message in messages]


def _foreign_message(annotation: Any) -> type | None:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation if _is_foreign_message(annotation) else None
    found = (_foreign_message(part) for part in typing.get_args(annotation))
    return next((cls for cls in found if cls is not None), None)


def _is_foreign_message(cls: type) -> bool:
    if issubclass(cls, Message):
        return cls is not Message
    names: set[str] = set()
    if issubclass(cls, BaseModel):
        names = set(cls.model_fields)
    elif dataclasses.is_dataclass(cls):
        names = {field.name for field in dataclasses.fields(cls)}
    return {"role", "content"} <= names
