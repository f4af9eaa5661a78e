"""Powers, roots and functions of exact expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from guerdon.rewards._math_forms import (
    MAX_BITS,
    ONE,
    UNIT,
    Atom,
    Form,
    Product,
    Rational,
    Sum,
    TooLargeError,
    UndefinedError,
    UnknownError,
    bits,
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
    variables,
)
from guerdon.rewards._math_numeric import sign

_TRIAL = 10_000
_MAX_ROOT = 60
_MAX_POWER = 12.0
"""The natural logarithm of how many terms a power of a sum may have before like ones are put together."""
_MAX_FACTORIAL = 20_000
_MAX_STEPS = 30
"""How far a factorial's argument is brought down: (n+2)! is (n+1)(n+2)·n!."""

_HALF_TURN: Product = frozenset({("i", 1), ("pi", 1)})
Function = Callable[[Form], Form]


def power(base: Form, exponent: Form) -> Form:
    """Raises UndefinedError, TooLargeError or UnknownError where there is no normal form."""
    value = exponent.rational
    if value is None:
        return _symbolic_power(base, exponent)
    if value.denominator == 1:
        return _whole_power(base, value.numerator)
    if value.denominator > _MAX_ROOT:
        raise UnknownError("a root of a high degree")
    number = base.rational
    if number is not None and number < 0 and value.denominator > 2:
        raise UnknownError("a power of a negative number with several values")
    return _root_power(base, value)


def root(base: Form, degree: Form) -> Form:
    """The root of a whole degree; of a negative number the real one where there is one."""
    value = degree.rational
    if value is None:
        return power(base, inverse(degree))
    if value.denominator != 1 or not 2 <= value <= _MAX_ROOT:
        raise UnknownError("a root of no whole degree")
    number = base.rational
    if number is not None and number < 0 and value % 2:
        return negative(_root_power(constant(-number), 1 / value))
    return _root_power(base, 1 / value)


def _whole_power(base: Form, exponent: int) -> Form:
    if exponent < 0:
        return _whole_power(inverse(base), -exponent)
    if exponent == 0:
        return constant(1)
    number = base.rational
    if number is not None:
        return constant(power_of_rational(lowered(number), exponent))
    if len(base.over) == 1 and base.under == UNIT:
        ((product, value),) = base.over.items()
        raised = {atom: each * exponent for atom, each in product}
        return Form(reduced(raised, power_of_rational(value, exponent)), UNIT)
    if exponent * math.log(max(len(base.over), len(base.under))) > _MAX_POWER:
        return call("power", base, constant(exponent))
    return quotient(power_of_sum(base.over, exponent), power_of_sum(base.under, exponent))


def _root_power(base: Form, exponent: Fraction) -> Form:
    """A power with a fraction as its exponent."""
    if not base.over:
        if exponent < 0:
            raise UndefinedError("a division by zero")
        return constant(0)
    over, under = base.over, base.under
    if under != UNIT and sign(Form(under, UNIT)) < 0:
        over, under = negative(Form(over, UNIT)).over, negative(Form(under, UNIT)).over
    return divided(_root_of_sum(over, exponent), _root_of_sum(under, exponent))


def _root_of_sum(base: Sum, exponent: Fraction) -> Form:
    if len(base) == 1:
        ((product, value),) = base.items()
        return _root_of_product(product, value, exponent)
    content = _content(base)
    inner: Sum = {product: lowered(value / Fraction(content)) for product, value in base.items()}
    if exponent.denominator == 2 and (simple := _denested(inner)) is not None:
        return times(_root_of_product(ONE, content, exponent), _whole_power(simple, exponent.numerator))
    atom = ("sum", frozenset(inner.items()))
    return _with_exponent(_root_of_product(ONE, content, exponent), {atom: exponent})


def _with_exponent(form: Form, exponents: Mapping[Atom, Rational]) -> Form:
    """A form times a product whose exponents may be negative."""
    above = {atom: exponent for atom, exponent in exponents.items() if exponent > 0}
    below = {atom: -exponent for atom, exponent in exponents.items() if exponent < 0}
    result = times(form, Form(reduced(above, 1), UNIT))
    return divided(result, Form(reduced(below, 1), UNIT)) if below else result


def _root_of_product(product: Product, value: Rational, exponent: Fraction) -> Form:
    exponents: dict[Atom, Rational] = {}
    if value < 0:
        if exponent.denominator != 2:
            raise UnknownError("a root of a negative number with several values")
        exponents["i"] = exponent.numerator
    for prime, times_in in _factors(abs(value)).items():
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
    return _with_exponent(constant(1), exponents)


def _content(base: Sum) -> Rational:
    """The largest positive rational number that divides all coefficients."""
    values = [Fraction(value) for value in base.values()]
    over = math.gcd(*(value.numerator for value in values))
    return lowered(Fraction(over, math.lcm(*(value.denominator for value in values))))


def _denested(base: Sum) -> Form | None:
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
    first, second = (_root_power(constant((whole + each) / 2), Fraction(1, 2)) for each in (rest, -rest))
    return plus(first, second) if factor > 0 else minus(first, second)


def _square_root(value: Fraction) -> Fraction | None:
    if value < 0:
        return None
    over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(over, under) if over**2 == value.numerator and under**2 == value.denominator else None


@lru_cache(maxsize=4096)
def _factors(value: Rational) -> Mapping[int, int]:
    """The prime factors with their exponents. Raises UnknownError where they take long to find."""
    found: dict[int, int] = {}
    for number, step in ((value.numerator, 1), (value.denominator, -1)):
        rest, divisor = number, 2
        if bits(number) > 4_000:
            raise UnknownError("a number too large to factor")
        while divisor * divisor <= rest and divisor <= _TRIAL:
            while rest % divisor == 0:
                found[divisor] = found.get(divisor, 0) + step
                rest //= divisor
            divisor += 1 if divisor == 2 else 2
        if rest > 1:
            if rest > _TRIAL**2:
                rest, step = _as_power(rest, step)
            found[rest] = found.get(rest, 0) + step
    return found


def _as_power(rest: int, step: int) -> tuple[int, int]:
    """What is left after trial division: a prime or a power of one, or else it is unknown."""
    side = math.isqrt(rest)
    if side * side == rest:
        rest, step = side, 2 * step
    if rest > _TRIAL**2 and not _is_prime(rest):
        raise UnknownError("a number too large to factor")
    return rest, step


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test with the bases that decide every number below 3·10²⁴."""
    if number >= 3_317_044_064_679_887_385_961_981:
        raise UnknownError("a number too large to factor")
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        residue = pow(base, odd, number)
        if residue in (1, number - 1):
            continue
        if all((residue := residue * residue % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True


def _symbolic_power(base: Form, exponent: Form) -> Form:
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
                raise UnknownError("a negative number to a power that is no number")
            exponents["power", -1, term] = factor
        for prime, count in _factors(abs(value)).items():
            exponents["power", prime, term] = count * factor
        for atom, each in product:
            if atom == "i" or isinstance(atom, tuple):
                return call("power", base, exponent)
            if atom == "e" and term == _HALF_TURN:
                result = times(result, _on_circle(each * factor))
            else:
                exponents["power", atom, term] = each * factor
        result = _with_exponent(result, exponents)
    return result


def _on_circle(half_turns: Rational) -> Form:
    """e to a multiple of iπ."""
    angle = Form({frozenset({("pi", 1)}): half_turns}, UNIT)
    return plus(cosine(angle), times(symbol("i"), sine(angle)))


def call(name: str, *arguments: Form) -> Form:
    """A function of expressions that stays as it is."""
    return symbol(("call", name, tuple(each.key() for each in arguments)))


def absolute(form: Form) -> Form:
    value = form.rational
    if value is not None:
        return constant(abs(value))
    side = 0 if variables(form) else sign(form)
    return form if side > 0 else negative(form) if side < 0 else call("abs", form)


def rounded(form: Form, name: str) -> Form:
    """``floor`` or ``ceil``."""
    value = form.rational
    if value is None:
        # Whole terms come out: ⌊x + 1⌋ is ⌊x⌋ + 1.
        whole = form.over.get(ONE, 0) if form.under == UNIT else 0
        whole = whole if isinstance(whole, int) else 0
        return plus(call(name, minus(form, constant(whole))), constant(whole))
    return constant(math.floor(value) if name == "floor" else math.ceil(value))


def factorial(form: Form) -> Form:
    value = form.rational
    if value is None:
        return _symbolic_factorial(form)
    if value.denominator != 1 or value < 0:
        raise UndefinedError("a factorial of what is no natural number")
    if value > _MAX_FACTORIAL:
        raise TooLargeError("a factorial with too many digits")
    return constant(_factorial(value.numerator))


@lru_cache(maxsize=64)
def _factorial(number: int) -> int:
    return math.factorial(number)


def _symbolic_factorial(form: Form) -> Form:
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


def binomial(above: Form, below: Form) -> Form:
    n, k = above.rational, below.rational
    if n is None or k is None:
        return divided(factorial(above), times(factorial(below), factorial(minus(above, below))))
    if n.denominator != 1 or k.denominator != 1 or n < 0:
        raise UnknownError("a binomial coefficient of fractions")
    if n > _MAX_FACTORIAL:
        raise TooLargeError("a binomial coefficient with too many digits")
    return constant(math.comb(int(n), int(k)) if k >= 0 else 0)


def logarithm(form: Form, base: Form | None) -> Form:
    """The logarithm to a base; without a base, ``log`` of which the base is not known."""
    natural = natural_logarithm(form)
    return times(natural, symbol("log")) if base is None else divided(natural, natural_logarithm(base))


def natural_logarithm(form: Form) -> Form:
    """A product gives a sum: ln 12 is 2 ln 2 + ln 3."""
    if not form.over:
        raise UndefinedError("the logarithm of zero")
    if len(form.over) != 1 or form.under != UNIT:
        return call("ln", form)
    ((product, value),) = form.over.items()
    if value < 0 or bits(value) > MAX_BITS // 100:
        return call("ln", form)
    result = constant(0)
    for prime, each in _factors(value).items():
        result = plus(result, times(constant(each), call("ln", constant(prime))))
    for atom, exponent in product:
        if isinstance(atom, int) or atom == "pi":
            inner = call("ln", constant(atom) if isinstance(atom, int) else symbol(atom))
        elif atom == "e":
            inner = constant(1)
        elif isinstance(atom, tuple) and atom[0] == "power" and atom[1] == "e":
            inner = Form({atom[2]: 1}, UNIT)
        else:
            return call("ln", form)
        result = plus(result, times(constant(exponent), inner))
    return result


def _root_constant(value: int) -> Form:
    return _root_power(constant(value), Fraction(1, 2))


@lru_cache(maxsize=1)
def _sines() -> Mapping[int, Form]:
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


def sine(form: Form) -> Form:
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
    result = known or call("sin", Form({turn: lowered(degrees / 180)}, UNIT))
    return negative(result) if is_negative else result


def cosine(form: Form) -> Form:
    turn = frozenset({("pi", 1)})
    if not form.over or (form.under == UNIT and set(form.over) == {turn}):
        return sine(plus(form, Form({turn: Fraction(1, 2)}, UNIT)))
    if form.under == UNIT and len(form.over) == 1 and next(iter(form.over.values())) < 0:
        form = negative(form)
    return call("cos", form)


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
        for name in ("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "f", "g", "h", "F", "G", "H")
    },
}
"""The functions of one argument by name; ``f`` and its like are unknown ones."""
