"""What may be applied to a test's own values, and to answers, without running any code of either."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from guerdon.sandbox.inside import decoding

_ITEMS = 1_000_000
_BITS = 100_000
"""Bits of a product of whole numbers."""
_WALKED = 100_000
"""Items of a range that a program returned and the test walks through."""


class NotPlainError(Exception):
    """The code does more than ask and compare."""


@dataclass(frozen=True, slots=True)
class Safe:
    """A function of Python that may be applied: to the test's own values, and to answers if ``later``."""

    apply: Callable[..., Any]
    later: bool


def number(value: Any) -> Any:
    if not isinstance(value, int | float | complex | Decimal | Fraction):
        raise TypeError("no number")
    return value


def _round(value: Any, digits: Any = None) -> Any:
    if digits is not None and not -400 <= digits <= 400:
        raise ValueError("too many digits")
    return round(number(value), digits)


def _hashed(kind: type) -> Callable[..., Any]:
    def make(items: Any = ()) -> Any:
        return kind(decoding.distinct(list(items)))

    return make


def _range(*bounds: Any) -> range:
    made = range(*bounds)
    if len(made) > _ITEMS:
        raise NotPlainError("a long range")
    return made


def _walked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for what it may walk through: a range may stand for more items than there is memory."""

    def apply(*items: Any, **options: Any) -> Any:
        for item in items:
            if isinstance(item, range) and len(item) > _WALKED:
                raise ValueError("a long range")
        return function(*items, **options)

    return apply


def _is_in(item: Any, items: Any) -> bool:
    if isinstance(items, range) and type(item) is not int and len(items) > _WALKED:
        raise ValueError("a long range")  # it is walked through for all but whole numbers
    return item in items


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)


_TO_ANSWERS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: abs(number(value)), "all": _walked(all), "any": _walked(any), "bool": bool, "len": len,
    "list": _walked(list), "max": _walked(max), "min": _walked(min), "round": _round,
    "sorted": _walked(sorted), "tuple": _walked(tuple), "set": _walked(_hashed(set)),
    "frozenset": _walked(_hashed(frozenset)),
}  # fmt: skip
_TO_KNOWN: Mapping[str, Callable[..., Any]] = {
    "complex": complex, "dict": dict, "float": float, "int": int, "range": _range, "str": str, "sum": sum,
}  # fmt: skip
BUILTINS: Mapping[str, Safe] = {
    **{name: Safe(function, True) for name, function in _TO_ANSWERS.items()},
    **{name: Safe(function, False) for name, function in _TO_KNOWN.items()},
}
MATH: Mapping[str, Safe | float] = {
    "isclose": Safe(_isclose, True),
    "fabs": Safe(math.fabs, True),
    "isnan": Safe(math.isnan, True),
    "isinf": Safe(math.isinf, True),
    "sqrt": Safe(math.sqrt, False),
    **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan", "tau")},
}
DISPLAYS: Mapping[type[ast.expr], Callable[[Any], Any]] = {
    ast.List: list, ast.Tuple: tuple, ast.Set: _hashed(set),
}  # fmt: skip
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: _is_in, ast.NotIn: lambda a, b: not _is_in(a, b),
}  # fmt: skip
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip


def folded(op: ast.operator, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The test's own arithmetic, as long as it is small."""
    numbers = all(isinstance(side, int | float | complex) for side in (left, right))
    if isinstance(op, ast.Pow) and not (numbers and abs(right) <= 64 and abs(left) < 1 << 64):
        raise NotPlainError("a power")
    if isinstance(op, ast.Mult) and not numbers:
        size, times = (len(left), right) if isinstance(right, int) else (len(right), left)
        if size * times > _ITEMS:
            raise NotPlainError("a long repetition")
    whole = isinstance(left, int) and isinstance(right, int)
    if isinstance(op, ast.Mult) and whole and left.bit_length() + right.bit_length() > _BITS:
        raise NotPlainError("a large product")
    if isinstance(op, ast.Mod) and not numbers:
        raise NotPlainError("formatted text")
    return function(left, right)


def refuse_identity(ops: Sequence[ast.cmpop], sides: Sequence[ast.expr]) -> None:
    """Raises NotPlainError for ``is`` between other things than None and truth values."""
    for op, one, other in zip(ops, sides, sides[1:], strict=False):
        if isinstance(op, ast.Is | ast.IsNot) and not any(
            isinstance(side, ast.Constant) and (side.value is None or type(side.value) is bool)
            for side in (one, other)
        ):
            raise NotPlainError("identity")
