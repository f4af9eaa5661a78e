"""Plain values to JSON text: what crosses the border between a program and its judge. See ``decoding``.

None, booleans, numbers, text and lists are themselves in JSON. Everything else is an object with one key, the
tag: ``{"tuple": [1, 2]}``. There is no pickle and no evaluation; a value of a subclass becomes its base, read by
the base's own methods, for the object may come from hostile code.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from types import MappingProxyType
from typing import Any

from .decoding import ARRAY_TYPE, ATOMS, DIGITS, EXPONENT, ITEMS, TEXT, loads

DEPTH = 128
"""Levels of nesting."""
_LARGE = 10**DIGITS
"""From here on an integer is tagged, since JSON reads at most 4,300 digits."""
_ITERATORS: tuple[type, ...] = (map, zip, filter, enumerate, reversed)


class EncodingError(ValueError):
    """The value cannot be handed over; the message says why in a few words."""


class ForeignError(EncodingError):
    """The value is, or holds, what is not plain data."""


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


def encode(value: Any) -> Any:
    """The value in JSON's own types. Raises EncodingError."""
    kind = type(value)
    if kind is not int and kind in ATOMS:
        return value
    try:
        return _Encoder().encode(value, DEPTH)
    except RecursionError:
        raise EncodingError("the value is nested too deeply") from None


def plain(value: Any) -> Any:
    """A copy of the value with exact types, as it is when it has crossed the border. Raises EncodingError."""
    return value if type(value) in ATOMS else loads(dumps(value))


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
        if kind in ATOMS:
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
        if kinds <= ATOMS and (int not in kinds or _small(items, kinds)):
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
        own = kind.__module__ in ("builtins", "itertools", "collections", "_collections")
        if own and name.endswith(("iterator", "generator")):
            return {"iterator": self.items(value, depth)}
        if kind in _ITERATORS or kind.__module__ == "itertools":
            return {"iterator": self.items(value, depth)}
        raise ForeignError(f"a value of type {name}, which is not plain data")

    def _array(self, numpy: Any, value: Any) -> Any:
        array = numpy.ndarray.view(value, numpy.ndarray)
        kind = array.dtype.str
        if not ARRAY_TYPE.fullmatch(kind):
            raise ForeignError(f"an array of {array.dtype}, which is not plain data")
        flat = array.ravel().tolist()
        return {"array": [kind, list(array.shape), self._list(flat, DEPTH)]}


def _small(items: list[Any], kinds: set[type]) -> bool:
    if kinds == {int}:
        return bool(min(items) > -_LARGE and max(items) < _LARGE)
    return all(-_LARGE < item < _LARGE for item in items if type(item) is int)


def _integer(value: Any) -> int:
    number: int = int.__index__(value)
    if not -_LARGE < number < _LARGE:
        raise EncodingError(f"a {type_name(value)} of more than {DIGITS} digits")
    return number


def _of_fraction(_: _Encoder, value: Any, depth: int) -> Any:
    read = Fraction.__dict__
    return {"fraction": [_integer(read[name].__get__(value)) for name in ("_numerator", "_denominator")]}


def _of_decimal(_: _Encoder, value: Any, depth: int) -> Any:
    if Decimal.is_finite(value) and abs(Decimal.adjusted(value)) > EXPONENT:
        raise EncodingError(f"a decimal with an exponent of more than {EXPONENT}")
    text = Decimal.__str__(value)
    if len(text) > DIGITS:
        raise EncodingError(f"a decimal of more than {DIGITS} characters")
    return {"decimal": text}


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
    (Decimal, _of_decimal),
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
