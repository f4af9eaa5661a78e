"""Whether an answer and a ground truth that were read have one value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from guerdon.rewards._math_expressions import is_name
from guerdon.rewards._math_forms import ONE, Form, UnknownError, divided, minus, negative, symbol, variables
from guerdon.rewards._math_numeric import real
from guerdon.rewards._math_quantities import (
    STRICT,
    Rules,
    equal_forms,
    equal_quantities,
    proportional,
)
from guerdon.rewards._math_reading import as_interval
from guerdon.rewards._math_values import (
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
)

_MAX_UNPAIRED = 40
_CHAIN = frozenset({"=", "≈"})
_LESS, _MORE = frozenset({"<", "<="}), frozenset({">", ">="})
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_HALF_DAY = 720


def equal(mine: Value, gold: Value, rules: Rules = STRICT) -> bool | None:
    """Whether an answer equals a ground truth under some rules; None where this cannot be told.

    >>> from guerdon.rewards._math_reading import read
    >>> equal(read("2, 1"), read("1, 2")), equal(read("(2, 1)"), read("(1, 2)"))
    (True, False)
    """
    if isinstance(mine, Relation) or isinstance(gold, Relation):
        return _equal_relations(mine, gold, rules)
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


def _every(results: Iterable[bool | None]) -> bool | None:
    told: bool | None = True
    for result in results:
        if result is False:
            return False
        told = None if result is None else told
    return told


def _single(value: Value, other: Value) -> Value:
    """A set of one element stands for the element, and a set without any for the empty set."""
    if isinstance(value, Collection) and value.kind == "set":
        if not value.items:
            return Word("emptyset")
        if len(value.items) == 1 and not isinstance(other, Collection | Union):
            return value.items[0]
    return value


# Collections.


def _equal_collections(mine: Collection, gold: Collection, rules: Rules) -> bool | None:
    kinds = {mine.kind, gold.kind}
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
        if first.signs in (("=",), ("∈",)) and _is_name(name):
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
    return _every(equal(one, other, rules) for one, other in zip(mine, gold, strict=True))


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
    told: bool | None = True
    for item in left:
        results = [equal(item, other, rules) for other in right]
        if True in results:
            del right[results.index(True)]
        elif None in results:
            told = None
            del right[results.index(None)]
        else:
            return False
    return told


# Intervals, matrices, ratios, times, bases.


def _equal_intervals(mine: Interval | None, gold: Interval | None) -> bool | None:
    if mine is None or gold is None or mine.closed != gold.closed:
        return False
    return _every([equal_forms(mine.low, gold.low), equal_forms(mine.high, gold.high)])


def _equal_unions(mine: Value, gold: Value, rules: Rules) -> bool | None:
    first, second = _parts(mine), _parts(gold)
    return False if first is None or second is None else _in_any_order(first, second, rules)


def _parts(value: Value) -> Sequence[Value] | None:
    if isinstance(value, Union):
        return value.parts
    if isinstance(value, Collection) and value.kind == "list":
        found = [
            _solutions(item) if isinstance(item, Relation) else as_interval(item) for item in value.items
        ]
        return None if None in found else [item for item in found if item is not None]
    interval = as_interval(value)
    return None if interval is None else [interval]


def _equal_matrices(mine: Value, gold: Value, rules: Rules) -> bool | None:
    first, second = _rows(mine, rules), _rows(gold, rules)
    if first is None or second is None or [len(row) for row in first] != [len(row) for row in second]:
        return False
    return _every(_in_order(one, other, rules) for one, other in zip(first, second, strict=True))


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
        return _every(
            equal_forms(divided(one, first_parts[-1]), divided(other, second_parts[-1]))
            for one, other in zip(first_parts[:-1], second_parts[:-1], strict=True)
        )
    except ArithmeticError:
        return False


def _proportions(value: Value) -> list[Form] | None:
    from guerdon.rewards._math_forms import constant

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
    return Clock(hours * 60 + minutes, "") if 0 <= hours < 24 and 0 <= minutes < 60 else None


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


def _equal_relations(mine: Value, gold: Value, rules: Rules) -> bool | None:
    mine, gold = _member(mine), _member(gold)
    if not isinstance(gold, Relation):
        return _equal_to_value(mine, gold, rules)
    if isinstance(mine, Relation):
        return _equal_as_relations(mine, gold, rules)
    if set(gold.signs) == {"="} and len(gold.sides) == 2:
        named = _assigned(gold)
        return False if named is None else equal(mine, named[1], rules)
    return _equal_unions(mine, solved, rules) if (solved := _solutions(gold)) is not None else False


def _member(value: Value) -> Value:
    """x ∈ S stands for S."""
    if isinstance(value, Relation) and value.signs == ("∈",):
        return value.sides[1]
    return value


def _is_name(value: Value) -> bool:
    return isinstance(value, Word) or (isinstance(value, Quantity) and is_name(value.form))


def _assigned(relation: Relation) -> tuple[Value, Value] | None:
    """Name and value of what a relation such as x = 7 or 7 = x assigns."""
    first, last = relation.sides[0], relation.sides[-1]
    if _is_name(first) and not (
        _is_name(last) and not isinstance(last, Word) and not isinstance(first, Word)
    ):
        return first, last
    if _is_name(last) and not _is_name(first):
        return last, first
    return (first, last) if _is_name(first) else None


def _equal_to_value(mine: Value, gold: Value, rules: Rules) -> bool | None:
    """A relation as the answer where the ground truth is a value: each link of a chain has to hold."""
    if not isinstance(mine, Relation):
        return equal(mine, gold, rules)
    if not set(mine.signs) <= _CHAIN:
        solved = _solutions(mine)
        return False if solved is None else _equal_unions(solved, gold, rules)
    sides = list(mine.sides)
    if "≈" in mine.signs:
        at = mine.signs.index("≈") + 1
        exact, rough = sides[:at], sides[at:]
        if all(_gives_name(side, gold) for side in exact):
            sides = [*exact, *rough]
        elif _agree(exact[-1], rough):
            sides = exact
        else:
            return False
    if len(sides) == 2 and _is_name(sides[1]) and not _gives_name(sides[0], gold) and not _has_name(gold):
        sides.reverse()
    links = [side for at, side in enumerate(sides[:-1]) if not _is_named(sides, at, gold)]
    return _every(equal(side, gold, rules) for side in [sides[-1], *links])


def _is_named(sides: Sequence[Value], at: int, gold: Value) -> bool:
    """Whether a side of a chain need not equal the ground truth, since it only says what it is that has it."""
    if at:
        return _is_name(sides[at])
    return _gives_name(sides[0], gold) and (len(sides) > 2 or not _is_equation(sides[0], gold))


def _has_name(gold: Value) -> bool:
    return isinstance(gold, Word) or (isinstance(gold, Quantity) and bool(variables(gold.form)))


def _gives_name(side: Value, gold: Value) -> bool:
    """Whether a side only says what it is that has the value: it has a variable that the value has not."""
    if isinstance(side, Word):
        return True
    if not isinstance(side, Quantity):
        # (x, y) = (1, 2) gives names to both.
        return isinstance(side, Collection) and all(_gives_name(item, gold) for item in side.items)
    names = variables(side.form)
    if not isinstance(gold, Quantity) or not variables(gold.form):
        return is_name(side.form) or bool(names)
    is_short = len(side.form.over) == 1 and len(side.form.under) == 1
    return is_name(side.form) if names <= variables(gold.form) else is_short


def _is_equation(side: Value, gold: Value) -> bool:
    """Whether a side that is equal to the ground truth makes an equation to solve: 2x + 3 = 5, x - y = 0."""
    if not isinstance(side, Quantity) or not isinstance(gold, Quantity):
        return False
    return ONE in side.form.over or (not gold.form.over and len(side.form.over) > 1)


def _agree(exact: Value, rough: Sequence[Value]) -> bool:
    """Whether what follows ≈ is near to what stands before it."""
    from fractions import Fraction

    near = Rules(relative=Fraction(1, 100))
    return all(equal(side, exact, near) for side in rough)


def _equal_as_relations(mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    if set(gold.signs) == {"="}:
        if set(mine.signs) != {"="}:
            return False
        if len(gold.sides) > 2 or len(mine.sides) > 2:
            return _equal_chains(mine, gold, rules)
        return _equal_equations(mine, gold, rules)
    first, second = _ascending(mine), _ascending(gold)
    if first.signs == second.signs:
        result = _in_order(first.sides, second.sides, rules)
        if result is not False:
            return result
        if len(first.sides) == 2 and first.signs[0] in _LESS | {"!="}:
            forms = [_difference(each) for each in (first, second)]
            if forms[0] is not None and forms[1] is not None:
                is_proportional = proportional(forms[0], forms[1], positive=first.signs[0] != "!=")
                if is_proportional:
                    return True
    one, other = _solutions(mine), _solutions(gold)
    if one is None or other is None or _subject(mine) != _subject(gold):
        return False
    return _equal_intervals(one, other)


def _equal_chains(mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    """x = 3 + 4 = 7 against x = 7."""
    first, second = mine.sides[0], gold.sides[0]
    if len(gold.sides) == 2 and _is_name(second):
        if equal(first, second) is not True:
            return False
        return _equal_to_value(mine, gold.sides[1], rules)
    return _in_order(mine.sides, gold.sides, rules)


def _equal_equations(mine: Relation, gold: Relation, rules: Rules) -> bool | None:
    """Two equations: of one name and one value, or one a multiple of the other."""
    first, second = _assigned(mine), _assigned(gold)
    if first is not None and second is not None and equal(first[0], second[0]) is True:
        result = equal(first[1], second[1], rules)
        if result is not False:
            return result
    forms = _difference(mine), _difference(gold)
    if forms[0] is None or forms[1] is None:
        return mine.sides == gold.sides
    return proportional(forms[0], forms[1], positive=False)


def _difference(relation: Relation) -> Form | None:
    """The left side minus the right one, without what it is divided by."""
    left, right = relation.sides
    if not isinstance(left, Quantity) or not isinstance(right, Quantity):
        return None
    if left.is_percent or right.is_percent:
        return None
    try:
        return minus(left.form, right.form)
    except UnknownError:
        return None


def _ascending(relation: Relation) -> Relation:
    """A chain of inequalities from the smaller to the larger side."""
    if all(sign in _MORE for sign in relation.signs):
        signs = tuple(_TURNED[sign] for sign in reversed(relation.signs))
        return Relation(signs, tuple(reversed(relation.sides)))
    return relation


def _subject(relation: Relation) -> Value | None:
    """The variable that inequalities are about."""
    names = [side for side in relation.sides if _is_name(side)]
    return names[0] if len(names) == 1 else None


def _solutions(relation: Relation) -> Interval | None:
    """The interval that inequalities about one variable describe."""
    relation = _ascending(relation)
    sides = relation.sides
    if not all(sign in _LESS for sign in relation.signs) or len(sides) > 3:
        return None
    if (
        not all(isinstance(side, Quantity) and side.unit is None for side in sides)
        or _subject(relation) is None
    ):
        return None
    forms = [side.form for side in sides if isinstance(side, Quantity)]
    at = next(number for number, side in enumerate(sides) if _is_name(side))
    if len(forms) == 3:
        if at != 1:
            return None
        closed = (relation.signs[0] == "<=", relation.signs[1] == "<=")
        return Interval(forms[0], forms[2], closed)
    is_closed = relation.signs[0] == "<="
    if at == 0:
        return Interval(negative(symbol("oo")), forms[1], (False, is_closed))
    return Interval(forms[0], symbol("oo"), (is_closed, False))


def without_unit(value: Value) -> Value:
    """A value whose quantity has no unit."""
    return replace(value, unit=None) if isinstance(value, Quantity) else value
