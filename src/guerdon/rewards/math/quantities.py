"""Whether two quantities are equal: numbers, expressions, with units and percent signs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from guerdon.rewards.math.functions import UNKNOWN_FUNCTIONS
from guerdon.rewards.math.measures import as_measure
from guerdon.rewards.math.normal_form import (
    UNIT,
    NormalForm,
    UnknownError,
    atoms,
    constant,
    divided,
    lowered,
    minus,
    plus,
    quotient,
    symbol,
    times,
    variables,
)
from guerdon.rewards.math.numeric import approximate, differs
from guerdon.rewards.math.units import Unit
from guerdon.rewards.math.values import Quantity

DECIMALS = Fraction(1, 2_000_000)
RELATIVE = Fraction(1, 1000)
_SIGNIFICANT = 3
_DEGREE = Fraction(355, 113 * 180)
"""A degree in radians, near enough for counting digits."""
_HUNDRED = Fraction(100)


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as equal."""

    is_tolerant: bool = False
    relative: Fraction | None = None
    absolute: Fraction | None = None
    require_units: bool = False
    order_matters: bool = False
    asks_percent: bool = False


STRICT = Rules()
_SMALL_C, _LARGE_C = frozenset({("c", 1)}), frozenset({("C", 1)})


def every(results: Iterable[bool | None]) -> bool | None:
    decided: bool | None = True
    for result in results:
        if result is False:
            return False
        decided = None if result is None else decided
    return decided


def equal_forms(mine: NormalForm, gold: NormalForm) -> bool | None:
    """Whether two expressions are equal; None where this cannot be decided."""
    if mine.key() == gold.key():
        return True
    if mine.rational is not None and gold.rational is not None:
        return mine.rational == gold.rational
    try:
        difference = minus(mine, gold)
    except UnknownError:
        return None
    if not difference.over:
        return True
    if _independent(difference):
        return False
    return False if differs(difference.over) else None


def _independent(form: NormalForm) -> bool:
    """Whether the atoms are such that no sum of different products of them is zero."""
    has_pi = has_e = False
    for atom in atoms(form):
        is_function = isinstance(atom, tuple) and atom[0] == "call" and atom[1] in UNKNOWN_FUNCTIONS
        if (isinstance(atom, tuple) and not is_function) or atom == "log":
            return False
        has_pi, has_e = has_pi or atom == "pi", has_e or atom == "e"
    return not (has_pi and has_e)


def equal_quantities(mine: Quantity, gold: Quantity, rules: Rules) -> bool | None:
    """Whether an answer equals a ground truth; None where this cannot be decided."""
    mine = _with_constant(mine, gold)
    decided: bool | None = False
    for first, second in _readings(mine, gold):
        result = _equal_in_units(first, second, rules)
        if result:
            return True
        decided = None if result is None else decided
    return decided


def _with_constant(mine: Quantity, gold: Quantity) -> Quantity:
    """The answer with the ground truth's name for a constant of integration."""
    if _SMALL_C in mine.form.over and _LARGE_C in gold.form.over and len(gold.form.over) > 1:
        over = mine.form.over
        if mine.form.under == gold.form.under == UNIT and over[_SMALL_C] == gold.form.over[_LARGE_C] == 1:
            kept = {product: value for product, value in over.items() if product != _SMALL_C}
            if "C" not in variables(mine.form) and "c" not in variables(NormalForm(kept, UNIT)):
                return replace(mine, form=NormalForm({**kept, _LARGE_C: 1}, UNIT))
    return mine


def _readings(mine: Quantity, gold: Quantity) -> Iterator[tuple[Quantity, Quantity]]:
    """Both as they are; then 5m as five metres, where the other has a unit."""
    yield mine, gold
    if gold.unit is not None and (measure := as_measure(mine)) is not None:
        yield measure, gold
    if mine.unit is not None and (measure := as_measure(gold)) is not None:
        yield mine, measure


def _equal_in_units(mine: Quantity, gold: Quantity, rules: Rules) -> bool | None:
    first, second = mine.unit, gold.unit
    is_required = rules.require_units and second is not None and bool(second.text)
    if is_required and (first is None or second is None or not _same_unit(first, second, rules)):
        return False
    if (mine.is_percent and _is_known(second)) or (gold.is_percent and _is_known(first)):
        return False
    converted = _converted(mine, gold, rules)
    if converted is None:
        return False
    decided: bool | None = False
    for each in converted:
        result = _equal_in_percent(each, gold, rules)
        if result:
            return True
        decided = None if result is None else decided
    return decided


def _is_known(measured: Unit | None) -> bool:
    return measured is not None and measured.is_known


def _same_unit(first: Unit, second: Unit, rules: Rules) -> bool:
    if first.is_known and second.is_known:
        return first.dimensions == second.dimensions and (rules.is_tolerant or first.size == second.size)
    return first.text == second.text


def _converted(mine: Quantity, gold: Quantity, rules: Rules) -> list[Quantity] | None:
    """The answer in the unit of the ground truth, in each way it may be meant; None where the units differ."""
    first, second = mine.unit, gold.unit
    is_angle = [_is_a(each, "angle") for each in (first, second)]
    if first is None or second is None or not first.is_known or not second.is_known:
        if rules.is_tolerant and is_angle[0] != is_angle[1]:
            return [mine, _turned(mine, is_angle[0])]
        return [mine]
    if first.dimensions == second.dimensions:
        if first.size == second.size:
            return [mine]
        factor = lowered(first.size / second.size)
        converted = replace(mine, form=times(mine.form, constant(factor)), scale=factor)
        return [converted] if rules.is_tolerant else None
    if not rules.is_tolerant:
        return None
    if (is_angle[0] and _is_a(second, "radian")) or (is_angle[1] and _is_a(first, "radian")):
        return [_turned(mine, is_angle[0])]
    if _is_a(first, "Celsius") and _is_a(second, "Fahrenheit"):
        form = plus(times(mine.form, constant(Fraction(9, 5))), constant(32))
        return [replace(mine, form=form)]
    if _is_a(first, "Fahrenheit") and _is_a(second, "Celsius"):
        form = times(minus(mine.form, constant(32)), constant(Fraction(5, 9)))
        return [replace(mine, form=form)]
    return None


def _is_a(measured: Unit | None, dimension: str) -> bool:
    return measured is not None and measured.dimensions == {(dimension, 1)}


def _turned(mine: Quantity, from_degrees: bool) -> Quantity:
    """An angle in radians that was in degrees, or the reverse."""
    half_turn = divided(symbol("pi"), constant(180))
    form = times(mine.form, half_turn) if from_degrees else divided(mine.form, half_turn)
    return replace(mine, form=form, scale=_DEGREE if from_degrees else 1 / _DEGREE)


def _equal_in_percent(mine: Quantity, gold: Quantity, rules: Rules) -> bool | None:
    if mine.is_percent == gold.is_percent:
        factors: tuple[Fraction, ...] = (Fraction(1),)
    elif mine.is_percent:
        factors = (1 / _HUNDRED, Fraction(1)) if rules.asks_percent else (1 / _HUNDRED,)
    else:
        factors = (Fraction(1), _HUNDRED)  # 50 and 0.5 both stand for 50 %
    decided: bool | None = False
    for factor in factors:
        each = mine if factor == 1 else replace(mine, form=times(mine.form, constant(lowered(factor))))
        result = _equal_numbers(each, gold, factor, rules)
        if result:
            return True
        decided = None if result is None else decided
    return decided


def _equal_numbers(mine: Quantity, gold: Quantity, factor: Fraction, rules: Rules) -> bool | None:
    exact = equal_forms(mine.form, gold.form)
    if exact:
        return True
    is_near = mine.is_decimal or gold.is_decimal or rules.relative is not None or rules.absolute is not None
    if not is_near or variables(mine.form) or variables(gold.form):
        return exact
    pair = _numbers(mine.form, gold.form)
    if pair is None:
        return exact
    return _is_close(*pair, mine, gold, factor, rules)


def _numbers(mine: NormalForm, gold: NormalForm) -> tuple[Any, Any] | None:
    """Both values, exact where both are rational."""
    first, second = mine.rational, gold.rational
    if first is not None and second is not None:
        return first, second
    values = approximate(mine), approximate(gold)
    return None if None in values else values


def _is_close(
    mine: Any, gold: Any, answer: Quantity, truth: Quantity, factor: Fraction, rules: Rules
) -> bool:
    apart, size = abs(mine - gold), abs(gold)
    if answer.is_decimal or truth.is_decimal:
        if _within(apart, 1, DECIMALS) and _within(apart, size, RELATIVE):
            return True
        if rules.is_tolerant and _rounds(apart, mine, answer, truth, factor):
            return True
    if rules.relative is not None and _within(apart, size, rules.relative):
        return True
    return rules.absolute is not None and _within(apart, 1, rules.absolute)


def _within(apart: Any, size: Any, share: Fraction) -> bool:
    """Whether a difference is no more than a share of a size; numbers may be fractions or of many digits."""
    return bool(apart * share.denominator <= size * share.numerator)


def _rounds(apart: Any, value: Any, answer: Quantity, truth: Quantity, factor: Fraction) -> bool:
    """Whether the answer is the ground truth to the digits that the ground truth has; or, where that is exact
    and no whole number, whether the answer is it rounded to three significant digits or more."""
    if truth.places is not None:
        return _within(apart, 1, Fraction(1, 2) / Fraction(10) ** truth.places)
    exact = truth.form.rational
    if answer.places is None or (exact is not None and exact.denominator == 1):
        return False
    unit_in_last = factor * answer.scale / Fraction(10) ** answer.places
    return abs(
        value
    ) * 10 >= 10**_SIGNIFICANT * unit_in_last.numerator / unit_in_last.denominator and _within(
        apart, 1, unit_in_last / 2
    )


def proportional(mine: NormalForm, gold: NormalForm, positive: bool) -> bool | None:
    """Whether one expression is the other times a number, of which ``positive`` asks that it is more than 0."""
    if not mine.over or not gold.over:
        return not mine.over and not gold.over
    product = next(iter(gold.over))
    if product not in mine.over:
        product = next((each for each in gold.over if each in mine.over), product)
    if product not in mine.over:
        return False if _independent(mine) and _independent(gold) else None
    ratio = Fraction(gold.over[product]) / Fraction(mine.over[product])
    if positive and ratio < 0:
        return False
    scaled = quotient({key: lowered(value * ratio) for key, value in mine.over.items()}, gold.under)
    return equal_forms(scaled, gold)
