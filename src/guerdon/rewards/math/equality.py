"""Whether an answer and a ground truth that were read have one value."""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.rewards.math.normal_form import NormalForm, constant, divided
from guerdon.rewards.math.numeric import real
from guerdon.rewards.math.quantities import (
    STRICT,
    Rules,
    equal_forms,
    equal_quantities,
    every,
)
from guerdon.rewards.math.relations import equal_relations, is_named, solutions, spelled
from guerdon.rewards.math.values import (
    Based,
    Clock,
    Collection,
    Dots,
    Interval,
    Matrix,
    Quantity,
    Ratio,
    Relation,
    Union,
    Value,
    Word,
    as_interval,
)
from guerdon.rewards.math.words import EMPTY

_MAX_UNPAIRED = 40
_HALF_DAY = 720


def equal(mine: Value, gold: Value, rules: Rules = STRICT) -> bool | None:
    """Whether an answer equals a ground truth under some rules; None where this cannot be decided.

    >>> from guerdon.rewards.math.reading import read
    >>> equal(read("2, 1"), read("1, 2")), equal(read("(2, 1)"), read("(1, 2)"))
    (True, False)
    """
    if isinstance(mine, Relation) or isinstance(gold, Relation):
        return equal_relations(equal, mine, gold, rules)
    mine, gold = _single(mine, gold), _single(gold, mine)
    if isinstance(mine, Quantity) and isinstance(gold, Quantity):
        return equal_quantities(mine, gold, rules)
    if isinstance(mine, Collection) and isinstance(gold, Collection):
        return _equal_collections(mine, gold, rules)
    if isinstance(mine, Union) or isinstance(gold, Union):
        return _equal_unions(mine, gold, rules)
    if isinstance(mine, Interval) or isinstance(gold, Interval):
        return _equal_intervals(as_interval(mine), as_interval(gold))
    if isinstance(mine, Matrix) or isinstance(gold, Matrix):
        return _equal_matrices(mine, gold, rules)
    if isinstance(mine, Ratio) or isinstance(gold, Ratio):
        return _equal_ratios(mine, gold, rules)
    if isinstance(mine, Clock) and isinstance(gold, Clock):
        return _equal_times(mine, gold)
    if isinstance(gold, Based):
        return _equal_based(mine, gold)
    if isinstance(mine, Based) and mine.base == 10 and isinstance(gold, Quantity):
        return gold.form.rational == int(mine.digits)
    return mine == gold if isinstance(mine, Word | Dots) else False


def _single(value: Value, other: Value) -> Value:
    """A set of one element stands for the element, and a set without any for the empty set."""
    if isinstance(value, Collection) and value.kind == "set":
        if not value.items:
            return EMPTY
        if len(value.items) == 1 and not isinstance(other, Collection | Union):
            return value.items[0]
    return value


# Collections.


def _equal_collections(mine: Collection, gold: Collection, rules: Rules) -> bool | None:
    kinds = {mine.kind, gold.kind}
    if (order := _names(gold) or _names(mine)) is not None and _names(mine) != _names(gold):
        # Names stand beside the values of one only: the values of the other have the order of the names.
        return _in_order(_by_name(mine, order), _by_name(gold, order), rules)
    if kinds <= {"list", "set"}:
        has_dots = any(isinstance(item, Dots) for item in (*mine.items, *gold.items))
        first, second = _unnamed(mine.items), _unnamed(gold.items)
        if rules.order_matters or has_dots:
            return _in_order(first, second, rules)
        if kinds == {"set"}:
            first, second = _distinct(first), _distinct(second)
        return _in_any_order(first, second, rules)
    if "set" in kinds:
        return False
    if kinds == {"tuple", "vector"} and not rules.is_tolerant:
        return False
    # Without its brackets a tuple is understood, unless it might be an interval.
    if mine.kind == "list" and not rules.is_tolerant and _may_be_interval(gold):
        return False
    return _in_order(mine.items, gold.items, rules)


def _names(values: Collection) -> list[str] | None:
    """The names, in order, where each of several values is given one of its own: x = 1, y = 2."""
    if values.kind != "list":
        return None
    names = [
        spelled(item.sides[0])
        for item in values.items
        if isinstance(item, Relation) and item.signs == ("=",) and is_named(item.sides[0])
    ]
    if len(names) != len(values.items) or None in names or len(set(names)) != len(names):
        return None
    if len({name.partition("_")[0] for name in names if name}) == 1:
        return None  # the roots x_1 and x_2 have no order
    return sorted(name for name in names if name is not None)


def _by_name(values: Collection, order: Sequence[str]) -> Sequence[Value]:
    """The values in the order of their names; as they are where they have none."""
    if _names(values) is None:
        return values.items
    named = {spelled(item.sides[0]): item.sides[1] for item in values.items if isinstance(item, Relation)}
    return [named[name] for name in order if name in named]


def _may_be_interval(pair: Collection) -> bool:
    interval = as_interval(pair)
    if interval is None:
        return False
    low, high = real(interval.low), real(interval.high)
    return low is None or high is None or bool(low < high)


def _unnamed(items: Sequence[Value]) -> Sequence[Value]:
    """In x = 1, 2 the name stands for both."""
    first = items[0]
    if isinstance(first, Relation) and not any(isinstance(item, Relation) for item in items[1:]):
        name, value = first.sides[0], first.sides[-1]
        if first.signs in (("=",), ("∈",)) and is_named(name):
            return (value, *items[1:])
    return items


def _distinct(items: Sequence[Value]) -> Sequence[Value]:
    kept: list[Value] = []
    for item in items[:_MAX_UNPAIRED]:
        if not any(equal(item, other) for other in kept):
            kept.append(item)
    return [*kept, *items[_MAX_UNPAIRED:]]


def _in_order(mine: Sequence[Value], gold: Sequence[Value], rules: Rules) -> bool | None:
    if len(mine) != len(gold):
        return False
    return every(equal(one, other, rules) for one, other in zip(mine, gold, strict=True))


def _in_any_order(mine: Sequence[Value], gold: Sequence[Value], rules: Rules) -> bool | None:
    if len(mine) != len(gold):
        return False
    left, right = list(mine), list(gold)
    for item in mine:
        if item in right:  # spelled alike
            right.remove(item)
            left.remove(item)
    if len(left) > _MAX_UNPAIRED:
        return False
    decided: bool | None = True
    for item in left:
        results = [equal(item, other, rules) for other in right]
        if True in results:
            del right[results.index(True)]
        elif None in results:
            decided = None
            del right[results.index(None)]
        else:
            return False
    return decided


# Intervals, matrices, ratios, times, bases.


def _equal_intervals(mine: Interval | None, gold: Interval | None) -> bool | None:
    if mine is None or gold is None or mine.closed != gold.closed:
        return False
    return every([equal_forms(mine.low, gold.low), equal_forms(mine.high, gold.high)])


def _equal_unions(mine: Value, gold: Value, rules: Rules) -> bool | None:
    first, second = _parts(mine), _parts(gold)
    return False if first is None or second is None else _in_any_order(first, second, rules)


def _parts(value: Value) -> Sequence[Value] | None:
    if isinstance(value, Union):
        return value.parts
    if isinstance(value, Collection) and value.kind == "list":
        found = [solutions(item) if isinstance(item, Relation) else as_interval(item) for item in value.items]
        return None if None in found else [item for item in found if item is not None]
    interval = as_interval(value)
    return None if interval is None else [interval]


def _equal_matrices(mine: Value, gold: Value, rules: Rules) -> bool | None:
    first, second = _rows(mine, rules), _rows(gold, rules)
    if first is None or second is None or [len(row) for row in first] != [len(row) for row in second]:
        return False
    return every(_in_order(one, other, rules) for one, other in zip(first, second, strict=True))


def _rows(value: Value, rules: Rules) -> Sequence[Sequence[Value]] | None:
    """The rows of a matrix; a tuple is a column where this is tolerated, and so is a row."""
    if isinstance(value, Matrix):
        if rules.is_tolerant and len(value.rows) == 1:
            return [[item] for item in value.rows[0]]
        return value.rows
    if rules.is_tolerant and isinstance(value, Collection) and value.kind in ("tuple", "vector"):
        return [[item] for item in value.items]
    return None


def _equal_ratios(mine: Value, gold: Value, rules: Rules) -> bool | None:
    if isinstance(mine, Clock) or isinstance(gold, Clock):
        first, second = _time(mine), _time(gold)
        return False if first is None or second is None else _equal_times(first, second)
    first_parts, second_parts = _proportions(mine), _proportions(gold)
    if first_parts is None or second_parts is None or len(first_parts) != len(second_parts):
        return False
    try:
        return every(
            equal_forms(divided(one, first_parts[-1]), divided(other, second_parts[-1]))
            for one, other in zip(first_parts[:-1], second_parts[:-1], strict=True)
        )
    except ArithmeticError:
        return False


def _proportions(value: Value) -> list[NormalForm] | None:
    if isinstance(value, Quantity) and value.unit is None and not value.is_percent:
        return [value.form, constant(1)]
    if isinstance(value, Ratio) and all(
        isinstance(part, Quantity) and not part.is_percent for part in value.parts
    ):
        return [part.form for part in value.parts if isinstance(part, Quantity)]
    return None


def _time(value: Value) -> Clock | None:
    if isinstance(value, Clock):
        return value
    parts = _proportions(value) if isinstance(value, Ratio) else None
    numbers = [part.rational for part in parts or ()]
    if len(numbers) != 2 or any(number is None or number.denominator != 1 for number in numbers):
        return None
    hours, minutes = (int(number or 0) for number in numbers)
    # Minutes have two digits: those below ten were read as a time where they had.
    return Clock(hours * 60 + minutes, "") if 0 <= hours < 24 and 10 <= minutes < 60 else None


def _equal_times(mine: Clock, gold: Clock) -> bool:
    """Without am or pm a time of the day has 24 hours; the ground truth may leave open which half it means."""
    if not gold.half and mine.half:
        return mine.minutes % _HALF_DAY == gold.minutes % _HALF_DAY
    return _of_day(mine) == _of_day(gold)


def _of_day(clock: Clock) -> int:
    if not clock.half:
        return clock.minutes
    return clock.minutes % _HALF_DAY + _HALF_DAY * (clock.half == "p")


def _equal_based(mine: Value, gold: Based) -> bool:
    """Digits without a base are in the base of the ground truth."""
    if isinstance(mine, Based):
        return mine == gold
    if not isinstance(mine, Quantity) or mine.is_decimal:
        return False
    value = mine.form.rational
    return value is not None and value.denominator == 1 and gold.digits == str(value.numerator)


# Relations.
