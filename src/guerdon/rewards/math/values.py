"""What an answer can be: a quantity, a collection, an interval, a matrix, a relation, a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.rewards.math.normal_form import NormalForm, Rational
from guerdon.rewards.math.units import Unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression, with what stands around it."""

    form: NormalForm
    is_decimal: bool = False
    """Whether a number in it was written with a decimal point, and so may be rounded."""
    places: int | None = None
    """The digits after the decimal point, where it is a decimal and nothing else."""
    is_percent: bool = False
    unit: Unit | None = None
    scale: Rational = 1
    """A million, a dozen, or the size of a unit that was converted; the form has it already."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Several values: a ``list`` without brackets, a ``set`` in braces, a ``tuple``, a ``vector``."""

    kind: str
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """From one number to another; ``closed`` says for each end whether it belongs to it."""

    low: NormalForm
    high: NormalForm
    closed: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Union:
    """Several intervals and single points taken together."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Expressions with signs such as ``=`` and ``<`` between them."""

    signs: tuple[str, ...]
    sides: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """Words, or a single letter that is meant as text; equal only to themselves."""

    text: str


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a base, such as 4210 in base 5."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of the day; ``half`` is am, pm or empty."""

    minutes: int
    half: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numbers in proportion, such as 1:2:3."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """An ellipsis."""


Value = Quantity | Collection | Interval | Union | Matrix | Relation | Word | Based | Clock | Ratio | Dots


def quantities(value: Value) -> Iterator[Quantity]:
    """All quantities inside of a value."""
    if isinstance(value, Quantity):
        yield value
    elif isinstance(value, Collection):
        for item in value.items:
            yield from quantities(item)
    elif isinstance(value, Relation):
        for side in value.sides:
            yield from quantities(side)


def as_interval(value: Value) -> Interval | None:
    """The open interval that a pair may be."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, Collection) and value.kind == "tuple" and len(value.items) == 2:
        low, high = value.items
        if isinstance(low, Quantity) and isinstance(high, Quantity):
            return Interval(low.form, high.form, (False, False))
    return None
