"""JSON text to plain values: what a program or its judge wrote. Reading is safe for whatever text comes.

``encoding`` has the form. There is no pickle and no evaluation.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import prod
from typing import Any

ITEMS = 1_000_000
"""Items of all containers of a value together."""
TEXT = 8 << 20
"""Bytes of one value as text."""
ATOMS = frozenset({type(None), bool, int, float, str})
"""Types that JSON has itself."""
ARRAY_TYPE = re.compile(r"[<>|=][biufcU]\d{1,4}")
"""The numpy types that arrays may have."""
DIGITS = 4000
"""Decimal digits of a decimal."""
EXPONENT = 10_000
"""The largest power of ten in a decimal: ``round(Decimal("1e999999999"))`` would write out all of its digits."""
_HEX_DIGITS = 1_000_000
_COLLISIONS = 1_000_000
"""Comparisons that keys with equal hashes may cost: a hostile set of such keys takes quadratic time."""
_EXACT = 50_000
"""Decimals and fractions: Python compares them slowly with whole numbers."""
_CONVERSIONS = 10_000_000
"""Hexadecimal digits of integers times decimals and fractions, since comparing two of them converts the integer."""
_ROOM = 32 << 20
"""Bytes that sets and deques may have beyond their items: an empty one has many times its text's."""
_SET_BYTES = 216
_DEQUE_BYTES = 624


class DecodingError(ValueError):
    """The text is not a value."""


def loads(text: bytes, *, arrays: bool = False, first: bool = True) -> Any:
    """The value of one line of JSON. Raises DecodingError for anything else, never another error.

    An array of numpy becomes nested lists; with ``arrays`` it becomes one again where numpy is loaded. A line that
    is not the ``first`` of its program has what the lines before it left of the work that reading may cost.

    >>> loads(b'[1, {"tuple": [2.5, "x"]}, {"dict": [3, null]}]')
    [1, (2.5, 'x'), {3: None}]
    """
    if len(text) > TEXT or text.count(b"[") > ITEMS + 1 or text.count(b"{") > ITEMS + 1:
        raise DecodingError("the value is too large")
    if first:
        begin()
    try:
        return (_read_with_arrays if arrays else _read)(text.decode("ascii"))
    except DecodingError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError) as error:
        raise DecodingError(f"not a value: {type(error).__name__}") from None


def _decode(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) != 1:
        raise DecodingError("expected an object with one key")
    tag, content = pairs[0]
    decoder = _TAGS.get(tag)
    if decoder is None:
        raise DecodingError("an unknown tag")
    return decoder(content)


def _decode_with_arrays(pairs: list[tuple[str, Any]]) -> Any:
    return _array(pairs[0][1]) if len(pairs) == 1 and pairs[0][0] == "array" else _decode(pairs)


def _listed(content: Any) -> list[Any]:
    if type(content) is not list:
        raise DecodingError("expected a list")
    return content


class _Patience(threading.local):
    """What is left for the values that this thread reads."""

    left = _COLLISIONS
    room = _ROOM
    digits = 0
    """Hexadecimal digits of integers so far."""
    exact = 0
    """Decimals and fractions so far."""

    def check(self) -> None:
        if self.room < 0:
            raise DecodingError("too many containers")
        if self.exact > _EXACT or self.digits * self.exact > _CONVERSIONS:
            raise DecodingError("too many decimals and fractions, or too large integers beside them")


_patience = _Patience()


def begin() -> None:
    """Has this thread read as if it had read nothing so far: what costs most is bounded in all."""
    _patience.__dict__.clear()


def distinct(content: Any) -> list[Any]:
    """A list that may be made a set: not too many of its items have one hash. Raises DecodingError."""
    items = _listed(content)
    if len(items) > 50:
        hashes = [hash(item) for item in items]
        if len(set(hashes)) < len(items) - 25:
            # Equal items cost nothing; text tells them apart, since no program knows what it hashes to.
            unique = list({(type(item), _spelled(item)): item for item in items}.values())
            hashes = [hash(item) for item in unique]
            counts = Counter(hashes)
            _patience.left -= sum(
                counts[known] * _size(item)
                for known, item in zip(hashes, unique, strict=True)
                if counts[known] > 1
            )
            if _patience.left < 0:
                raise DecodingError("too many keys with one hash")
    return items


def _spelled(item: Any) -> str:
    return hex(item) if isinstance(item, int) else repr(item)


def _size(item: Any) -> int:
    """How long it may take to find that two of its kind are equal."""
    if isinstance(item, tuple | frozenset):
        return 1 + sum(map(_size, item))
    if isinstance(item, int):
        return 1 + item.bit_length() // 10_000
    return 20 if isinstance(item, Decimal | Fraction) else 1


def _set(content: Any) -> set[Any]:
    items = distinct(content)
    _patience.room -= _SET_BYTES
    _patience.check()
    made = set(items)
    if len(made) != len(items):
        raise DecodingError("the set has an item twice")
    return made


def _dict(content: Any) -> dict[Any, Any]:
    items = _listed(content)
    keys = distinct(items[::2])
    made = dict(zip(keys, items[1::2], strict=True))
    if len(made) != len(keys):
        raise DecodingError("the dict has a key twice")
    return made


def _int(content: Any) -> int:
    if type(content) is not str or len(content) > _HEX_DIGITS:
        raise DecodingError(f"expected an integer of at most {_HEX_DIGITS} hexadecimal digits")
    _patience.digits += len(content)
    _patience.check()
    return int(content, 16)


def _deque(content: Any) -> deque[Any]:
    _patience.room -= _DEQUE_BYTES
    _patience.check()
    return deque(_listed(content))


def _numbers(content: Any, count: int) -> list[Any]:
    numbers = _listed(content)
    if len(numbers) != count or not all(type(n) in (int, float, type(None)) for n in numbers):
        raise DecodingError(f"expected {count} numbers")
    return numbers


def _decimal(content: Any) -> Decimal:
    if type(content) is not str or len(content) > DIGITS:
        raise DecodingError(f"expected a decimal of at most {DIGITS} characters")
    try:
        made = Decimal(content)
    except InvalidOperation:
        raise DecodingError("no decimal") from None
    if made.is_finite() and abs(made.adjusted()) > EXPONENT:
        raise DecodingError(f"expected a decimal with an exponent of at most {EXPONENT}")
    _patience.exact += 1
    _patience.check()
    return made


def _fraction(content: Any) -> Fraction:
    numerator, denominator = _numbers(content, 2)
    _patience.exact += 1
    _patience.check()
    return Fraction(numerator, denominator)


def _zone(offset: Any) -> dict[str, Any]:
    return {} if offset is None else {"tzinfo": datetime.timezone(datetime.timedelta(seconds=offset))}


def _datetime(content: Any) -> datetime.datetime:
    *parts, fold, offset = _numbers(content, 9)
    return datetime.datetime(*parts, fold=fold, **_zone(offset))


def _time(content: Any) -> datetime.time:
    *parts, fold, offset = _numbers(content, 6)
    return datetime.time(*parts, fold=fold, **_zone(offset))


def _array_parts(content: Any) -> tuple[str, list[int], list[Any]]:
    kind, shape, flat = _listed(content)
    sizes: list[int] = _listed(shape)
    if type(kind) is not str or not ARRAY_TYPE.fullmatch(kind) or len(sizes) > 32:
        raise DecodingError("expected an array")
    if not set(map(type, sizes)) <= {int} or min(sizes, default=0) < 0 or prod(sizes) != len(_listed(flat)):
        raise DecodingError("the items of the array do not fit its shape")
    return kind, sizes, flat


def _nested(content: Any) -> Any:
    _, sizes, flat = _array_parts(content)
    if 0 in sizes:
        return []
    for size in reversed(sizes[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat if sizes else flat[0]


def _array(content: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return _nested(content)
    kind, sizes, flat = _array_parts(content)
    if int(kind[2:]) * len(flat) > TEXT or not set(map(type, flat)) <= ATOMS | {complex}:
        raise DecodingError(f"expected an array of numbers or text of at most {TEXT} bytes")
    return numpy.array(flat, dtype=kind).reshape(sizes)


def _items_view(content: Any) -> Any:
    pairs = [pair for pair in _listed(content) if type(pair) is tuple and len(pair) == 2]
    return dict(zip(distinct([key for key, _ in pairs]), [value for _, value in pairs], strict=True)).items()


def _constant(content: Any) -> Any:
    if content is not None:
        raise DecodingError("an unknown constant")
    return ...


_TAGS: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "tuple": lambda content: tuple(_listed(content)),
    "dict": _dict,
    "set": _set,
    "frozenset": lambda content: frozenset(_set(content)),
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": lambda content: complex(*_numbers(content, 2)),
    "range": lambda content: range(*_numbers(content, 3)),
    "deque": _deque,
    "keys": lambda content: dict.fromkeys(distinct(content)).keys(),
    "values": lambda content: dict(enumerate(_listed(content))).values(),
    "items": _items_view,
    "iterator": lambda content: iter(_listed(content)),
    "decimal": _decimal,
    "fraction": _fraction,
    "datetime": _datetime,
    "date": lambda content: datetime.date(*_numbers(content, 3)),
    "time": _time,
    "timedelta": lambda content: datetime.timedelta(*_numbers(content, 3)),
    "ellipsis": _constant,
    "array": _nested,
}

# One reader of each kind: json.loads would make a new one for each line.
_read = json.JSONDecoder(object_pairs_hook=_decode).decode
_read_with_arrays = json.JSONDecoder(object_pairs_hook=_decode_with_arrays).decode
