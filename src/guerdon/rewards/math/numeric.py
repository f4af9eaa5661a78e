"""Exact expressions as numbers of many digits: what differs there is not equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.rewards.math.normal_form import Atom, NormalForm, Rational, Sum, UnknownError, variables

DIGITS = 60
_GUARD = 20
"""Digits that rounding may have spoiled."""
_MAX_MAGNITUDE = 10**6
_TAME = frozenset({"sin", "cos", "ln", "abs", "arctan", "floor", "ceil"})
"""Functions of which large arguments make no large numbers."""
_POINTS: tuple[tuple[str, ...], ...] = (
    # Digits of no meaning; no identity holds at them by chance.
    ("1.9318372650127", "0.7123906154203", "2.6180721359914", "1.2840193365571", "3.5523194470829"),
    ("4.1573920615524", "3.3019265507618", "0.5390127736411", "2.0937156640182", "1.7309416650293"),
    ("37.291640518337", "18.640372915528", "61.902755138846", "23.418820659371", "49.077131824693"),
    ("-1.3820157360294", "2.2951603380417", "-0.6671092258346", "1.5061384427093", "-2.8130465529871"),
)


def sign(form: NormalForm) -> int:
    """The sign of a real constant; 0 where there are variables in it, or it cannot be decided."""
    if variables(form):
        return 0
    value = approximate(form)
    if value is None or value.imag or not value.real:
        return 0
    return 1 if value.real > 0 else -1


def approximate(form: NormalForm) -> Any:
    """The value of a constant as a complex number of 60 digits (mpmath); None where there is none."""
    import mpmath

    with mpmath.workdps(DIGITS):
        try:
            under, low = _total(form.under, {})
            over, high = _total(form.over, {})
            if _is_nothing(under, low):
                return None
            return mpmath.mpc(0) if _is_nothing(over, high) else mpmath.mpc(over / under)
        except (ArithmeticError, ValueError, TypeError, UnknownError):
            return None


def differs(difference: Sum) -> bool | None:
    """Whether a sum is not zero, at points chosen once for all; None where no point decides it."""
    import mpmath

    names = sorted(variables(NormalForm(difference, {})))
    decided = None
    with mpmath.workdps(DIGITS):
        for point in _POINTS if names else _POINTS[:1]:
            values = {name: mpmath.mpf(point[at % 5]) + at // 5 for at, name in enumerate(names)}
            try:
                total, magnitude = _total(difference, values)
                is_nothing = _is_nothing(total, magnitude)
            except (ArithmeticError, ValueError, TypeError, UnknownError):
                continue
            # At negative points only what is real says something: roots have other branches there.
            if not is_nothing and (total.imag == 0 or point is not _POINTS[-1]):
                return True
            decided = False
    return decided


def _is_nothing(total: Any, magnitude: Any) -> bool:
    import mpmath

    if not (mpmath.isfinite(total) and mpmath.isfinite(magnitude)):
        raise UnknownError("no finite value")
    return bool(abs(total) <= magnitude * mpmath.mpf(10) ** (_GUARD - DIGITS))


def _total(sums: Sum, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """A sum, and the sum of the magnitudes of its terms."""
    import mpmath

    total, magnitude = mpmath.mpc(0), mpmath.mpf(0)
    for product, factor in sums.items():
        value = mpmath.mpc(_real(factor))
        for atom, exponent in product:
            value *= _raised(_value(atom, values), exponent)
        total += value
        magnitude += abs(value)
    return total, magnitude


def _real(value: Rational) -> Any:
    import mpmath

    return mpmath.mpf(value.numerator) / value.denominator


def _raised(base: Any, exponent: Rational) -> Any:
    import mpmath

    if isinstance(exponent, int):
        if abs(exponent) > _MAX_MAGNITUDE:
            raise UnknownError("a power that is too high")
        return base**exponent
    return mpmath.power(base, _real(exponent))


def _value(atom: Atom, values: Mapping[str, Any]) -> Any:
    import mpmath

    if isinstance(atom, int):
        return mpmath.mpf(atom)
    if isinstance(atom, str):
        if atom in values:
            return values[atom]
        named = {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.mpc(0, 1)}
        if atom == "log":
            return 1 / mpmath.log(10)
        if atom not in named:
            raise UnknownError("no number")
        return +named[atom] if atom != "i" else named[atom]
    assert isinstance(atom, tuple)
    if atom[0] == "sum":
        return _total(dict(atom[1]), values)[0]
    if atom[0] == "power":
        exponent = _total({atom[2]: 1}, values)[0]
        if abs(exponent) > _MAX_MAGNITUDE:
            raise UnknownError("a power that is too high")
        return mpmath.power(_value(atom[1], values), exponent)
    return _called(atom[1], [_quotient(each, values) for each in atom[2]])


def _quotient(key: tuple[Any, Any], values: Mapping[str, Any]) -> Any:
    return _total(dict(key[0]), values)[0] / _total(dict(key[1]), values)[0]


def _called(name: str, arguments: list[Any]) -> Any:
    import mpmath

    highest = _MAX_MAGNITUDE**2 if name in _TAME else _MAX_MAGNITUDE
    if any(abs(each) > highest for each in arguments):
        raise UnknownError("an argument that is too large")
    calls = {
        "sin": mpmath.sin,
        "cos": mpmath.cos,
        "ln": mpmath.log,
        "abs": abs,
        "arcsin": mpmath.asin,
        "arccos": mpmath.acos,
        "arctan": mpmath.atan,
        "sinh": mpmath.sinh,
        "cosh": mpmath.cosh,
        "tanh": mpmath.tanh,
        "factorial": mpmath.factorial,
        "double factorial": mpmath.fac2,
        "power": mpmath.power,
    }
    if name in ("floor", "ceil"):
        return _whole(arguments[0], name)
    if name not in calls:
        # An unknown function: any that is not polynomial by chance tells its values apart.
        weighted = sum((at + 1 + ord(name[0]) % 7) * each for at, each in enumerate(arguments))
        return mpmath.cos(weighted) + mpmath.mpf(ord(name[0])) / 7
    return calls[name](*arguments)


def _whole(value: Any, name: str) -> Any:
    import mpmath

    nearest = mpmath.nint(value.real)
    if value.imag or abs(value.real - nearest) < mpmath.mpf(10) ** (_GUARD - DIGITS) * (1 + abs(nearest)):
        raise UnknownError("too near to a whole number to round")
    return mpmath.floor(value.real) if name == "floor" else mpmath.ceil(value.real)


def real(form: NormalForm) -> Any:
    """The value of a real constant to 60 digits (mpmath); None where it is none."""
    value = None if variables(form) else approximate(form)
    return None if value is None or value.imag else value.real
