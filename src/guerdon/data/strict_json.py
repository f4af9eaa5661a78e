"""JSON read strictly: what other readers would refuse or read otherwise is refused."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from guerdon.data.rows import quoted
from guerdon.errors import InputError

MAX_DEPTH = 200
"""How deep objects and lists may be nested: far above any real row, far below where pickling fails."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"an object has the key {quoted(twice)} twice")
    return value


def _constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not JSON; write null or a string")


def _float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise InputError(f"the number {text[:20]} is too large for a float")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def parse_json(text: str, start: int = 0, *, lone_surrogates: bool = False) -> tuple[Any, int]:
    """The JSON value at ``start`` and where it ends.

    Stricter than ``json.loads``: NaN and infinity, a key given twice, a lone surrogate (unless
    ``lone_surrogates``) and nesting over 200 levels are refused. Raises InputError that says what is wrong and where.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise InputError(_explained(error)) from None
    except RecursionError:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels") from None
    except InputError:
        raise
    except ValueError:  # int() refuses more than sys.get_int_max_str_digits() digits
        raise InputError("a whole number has too many digits; write it as a string") from None
    brackets = text.count("{", start, end) + text.count("[", start, end)
    if brackets > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise InputError(f"nested deeper than {MAX_DEPTH} levels")
    if not lone_surrogates and (text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0):
        _refuse_lone_surrogates(value)
    return value, end


def _explained(error: json.JSONDecodeError) -> str:
    character = error.doc[error.pos : error.pos + 1]
    where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    if character == "\x00":
        return f"not JSON: a NUL byte at {where}"
    if character == "\ufeff":
        return f"not JSON: a byte order mark at {where}, inside the file"
    if not character:
        return f"not JSON: it ends too early, at {where}"
    return f"not JSON: {error.msg.removesuffix(' at')} at {where}"


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        escape = ascii(error.object[error.start])[1:-1]
        raise InputError(f"a string has the lone surrogate {escape}, which is not a character") from None
