"""Plain values as JSON text: what crosses the border between a program and those who judge it.

None, booleans, numbers, text and lists are themselves in JSON. Everything else is an object with one key, the
tag: ``{"tuple": [1, 2]}``. There is no pickle and no evaluation; a value of a subclass becomes its base, read by
the base's own methods, for the object may come from hostile code. Reading is safe for whatever text comes.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from math import prod
from types import MappingProxyType
from typing import Any

DEPTH = 128
"""Levels of nesting."""
ITEMS = 1_000_000
"""Items of all containers of a value together."""
TEXT = 8 << 20
"""Bytes of one value as text."""
_DIGITS = 4000
"""Decimal digits of an integer that goes as JSON; a longer one is tagged, for JSON reads at most 4,300."""
_LARGE = 10**_DIGITS
_HEX_DIGITS = 1_000_000
_COLLISIONS = 1_000_000
"""Comparisons that keys with equal hashes may cost, in one value: a hostile set of such keys takes quadratic time.
"""

_ATOMS = frozenset({type(None), bool, int, float, str})
_ITERATORS: tuple[type, ...] = (map, zip, filter, enumerate, reversed)
_ARRAY_TYPE = re.compile(r"[<>|=][biufcU]\d{1,4}")


class EncodingError(ValueError):
    """The value cannot be handed over; the message says why in a few words."""


class ForeignError(EncodingError):
    """The value is, or holds, what is no plain data."""


class DecodingError(ValueError):
    """The text is no value."""


def dumps(value: Any) -> bytes:
    """The value as one line of JSON, without its end.

    Raises EncodingError for what is not plain data, nested too deeply or too large.

    >>> dumps([1, (2.5, "x"), {3: None}])
    b'[1, {"tuple": [2.5, "x"]}, {"dict": [3, null]}]'
    """
    text = json.dumps(encode(value))
    if len(text) > TEXT:
        raise EncodingError(f"a value of {len(text)} bytes; at most {TEXT} can be handed over")
    return text.encode("ascii")


def loads(text: bytes, *, arrays: bool = False) -> Any:
    """The value of one line of JSON. Raises DecodingError for anything else, never another error.

    An array of numpy becomes nested lists; with ``arrays`` it becomes one again where numpy is loaded.

    >>> loads(b'[1, {"tuple": [2.5, "x"]}, {"dict": [3, null]}]')
    [1, (2.5, 'x'), {3: None}]
    """
    if len(text) > TEXT or text.count(b"[") + text.count(b"{") > 2 * ITEMS:
        raise DecodingError("the value is too large")
    _patience.left = _COLLISIONS
    try:
        return (_read_with_arrays if arrays else _read)(text.decode("ascii"))
    except DecodingError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError) as error:
        raise DecodingError(f"no value: {type(error).__name__}") from None


def encode(value: Any) -> Any:
    """The value in JSON's own types. Raises EncodingError."""
    kind = type(value)
    if kind is not int and kind in _ATOMS:
        return value
    try:
        return _Encoder().encode(value, DEPTH)
    except RecursionError:
        raise EncodingError("the value is nested too deeply") from None


def plain(value: Any) -> Any:
    """A copy of the value with exact types, as it is when it has crossed the border. Raises EncodingError."""
    return value if type(value) in _ATOMS else loads(dumps(value))


def type_name(value: object) -> str:
    """The name of the value's type, whatever its metaclass says."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return str.__str__(name)[:80]


class _Encoder:
    """Counts the items of one value."""

    def __init__(self) -> None:
        self.left = ITEMS

    def encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is int:
            return value if -_LARGE < value < _LARGE else {"int": hex(value)}
        if kind in _ATOMS:
            return value
        if depth == 0:
            raise EncodingError(f"the value is nested more than {DEPTH} levels deep")
        if kind is list:
            return self._list(value, depth)
        if kind is tuple:
            return {"tuple": self._list(list(value), depth)}
        if kind is dict:
            return {"dict": self._pairs(value.items(), depth)}
        for base, encoder in _BASES:
            if issubclass(kind, base):
                return encoder(self, value, depth)
        return self._foreign(value, kind, depth)

    def _list(self, items: list[Any], depth: int) -> list[Any]:
        self.left -= len(items)
        if self.left < 0:
            raise EncodingError(f"the value has more than {ITEMS} items")
        kinds = set(map(type, items))
        if kinds <= _ATOMS and (int not in kinds or _small(items, kinds)):
            return items
        encode = self.encode
        return [encode(item, depth - 1) for item in items]

    def items(self, items: Iterable[Any], depth: int) -> list[Any]:
        return self._list(list(islice(items, self.left + 1)), depth)

    def _pairs(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
        flat: list[Any] = []
        for key, value in pairs:
            flat.append(key)
            flat.append(value)
        return self._list(flat, depth)

    def pairs(self, value: Any, depth: int) -> Any:
        return {"dict": self._pairs(dict.items(value), depth)}

    def _foreign(self, value: Any, kind: type, depth: int) -> Any:
        """Arrays and scalars of numpy, and whatever else can only be walked through once."""
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            if issubclass(kind, numpy.generic):
                return self.encode(numpy.generic.item(value), depth - 1)
            if issubclass(kind, numpy.ndarray):
                return self._array(numpy, value)
        name = type_name(value)
        if kind.__module__ in ("builtins", "itertools") and name.endswith(("iterator", "generator")):
            return {"iterator": self.items(value, depth)}
        if kind in _ITERATORS or kind.__module__ == "itertools":
            return {"iterator": self.items(value, depth)}
        raise ForeignError(f"a value of type {name}, which is no plain data")

    def _array(self, numpy: Any, value: Any) -> Any:
        array = numpy.ndarray.view(value, numpy.ndarray)
        kind = array.dtype.str
        if not _ARRAY_TYPE.fullmatch(kind):
            raise ForeignError(f"an array of {array.dtype}, which is no plain data")
        flat = array.ravel().tolist()
        return {"array": [kind, list(array.shape), self._list(flat, DEPTH)]}


def _small(items: list[Any], kinds: set[type]) -> bool:
    if kinds == {int}:
        return bool(min(items) > -_LARGE and max(items) < _LARGE)
    return all(-_LARGE < item < _LARGE for item in items if type(item) is int)


def _integer(value: Any) -> int:
    number: int = int.__index__(value)
    if not -_LARGE < number < _LARGE:
        raise EncodingError(f"a {type_name(value)} of more than {_DIGITS} digits")
    return number


def _of_fraction(_: _Encoder, value: Any, depth: int) -> Any:
    read = Fraction.__dict__
    return {"fraction": [_integer(read[name].__get__(value)) for name in ("_numerator", "_denominator")]}


def _offset(value: Any) -> Any:
    offset = value.utcoffset()
    return None if offset is None else datetime.timedelta.total_seconds(offset)


def _fields(value: Any, base: type, names: str) -> list[Any]:
    return [_integer(getattr(base, name).__get__(value)) for name in names.split()]


def _of_datetime(_: _Encoder, value: Any, depth: int) -> Any:
    names = "year month day hour minute second microsecond fold"
    return {"datetime": [*_fields(value, datetime.datetime, names), _offset(value)]}


def _of_time(_: _Encoder, value: Any, depth: int) -> Any:
    return {"time": [*_fields(value, datetime.time, "hour minute second microsecond fold"), _offset(value)]}


_BASES: tuple[tuple[type, Callable[[_Encoder, Any, int], Any]], ...] = (
    (str, lambda _, v, d: str.__str__(v)),
    (int, lambda e, v, d: e.encode(int.__index__(v), d)),
    (float, lambda _, v, d: float.__float__(v)),
    (list, lambda e, v, d: e.items(list.__iter__(v), d)),
    (tuple, lambda e, v, d: {"tuple": e.items(tuple.__iter__(v), d)}),
    (dict, lambda e, v, d: e.pairs(v, d)),
    (set, lambda e, v, d: {"set": e.items(set.__iter__(v), d)}),
    (frozenset, lambda e, v, d: {"frozenset": e.items(frozenset.__iter__(v), d)}),
    (bytes, lambda _, v, d: {"bytes": bytes.hex(v)}),
    (bytearray, lambda _, v, d: {"bytearray": bytearray.hex(v)}),
    (complex, lambda _, v, d: {"complex": [complex.real.__get__(v), complex.imag.__get__(v)]}),
    (range, lambda e, v, d: {"range": [e.encode(part, d) for part in (v.start, v.stop, v.step)]}),
    (deque, lambda e, v, d: {"deque": e.items(deque.__iter__(v), d)}),
    (type({}.keys()), lambda e, v, d: {"keys": e.items(iter(v), d)}),
    (type({}.values()), lambda e, v, d: {"values": e.items(iter(v), d)}),
    (type({}.items()), lambda e, v, d: {"items": e.items(iter(v), d)}),
    (Decimal, lambda _, v, d: {"decimal": Decimal.__str__(v)}),
    (Fraction, _of_fraction),
    (datetime.datetime, _of_datetime),
    (datetime.date, lambda _, v, d: {"date": _fields(v, datetime.date, "year month day")}),
    (datetime.time, _of_time),
    (
        datetime.timedelta,
        lambda _, v, d: {"timedelta": _fields(v, datetime.timedelta, "days seconds microseconds")},
    ),
    (type(...), lambda _, v, d: {"ellipsis": None}),
    (MappingProxyType, lambda e, v, d: e.encode(dict(v), d)),
)


def _decode(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) != 1:
        raise DecodingError("an object with other than one key")
    tag, content = pairs[0]
    decoder = _TAGS.get(tag)
    if decoder is None:
        raise DecodingError("an unknown tag")
    return decoder(content)


def _decode_with_arrays(pairs: list[tuple[str, Any]]) -> Any:
    return _array(pairs[0][1]) if len(pairs) == 1 and pairs[0][0] == "array" else _decode(pairs)


def _listed(content: Any) -> list[Any]:
    if type(content) is not list:
        raise DecodingError("no list where one belongs")
    return content


class _Patience(threading.local):
    """What is left of ``_COLLISIONS`` for the value that this thread reads."""

    left = _COLLISIONS


_patience = _Patience()


def distinct(content: Any) -> list[Any]:
    """A list that may be made a set: not too many of its items have one hash. Raises DecodingError."""
    items = _listed(content)
    if len(items) > 50:
        hashes = [hash(item) for item in items]
        if len(set(hashes)) < len(items) - 25:
            counts = Counter(hashes)
            _patience.left -= sum(
                counts[known] * _size(item)
                for known, item in zip(hashes, items, strict=True)
                if counts[known] > 1
            )
            if _patience.left < 0:
                raise DecodingError("too many keys with one hash")
    return items


def _size(item: Any) -> int:
    """How long it may take to find that two of its kind are equal."""
    return 1 + sum(map(_size, item)) if isinstance(item, tuple | frozenset) else 1


def _set(content: Any) -> set[Any]:
    items = distinct(content)
    made = set(items)
    if len(made) != len(items):
        raise DecodingError("a set with an item twice")
    return made


def _dict(content: Any) -> dict[Any, Any]:
    items = _listed(content)
    keys = distinct(items[::2])
    made = dict(zip(keys, items[1::2], strict=True))
    if len(made) != len(keys):
        raise DecodingError("a dict with a key twice")
    return made


def _int(content: Any) -> int:
    if type(content) is not str or len(content) > _HEX_DIGITS:
        raise DecodingError("no integer, or one too long")
    return int(content, 16)


def _numbers(content: Any, count: int) -> list[Any]:
    numbers = _listed(content)
    if len(numbers) != count or not all(type(n) in (int, float, type(None)) for n in numbers):
        raise DecodingError("not the numbers that belong here")
    return numbers


def _decimal(content: Any) -> Decimal:
    if type(content) is not str or len(content) > _DIGITS:
        raise DecodingError("no decimal, or one too long")
    try:
        return Decimal(content)
    except InvalidOperation:
        raise DecodingError("no decimal") from None


def _fraction(content: Any) -> Fraction:
    numerator, denominator = _numbers(content, 2)
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
    if type(kind) is not str or not _ARRAY_TYPE.fullmatch(kind) or len(sizes) > 32:
        raise DecodingError("no array")
    if not set(map(type, sizes)) <= {int} or min(sizes, default=0) < 0 or prod(sizes) != len(_listed(flat)):
        raise DecodingError("an array of another shape")
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
    if int(kind[2:]) * len(flat) > TEXT or not set(map(type, flat)) <= _ATOMS | {complex}:
        raise DecodingError("an array too large, or of other things than numbers and text")
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
    "deque": lambda content: deque(_listed(content)),
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
