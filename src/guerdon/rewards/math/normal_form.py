"""Exact expressions in a normal form: quotients of sums over powers of primes, constants and variables.

A ``Sum`` maps products to rational coefficients; a product maps atoms to exponents. An atom is

    7                      a prime, with an exponent between 0 and 1: a radical
    "x", "pi", "i", "oo"   a variable, a constant
    ("sum", terms)         a sum of several terms under a root
    ("power", base, e)     an atom or a negative number to a power that holds variables
    ("call", name, terms)  a function of expressions

Products of radicals of different primes are linearly independent over the rational numbers, and pi and
variables are independent of them; so two sums over these atoms are equal only where they are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Atom = Hashable
Rational = int | Fraction
Product = frozenset[tuple[Atom, Rational]]
Sum = dict[Product, Rational]

ONE: Product = frozenset()
MAX_TERMS = 3_000
"""Products that one multiplication may make."""
MAX_BITS = 400_000
"""Bits that a number may have."""


class ExpressionTooLargeError(ArithmeticError):
    """An expression has a definite value that is beyond evaluation."""


class UndefinedError(ArithmeticError):
    """An expression has no value, such as 1/0."""


class UnknownError(ArithmeticError):
    """An expression has no normal form here."""


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The quotient of two sums."""

    over: Sum
    under: Sum

    @property
    def rational(self) -> Fraction | None:
        """The value, where it is a rational number."""
        if not self.over:
            return Fraction(0)
        if len(self.over) == 1 and self.under == UNIT and ONE in self.over:
            return Fraction(self.over[ONE])
        return None

    def key(self) -> tuple[Hashable, Hashable]:
        """What equal forms that are spelled alike have in common."""
        return frozenset(self.over.items()), frozenset(self.under.items())


UNIT: Sum = {ONE: 1}


def constant(value: Rational) -> NormalForm:
    """A rational number."""
    return NormalForm({ONE: lowered(value)} if value else {}, UNIT)


def symbol(atom: Atom) -> NormalForm:
    """A variable, or a constant with a name."""
    return NormalForm({frozenset({(atom, 1)}): 1}, UNIT)


def lowered(value: Rational) -> Rational:
    """The value as an int where it is whole: arithmetic with ints is many times as fast."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def call(name: str, *arguments: NormalForm) -> NormalForm:
    """A function of expressions that stays as it is."""
    return symbol(("call", name, tuple(each.key() for each in arguments)))


def negative(form: NormalForm) -> NormalForm:
    return NormalForm({product: -value for product, value in form.over.items()}, form.under)


def plus(left: NormalForm, right: NormalForm) -> NormalForm:
    if left.under == right.under:
        return NormalForm(_plus(left.over, right.over), left.under)
    over = _plus(_times(left.over, right.under), _times(right.over, left.under))
    return NormalForm(over, _times(left.under, right.under))


def minus(left: NormalForm, right: NormalForm) -> NormalForm:
    return plus(left, negative(right))


def times(left: NormalForm, right: NormalForm) -> NormalForm:
    if left.under == UNIT and right.under == UNIT:
        return NormalForm(_times(left.over, right.over), UNIT)
    return quotient(_times(left.over, right.over), _times(left.under, right.under))


def divided(left: NormalForm, right: NormalForm) -> NormalForm:
    """Raises UndefinedError for a division by what is plainly zero."""
    return times(left, inverse(right))


def inverse(form: NormalForm) -> NormalForm:
    if not form.over:
        raise UndefinedError("a division by zero")
    return quotient(form.under, form.over)


def quotient(over: Sum, under: Sum) -> NormalForm:
    """A quotient; a divisor of one term goes into the dividend."""
    if not under:
        raise UndefinedError("a division by zero")
    if len(under) > 1:
        return NormalForm(over, under)
    ((product, value),) = under.items()
    factor: Rational = Fraction(1, 1) / value
    if not product:
        return NormalForm({key: lowered(each * factor) for key, each in over.items()}, UNIT)
    if any(isinstance(atom, tuple) and atom[0] == "sum" for atom, _ in product):
        return _without_roots_below(over, product, factor)
    upside = reduced({atom: -exponent for atom, exponent in product}, factor)
    return NormalForm(_times(over, upside), UNIT)


def _without_roots_below(over: Sum, product: Product, factor: Rational) -> NormalForm:
    """A quotient by a product with roots of sums: 1/√s is √s/s."""
    upside: dict[Atom, Rational] = {}
    below: Sum = UNIT
    for atom, exponent in product:
        if isinstance(atom, tuple) and atom[0] == "sum":
            whole = -(-exponent // 1)
            if whole != exponent:
                upside[atom] = whole - exponent
            below = _times(below, power_of_sum(dict(atom[1]), int(whole)))
        else:
            upside[atom] = -exponent
    return quotient(_times(over, reduced(upside, factor)), below)


def power_of_sum(base: Sum, exponent: int) -> Sum:
    """A sum to a whole power of 0 or more."""
    result, square = UNIT, base
    while exponent:
        if exponent & 1:
            result = _times(result, square)
        exponent >>= 1
        if exponent:
            square = _times(square, square)
    return result


def _plus(left: Sum, right: Sum) -> Sum:
    result = dict(left)
    for product, value in right.items():
        if total := result.get(product, 0) + value:
            result[product] = lowered(total)
        else:
            result.pop(product, None)
    return result


def _times(left: Sum, right: Sum) -> Sum:
    if left is UNIT:
        return right
    if right is UNIT:
        return left
    if len(left) * len(right) > MAX_TERMS:
        raise UnknownError("too many terms")
    result: Sum = {}
    for one, factor in left.items():
        for other, coefficient in right.items():
            value = factor * coefficient
            if bits(value) > MAX_BITS:
                raise ExpressionTooLargeError("a number with too many digits")
            if not one or not other:
                _add(result, one or other, value)
                continue
            exponents = dict(one)
            for atom, exponent in other:
                exponents[atom] = exponents.get(atom, 0) + exponent
            for product, each in reduced(exponents, value).items():
                _add(result, product, each)
    return result


def _add(result: Sum, product: Product, value: Rational) -> None:
    if total := result.get(product, 0) + value:
        result[product] = lowered(total)
    else:
        result.pop(product, None)


def bits(value: Rational) -> int:
    """How large a number is to handle."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def reduced(exponents: dict[Atom, Rational], value: Rational) -> Sum:
    """One product in its normal form: primes below the first power, i below the second, no whole roots."""
    kept: dict[Atom, Rational] = {}
    expanded: list[tuple[Sum, int]] = []
    for atom, exponent in exponents.items():
        if not exponent:
            continue
        if isinstance(atom, int):
            whole = exponent // 1
            value = value * power_of_rational(atom, int(whole))
            exponent -= whole
        elif atom == "i" and isinstance(lowered(exponent), int):
            if exponent % 4 >= 2:
                value = -value
            exponent = exponent % 2
        elif isinstance(atom, tuple) and atom[0] == "sum":
            whole = exponent // 1
            if whole > 0:
                expanded.append((dict(atom[1]), int(whole)))
                exponent -= whole
        if exponent:
            kept[atom] = lowered(exponent)
    result: Sum = {frozenset(kept.items()): lowered(value)} if value else {}
    for base, whole in expanded:
        result = _times(result, power_of_sum(base, whole))
    return result


def power_of_rational(base: Rational, exponent: int) -> Rational:
    """A rational number to a whole power. Raises ExpressionTooLargeError where it has too many digits."""
    if not base:
        if exponent < 0:
            raise UndefinedError("a division by zero")
        return int(exponent == 0)
    if abs(base) != 1 and bits(base) * abs(exponent) > MAX_BITS:
        raise ExpressionTooLargeError("a power with too many digits")
    return lowered(Fraction(base) ** exponent) if exponent < 0 else lowered(base**exponent)


def atoms(form: NormalForm) -> Iterator[Atom]:
    """All atoms, those inside of others as well."""
    for sums in (form.over, form.under):
        yield from _inside(sums.keys())


def _inside(products: Any) -> Iterator[Atom]:
    for product in products:
        for atom, _ in product:
            yield atom
            if isinstance(atom, tuple):
                yield from _below(atom)


def _below(atom: tuple[Any, ...]) -> Iterator[Atom]:
    if atom[0] == "sum":
        yield from _inside(key for key, _ in atom[1])
    elif atom[0] == "power":
        yield atom[1]
        if isinstance(atom[1], tuple):
            yield from _below(atom[1])
        yield from _inside((atom[2],))
    else:
        for over, under in atom[2]:
            yield from _inside(key for key, _ in over)
            yield from _inside(key for key, _ in under)


def variables(form: NormalForm) -> frozenset[str]:
    """The names of the variables in an expression."""
    return frozenset(atom for atom in atoms(form) if isinstance(atom, str) and atom not in CONSTANTS)


CONSTANTS = frozenset({"pi", "e", "i", "oo", "log"})
"""Names that stand for one number: ``log`` for the factor between the natural logarithm and one whose base
is not given."""
