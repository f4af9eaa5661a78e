"""Parameters of rewards as they come: from Python, from JSON, or as text from the command line."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from guerdon.data.rows import quoted
from guerdon.errors import InputError, MissingExtraError


def text_list(value: Any, what: str) -> list[str]:
    """Texts from a list, from ``"a, b"`` or from a JSON list in a string.

    None gives none. A text that holds a comma has to come in a list. Raises InputError that names
    ``what`` for anything else and for empty texts.

    >>> text_list("foo, bar", "required"), text_list('["a, b"]', "required"), text_list(None, "required")
    (['foo', 'bar'], ['a, b'], [])
    """
    if value is None:
        return []
    if isinstance(value, str):
        value = _json_list(value, what) if value.lstrip().startswith("[") else value.split(",")
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{what} must be a list of texts or a text with commas, not {shown(value)}")
    found = [_text(item, what).strip() for item in value]
    if "" in found:
        raise InputError(f"{what} holds an empty text; leave it out")
    return found


def _json_list(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InputError(f'{what} starts like a JSON list but is none; write it as ["a", "b"]') from None


def _text(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{what} must hold texts, not {shown(value)}; quote it")


def non_negative(value: Any, what: str) -> float | None:
    """A finite number of 0 or more, also from text; None stays None. Raises InputError naming ``what``.

    >>> non_negative("12", "minimum"), non_negative(None, "minimum")
    (12.0, None)
    """
    if value is None:
        return None
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(f"{what} must be a number of 0 or more, not {shown(value)}")
    return number


def any_number(value: Any, what: str) -> float:
    """A finite number, also from text. Raises InputError naming ``what``.

    >>> any_number("-1", "wrong"), any_number(2, "right")
    (-1.0, 2.0)
    """
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} must be a finite number, not {shown(value)}")
    return number


def whole_number(value: Any, what: str, *, least: int = 0) -> int:
    """A whole number of ``least`` or more, also from text. Raises InputError naming ``what``.

    >>> whole_number("3", "ngram_size"), whole_number(2.0, "window", least=1)
    (3, 2)
    """
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (least <= number < math.inf and number == int(number)):
        raise InputError(f"{what} must be a whole number of {least} or more, not {shown(value)}")
    return int(number)


def yes_or_no(value: Any, what: str) -> bool:
    """A truth value, also from text such as ``true`` or ``no``. Raises InputError naming ``what``."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return text in ("1", "true", "yes", "on")
    raise InputError(f"{what} must be true or false, not {shown(value)}")


def one_of(value: Any, choices: Iterable[str], what: str) -> str:
    """One of the ``choices``. Raises InputError naming ``what`` and the choices."""
    names = tuple(choices)
    if value in names:
        return str(value)
    close = difflib.get_close_matches(value, names, n=1) if isinstance(value, str) else []
    hint = f"; did you mean {close[0]}?" if close else ""
    raise InputError(f"{what} must be one of {', '.join(names)}, not {shown(value)}{hint}")


Validator = Callable[[Any, str], object]
"""Raises InputError for a value that a parameter of this name cannot have."""


def among(choices: Iterable[str]) -> Validator:
    """The check that a value is one of the ``choices``."""
    return functools.partial(_among, tuple(choices))


def _among(choices: tuple[str, ...], value: Any, what: str) -> None:
    one_of(value, choices, what)


def parameter_check(**validators: Validator) -> Callable[..., None]:
    """What ``reward_function(check=…)`` takes: a check for each parameter; None, where a parameter may be absent, is
    not checked.

    >>> parameter_check(mode=among(["strict", "tolerant"]))(mode="strict", tolerance=0.1)
    """

    def check(**given: Any) -> None:
        for name, value in given.items():
            if name in validators and value is not None:
                validators[name](value, name)

    return check


def needs(module: str, extra: str, what: str) -> Callable[..., None]:
    """What ``reward_function(reach=…)`` takes: a check that a package is there. Raises MissingExtraError."""

    def reach(**_: Any) -> None:
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError.of(extra, what)

    return reach


def plain_text(value: Any, what: str) -> str:
    """Text. Raises InputError naming ``what``."""
    if isinstance(value, str):
        return value
    raise InputError(f"{what} must be text, not {shown(value)}; quote it")


def above_zero(value: Any, what: str) -> float:
    """A number of more than 0, also from text. Raises InputError naming ``what``."""
    number = non_negative(value, what)
    if not number:
        raise InputError(f"{what} must be more than 0")
    return number


def response_text(value: Any) -> str:
    """The response as text. Raises InputError where a direct call gave something else."""
    if isinstance(value, str):
        return value
    raise InputError(f"the response must be text, not {shown(value)}")


def shown(value: Any) -> str:
    """A value for a message: short, on one line, safe to print."""
    if isinstance(value, str):
        return quoted(value)
    text = repr(value) if isinstance(value, bool | float | type(None)) else f"a {type(value).__name__}"
    return str(value) if isinstance(value, int) and abs(value) < 10**15 else text
