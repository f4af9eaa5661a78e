"""Columns by name or by a dotted path into what they hold, such as ``reward_model.ground_truth``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from guerdon.data.rows import quoted
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""What ``value_at`` gives where a row has no such column."""

_STEPS_SHOWN = 12
_DIGITS = 9
"""A position in a list has no more: Python refuses to read a number of thousands of digits."""


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or at a dotted path: keys of objects and positions in lists, also in JSON text.

    A column whose own name is the whole path comes first.

    >>> value_at({"reward_model": {"ground_truth": "4"}}, "reward_model.ground_truth")
    '4'
    >>> value_at({"choices": '[{"text": "4"}]'}, "choices.0.text"), value_at({}, "choices")
    ('4', ABSENT)
    """
    if path in row:
        return row[path]
    if "." not in path:
        return ABSENT
    value: Any = row
    for step in path.split("."):
        if isinstance(value, str):
            value = _parsed(value)
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) <= _DIGITS and int(step) < len(value):
            value = value[int(step)]
        else:
            return ABSENT
    return value


def _parsed(text: str) -> Any:
    """The object or the list that JSON text holds; the text where it is none."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return text
    try:
        value, end = parse_json(stripped)
    except InputError:
        return text
    return value if end == len(stripped) else text


def may_hold(names: Mapping[str, Any] | Iterable[str], path: str) -> bool:
    """Whether a table with columns of these names may have a value at a path."""
    there = names if isinstance(names, Mapping) else set(names)
    return path in there or ("." in path and path.partition(".")[0] in there)


def unknown_column(path: str, names: Iterable[str], flag: str = "") -> str:
    """The sentence for a column that is not there, with those that are and those of a similar name.

    >>> unknown_column("promt", ["prompt", "reply"], "--prompt-column")
    'no column "promt" (--prompt-column); did you mean prompt? the columns are: prompt, reply'
    """
    there = [str(name) for name in names]
    said = f" ({flag})" if flag else ""
    return f"no column {quoted(path)}{said}; {did_you_mean(path, there)}{listing(there)}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """``did you mean prompt? ``, or nothing where no name is similar."""
    close = difflib.get_close_matches(name, list(names), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}? " if close else ""


def listing(names: Iterable[str]) -> str:
    """``the columns are: …``, twelve of them."""
    shown = [quoted(str(name))[1:-1] for name in names]
    more = f" and {len(shown) - _STEPS_SHOWN} more" if len(shown) > _STEPS_SHOWN else ""
    return f"the columns are: {', '.join(shown[:_STEPS_SHOWN])}{more}" if shown else "there are no columns"
