"""Powers, roots and functions of exact expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from guerdon.rewards.math.normal_form import (
    MAX_BITS,
    ONE,
    UNIT,
    Atom,
    ExpressionTooLargeError,
    NormalForm,
    Product,
    Rational,
    UndefinedError,
    UnknownError,
    bits,
    call,
    constant,
    divided,
    inverse,
    lowered,
    minus,
    negative,
    plus,
    symbol,
    times,
    variables,
)
from guerdon.rewards.math.numeric import sign
from guerdon.rewards.math.primes import factors
from guerdon.rewards.math.roots import root_power, whole_power, with_exponent

_MAX_ROOT = 1_000
_MAX_DETERMINANT = 4
_MAX_FACTORIAL = 20_000
_MAX_STEPS = 30
"""How far a factorial's argument is brought down: (n+2)! is (n+1)(n+2)·n!."""

_HALF_TURN: Product = frozenset({("i", 1), ("pi", 1)})
Function = Callable[[NormalForm], NormalForm]


def power(base: NormalForm, exponent: NormalForm) -> NormalForm:
    """Raises UndefinedError, ExpressionTooLargeError or UnknownError where there is no normal form."""
    value = exponent.rational
    if value is None:
        return _symbolic_power(base, exponent)
    if value.denominator == 1:
        return whole_power(base, value.numerator)
    if value.denominator > _MAX_ROOT:
        raise UnknownError("a root of a high degree")
    number = base.rational
    if number is not None and number < 0 and value.denominator > 2:
        raise UnknownError("a power of a negative number with several values")
    return root_power(base, value)


def root(base: NormalForm, degree: NormalForm) -> NormalForm:
    """The root of a whole degree; of a negative number the real one where there is one."""
    value = degree.rational
    if value is None:
        return power(base, inverse(degree))
    if value.denominator != 1 or not 2 <= value <= _MAX_ROOT:
        raise UnknownError("a root of no whole degree")
    if value % 2 and sign(base) < 0:
        return negative(root_power(negative(base), 1 / value))
    return root_power(base, 1 / value)


def _symbolic_power(base: NormalForm, exponent: NormalForm) -> NormalForm:
    """A power whose exponent is no rational number: each term of the exponent gives a factor."""
    if exponent.under != UNIT or len(base.over) != 1 or base.under != UNIT:
        return call("power", base, exponent)
    ((product, value),) = base.over.items()
    result = constant(1)
    for term, factor in exponent.over.items():
        if not term:
            result = times(result, power(base, constant(factor)))
            continue
        exponents: dict[Atom, Rational] = {}
        if value < 0:
            if value != -1 or lowered(factor) % 1:
                raise UnknownError("a negative number to a power that is not a number")
            exponents["power", -1, term] = factor
        for prime, count in factors(abs(value)).items():
            exponents["power", prime, term] = count * factor
        for atom, each in product:
            if atom == "i" or isinstance(atom, tuple):
                return call("power", base, exponent)
            if atom == "e" and term == _HALF_TURN:
                result = times(result, _on_circle(each * factor))
            else:
                exponents["power", atom, term] = each * factor
        result = with_exponent(result, exponents)
    return result


def _on_circle(half_turns: Rational) -> NormalForm:
    """e to a multiple of iπ."""
    angle = NormalForm({frozenset({("pi", 1)}): half_turns}, UNIT)
    return plus(cosine(angle), times(symbol("i"), sine(angle)))


def absolute(form: NormalForm) -> NormalForm:
    value = form.rational
    if value is not None:
        return constant(abs(value))
    side = 0 if variables(form) else sign(form)
    return form if side > 0 else negative(form) if side < 0 else call("abs", form)


def rounded(form: NormalForm, name: str) -> NormalForm:
    """``floor`` or ``ceil``."""
    value = form.rational
    if value is None:
        # Whole terms come out: ⌊x + 1⌋ is ⌊x⌋ + 1.
        whole = form.over.get(ONE, 0) if form.under == UNIT else 0
        whole = whole if isinstance(whole, int) else 0
        return plus(call(name, minus(form, constant(whole))), constant(whole))
    return constant(math.floor(value) if name == "floor" else math.ceil(value))


def factorial(form: NormalForm) -> NormalForm:
    value = form.rational
    if value is None:
        return _symbolic_factorial(form)
    if value.denominator != 1 or value < 0:
        raise UndefinedError("a factorial of something that is not a natural number")
    if value > _MAX_FACTORIAL:
        raise ExpressionTooLargeError("a factorial with too many digits")
    return constant(_factorial(value.numerator))


def double_factorial(form: NormalForm) -> NormalForm:
    """The product of every other number down from one: 7!! is 7·5·3·1."""
    value = form.rational
    if value is None:
        return call("double factorial", form)
    if value.denominator != 1 or value < 0:
        raise UndefinedError("a factorial of something that is not a natural number")
    if value > _MAX_FACTORIAL:
        raise ExpressionTooLargeError("a factorial with too many digits")
    return constant(math.prod(range(value.numerator, 0, -2)))


@lru_cache(maxsize=64)
def _factorial(number: int) -> int:
    return math.factorial(number)


def _symbolic_factorial(form: NormalForm) -> NormalForm:
    steps = form.over.get(ONE, 0) if form.under == UNIT else 0
    if not isinstance(steps, int) or abs(steps) > _MAX_STEPS:
        return call("factorial", form)
    bottom = minus(form, constant(steps))
    result = call("factorial", bottom)
    for step in range(1, steps + 1):
        result = times(result, plus(bottom, constant(step)))
    for step in range(0, steps, -1):
        result = divided(result, plus(bottom, constant(step)))
    return result


def binomial(above: NormalForm, below: NormalForm) -> NormalForm:
    n, k = above.rational, below.rational
    if n is None or k is None:
        return divided(factorial(above), times(factorial(below), factorial(minus(above, below))))
    if n.denominator != 1 or k.denominator != 1 or n < 0:
        raise UnknownError("a binomial coefficient of fractions")
    if n > _MAX_FACTORIAL:
        raise ExpressionTooLargeError("a binomial coefficient with too many digits")
    return constant(math.comb(int(n), int(k)) if k >= 0 else 0)


def logarithm(form: NormalForm, base: NormalForm | None) -> NormalForm:
    """The logarithm to a base; without a base, ``log`` of which the base is not known."""
    natural = natural_logarithm(form)
    return times(natural, symbol("log")) if base is None else divided(natural, natural_logarithm(base))


def natural_logarithm(form: NormalForm) -> NormalForm:
    """A product gives a sum: ln 12 is 2 ln 2 + ln 3."""
    if not form.over:
        raise UndefinedError("the logarithm of zero")
    if len(form.over) != 1 or form.under != UNIT:
        return call("ln", form)
    ((product, value),) = form.over.items()
    if value < 0 or bits(value) > MAX_BITS // 100:
        return call("ln", form)
    result = constant(0)
    for prime, each in factors(value).items():
        result = plus(result, times(constant(each), call("ln", constant(prime))))
    for atom, exponent in product:
        if isinstance(atom, int) or atom == "pi":
            inner = call("ln", constant(atom) if isinstance(atom, int) else symbol(atom))
        elif atom == "e":
            inner = constant(1)
        elif isinstance(atom, tuple) and atom[0] == "power" and atom[1] == "e":
            inner = NormalForm({atom[2]: 1}, UNIT)
        else:
            return call("ln", form)
        result = plus(result, times(constant(exponent), inner))
    return result


def _root_constant(value: int) -> NormalForm:
    return root_power(constant(value), Fraction(1, 2))


@lru_cache(maxsize=1)
def _sines() -> Mapping[int, NormalForm]:
    """The sines of the angles of the first quarter that have simple roots, by degrees."""
    half = constant(Fraction(1, 2))
    quarter = constant(Fraction(1, 4))
    two, three, five, six = (_root_constant(value) for value in (2, 3, 5, 6))
    return {
        0: constant(0),
        15: times(quarter, minus(six, two)),
        18: times(quarter, minus(five, constant(1))),
        30: half,
        45: times(half, two),
        54: times(quarter, plus(five, constant(1))),
        60: times(half, three),
        75: times(quarter, plus(six, two)),
        90: constant(1),
    }


def sine(form: NormalForm) -> NormalForm:
    """The sine of an angle in radians."""
    turn = frozenset({("pi", 1)})
    if form.over and (form.under != UNIT or set(form.over) != {turn}):
        if form.under == UNIT and len(form.over) == 1:
            ((_, value),) = form.over.items()
            return negative(call("sin", negative(form))) if value < 0 else call("sin", form)
        return call("sin", form)
    degrees = Fraction(form.over.get(turn, 0)) * 180 % 360
    is_negative = degrees > 180
    degrees = degrees - 180 if is_negative else degrees
    degrees = 180 - degrees if degrees > 90 else degrees
    known = _sines().get(degrees.numerator) if degrees.denominator == 1 else None
    result = known or call("sin", NormalForm({turn: lowered(degrees / 180)}, UNIT))
    return negative(result) if is_negative else result


def cosine(form: NormalForm) -> NormalForm:
    turn = frozenset({("pi", 1)})
    if not form.over or (form.under == UNIT and set(form.over) == {turn}):
        return sine(plus(form, NormalForm({turn: Fraction(1, 2)}, UNIT)))
    if form.under == UNIT and len(form.over) == 1 and next(iter(form.over.values())) < 0:
        form = negative(form)
    return call("cos", form)


def determinant(rows: Sequence[Sequence[NormalForm]]) -> NormalForm:
    """A determinant, along its first row."""
    if len(rows) > _MAX_DETERMINANT or any(len(row) != len(rows) for row in rows):
        raise UnknownError("a determinant")
    if len(rows) == 1:
        return rows[0][0]
    total = constant(0)
    for at, cell in enumerate(rows[0]):
        term = times(cell, determinant([[*row[:at], *row[at + 1 :]] for row in rows[1:]]))
        total = minus(total, term) if at % 2 else plus(total, term)
    return total


UNKNOWN_FUNCTIONS = frozenset("fghFGH")
"""What is a function where brackets follow, and nothing is known of it."""
FUNCTIONS: Mapping[str, Function] = {
    "sin": sine,
    "cos": cosine,
    "tan": lambda form: divided(sine(form), cosine(form)),
    "cot": lambda form: divided(cosine(form), sine(form)),
    "sec": lambda form: inverse(cosine(form)),
    "csc": lambda form: inverse(sine(form)),
    "ln": natural_logarithm,
    "exp": lambda form: power(symbol("e"), form),
    "abs": absolute,
    "floor": lambda form: rounded(form, "floor"),
    "ceil": lambda form: rounded(form, "ceil"),
    **{
        name: (lambda form, name=name: call(name, form))  # type: ignore[misc]
        for name in ("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh")
    },
}
"""The functions of one argument by name."""
