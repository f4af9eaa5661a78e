"""Whether the values of parameters fit their annotations, so that a wrong one is refused where a reward is made."""

from __future__ import annotations

import collections.abc
import difflib
import enum
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union

from guerdon.errors import BindingError
from guerdon.reward.binding.annotations import code_behind, hints_of

_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def check_values(name: str, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise BindingError for the first value that does not fit the annotation of its parameter.

    Understood are None, bool, int, float, str, paths, Literal, Enum, unions, and lists and mappings of these; a
    parameter without an annotation, or with any other, takes what it is given.

    >>> from typing import Literal
    >>> def brief(response: str, most: int = 9, unit: Literal["words", "letters"] = "words"): ...
    >>> check_values("brief", brief, {"most": 5, "unit": "letters"})
    """
    hints = hints_of(function)
    defaults = _defaults(function)
    for parameter, value in given.items():
        hint = hints.get(parameter, Any)
        if value is defaults.get(parameter, inspect.Parameter.empty) or fits(value, hint):
            continue
        wanted = " or ".join(dict.fromkeys(_words(hint)))
        raise BindingError(
            f"{name}: {parameter} must be {wanted}, not {_shown(value)}{_nearest(value, hint)}",
            parameter=parameter,
        )


def constructor_of(cls: type) -> Callable[..., Any]:
    """The function whose annotations are those of a class's constructor."""
    return typing.cast("Callable[..., Any]", getattr(cls, "__init__", cls))


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return {n: p.default for n, p in inspect.signature(code_behind(function)).parameters.items()}
    except (TypeError, ValueError):
        return {}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is one of what an annotation allows.

    >>> fits(3, int), fits(True, int), fits("3", int | None), fits("ab", list[str]), fits([1], list[float])
    (True, False, False, False, True)
    """
    if hint is Any:
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return fits(value, args[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if hint is None or hint is type(None):
        return value is None
    plain = origin or hint
    if plain in _LISTS:
        return _fits_list(value, plain, args)
    if plain in _MAPPINGS:
        return isinstance(value, Mapping) and all(
            fits(k, key) and fits(v, item) for key, item in [args or (Any, Any)] for k, v in value.items()
        )
    if plain is collections.abc.Callable:
        return callable(value)
    return _fits_class(value, plain) if isinstance(plain, type) else True


def _fits_list(value: Any, plain: Any, args: tuple[Any, ...]) -> bool:
    # Text is a sequence of letters, which is never what is meant by a list.
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, collections.abc.Iterable):
        return False
    if not isinstance(value, list | tuple | set | frozenset):
        return True  # an array, say: looking at its entries might cost much, or use it up
    if plain is tuple and args and args[-1] is not Ellipsis:
        return len(value) == len(args) and all(map(fits, value, args))
    return all(fits(item, args[0]) for item in value) if args else True


def _fits_class(value: Any, cls: type) -> bool:
    if isinstance(value, cls) and not (isinstance(value, bool) and cls in (int, float)):
        return True
    if issubclass(cls, enum.Enum):
        return any(value == member.value for member in cls)
    if cls is bool:
        return type(value).__name__ in ("bool", "bool_")  # numpy's
    if cls in (int, float):
        kind = numbers.Integral if cls is int else numbers.Real
        return isinstance(value, kind) and not isinstance(value, bool)
    if issubclass(cls, os.PathLike):
        return isinstance(value, str | os.PathLike)
    return cls not in (str, bytes)


def _words(hint: Any) -> list[str]:
    """What an annotation allows, in words."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _words(args[0])
    if origin in (Union, types.UnionType):
        return [word for arg in args for word in _words(arg)]
    if origin is Literal:
        return [repr(arg) for arg in args]
    plain = origin or hint
    if plain in _LISTS:
        return [f"a list of {_plural(args[0])}" if args else "a list"]
    if plain in _MAPPINGS:
        return ["an object"]
    if isinstance(plain, type) and issubclass(plain, enum.Enum):
        return [repr(member.value) for member in plain]
    if _is_path(plain):
        return ["a path"]
    return [_NAMES.get(plain) or str(getattr(plain, "__name__", plain))]


def _plural(hint: Any) -> str:
    words = _words(hint)
    return _PLURALS.get(words[0], "values") if len(words) == 1 else "values"


def _is_path(plain: Any) -> bool:
    return isinstance(plain, type) and issubclass(plain, os.PathLike)


def _nearest(value: Any, hint: Any) -> str:
    """A hint at the allowed value that was meant, where one is near."""
    allowed = [word[1:-1] for word in _words(hint) if word.startswith("'")]
    close = difflib.get_close_matches(value, allowed, n=1) if isinstance(value, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # the value's own code: its class is left to say
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"a {type(value).__name__}"


_NAMES: Mapping[Any, str] = {
    None: "None",
    type(None): "None",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    bytes: "bytes",
    collections.abc.Callable: "a function",
}
_PLURALS = {"a whole number": "whole numbers", "a number": "numbers", "text": "texts"}
