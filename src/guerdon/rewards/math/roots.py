"""Roots and whole powers of exact expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from guerdon.rewards.math.normal_form import (
    ONE,
    UNIT,
    Atom,
    NormalForm,
    Product,
    Rational,
    Sum,
    UndefinedError,
    UnknownError,
    call,
    constant,
    divided,
    inverse,
    lowered,
    minus,
    negative,
    plus,
    power_of_rational,
    power_of_sum,
    quotient,
    reduced,
    symbol,
    times,
)
from guerdon.rewards.math.numeric import sign
from guerdon.rewards.math.primes import factors

_MAX_DIMENSIONS = 16
_MAX_POWER = 12.0
"""The natural logarithm of how many terms a power of a sum may have before like ones are put together."""


def whole_power(base: NormalForm, exponent: int) -> NormalForm:
    if exponent < 0:
        return whole_power(inverse(base), -exponent)
    if exponent == 0:
        return constant(1)
    number = base.rational
    if number is not None:
        return constant(power_of_rational(lowered(number), exponent))
    if len(base.over) == 1 and base.under == UNIT:
        ((product, value),) = base.over.items()
        raised = {atom: each * exponent for atom, each in product}
        return NormalForm(reduced(raised, power_of_rational(value, exponent)), UNIT)
    terms = max(len(base.over), len(base.under))
    if exponent * math.log(terms) > _MAX_POWER and not _is_in_small_field(base):
        return call("power", base, constant(exponent))
    return quotient(power_of_sum(base.over, exponent), power_of_sum(base.under, exponent))


def _is_in_small_field(base: NormalForm) -> bool:
    """Whether all powers of a sum have few terms: it is made of roots of few numbers."""
    degrees: dict[Atom, int] = {}
    for sums in (base.over, base.under):
        for product in sums:
            for atom, exponent in product:
                if not isinstance(atom, int) and atom != "i":
                    return False
                degree = 2 if atom == "i" else Fraction(exponent).denominator
                degrees[atom] = math.lcm(degrees.get(atom, 1), degree)
    return math.prod(degrees.values()) <= _MAX_DIMENSIONS


def root_power(base: NormalForm, exponent: Fraction) -> NormalForm:
    """A power with a fraction as its exponent."""
    if not base.over:
        if exponent < 0:
            raise UndefinedError("a division by zero")
        return constant(0)
    over, under = base.over, base.under
    if under != UNIT and sign(NormalForm(under, UNIT)) < 0:
        over, under = negative(NormalForm(over, UNIT)).over, negative(NormalForm(under, UNIT)).over
    return divided(_root_of_sum(over, exponent), _root_of_sum(under, exponent))


def _root_of_sum(base: Sum, exponent: Fraction) -> NormalForm:
    if len(base) == 1:
        ((product, value),) = base.items()
        return _root_of_product(product, value, exponent)
    content = _content(base)
    inner: Sum = {product: lowered(value / Fraction(content)) for product, value in base.items()}
    if exponent.denominator == 2 and (simple := _denested(inner)) is not None:
        return times(_root_of_product(ONE, content, exponent), whole_power(simple, exponent.numerator))
    atom = ("sum", frozenset(inner.items()))
    return with_exponent(_root_of_product(ONE, content, exponent), {atom: exponent})


def with_exponent(form: NormalForm, exponents: Mapping[Atom, Rational]) -> NormalForm:
    """A form times a product whose exponents may be negative."""
    above = {atom: exponent for atom, exponent in exponents.items() if exponent > 0}
    below = {atom: -exponent for atom, exponent in exponents.items() if exponent < 0}
    result = times(form, NormalForm(reduced(above, 1), UNIT))
    return divided(result, NormalForm(reduced(below, 1), UNIT)) if below else result


def _root_of_product(product: Product, value: Rational, exponent: Fraction) -> NormalForm:
    exponents: dict[Atom, Rational] = {}
    if value < 0:
        if exponent.denominator != 2:
            raise UnknownError("a root of a negative number with several values")
        exponents["i"] = exponent.numerator
    for prime, times_in in factors(abs(value)).items():
        exponents[prime] = times_in * exponent
    for atom, each in product:
        if atom == "i" or (isinstance(atom, tuple) and atom[0] == "sum"):
            raise UnknownError("a root of a complex number or of a root")
        if (
            isinstance(atom, str)
            and atom not in ("pi", "e")
            and lowered(each) % 2 == 0
            and each * exponent % 2
        ):
            # The root of x² is |x|.
            atom = ("call", "abs", (symbol(atom).key(),))
        exponents[atom] = exponents.get(atom, 0) + each * exponent
    return with_exponent(constant(1), exponents)


def _content(base: Sum) -> Rational:
    """The largest positive rational number that divides all coefficients."""
    values = [Fraction(value) for value in base.values()]
    over = math.gcd(*(value.numerator for value in values))
    return lowered(Fraction(over, math.lcm(*(value.denominator for value in values))))


def _denested(base: Sum) -> NormalForm | None:
    """The root of a + √b as a sum of two roots, where it is one."""
    if len(base) != 2 or ONE not in base:
        return None
    whole = Fraction(base[ONE])
    ((product, factor),) = ((key, value) for key, value in base.items() if key)
    if whole <= 0 or any(not isinstance(atom, int) or each * 2 != 1 for atom, each in product):
        return None
    inside = Fraction(factor) ** 2 * math.prod(atom for atom, _ in product if isinstance(atom, int))
    if (rest := _square_root(whole**2 - inside)) is None:
        return None
    first, second = (root_power(constant((whole + each) / 2), Fraction(1, 2)) for each in (rest, -rest))
    return plus(first, second) if factor > 0 else minus(first, second)


def _square_root(value: Fraction) -> Fraction | None:
    if value < 0:
        return None
    over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(over, under) if over**2 == value.numerator and under**2 == value.denominator else None
