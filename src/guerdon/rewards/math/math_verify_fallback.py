"""math-verify, for what has no normal form here or is not decided by it."""

from __future__ import annotations

import contextlib
import logging
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any

from guerdon.errors import MissingExtraError
from guerdon.rewards.math.quantities import RELATIVE
from guerdon.scoring.worker.entry import inside_worker

_DOUBLED = re.compile(r"\{\{([^{}]*)\}\}")
_PERCENT = re.compile(r"\s*(?:\\?%|(?:\\(?:text|mathrm)\{\s*)?(?:percent|pct)\b\s*\}?)$", re.IGNORECASE)
_EQUALS = re.compile(r"(?<![\\<>!:=])=(?!=)")
_VARIABLE = re.compile(r"[A-Za-z]")
_COMMAND = re.compile(r"\\(?:[dtc]?frac|sqrt|pi|cdot|times|left|right|ln|log|sin|cos|tan)")
_HUNDRED = Fraction(100)


@dataclass(frozen=True, slots=True)
class MathVerifyParse:
    """A text as math-verify reads it."""

    expression: Any
    """As SymPy has it; None where nothing is read."""
    is_percent: bool


@lru_cache(maxsize=1024)
def parsed(text: str) -> MathVerifyParse:
    """What math-verify reads in a text; only in the text as a whole."""
    bare = _PERCENT.sub("", text)
    if _PERCENT.search(bare):
        return MathVerifyParse(None, True)
    # Doubled braces mean nothing, but each pair doubles the time of the parser.
    while (simpler := _DOUBLED.sub(r"{\1}", bare)) != bare:
        bare = simpler
    # By default math-verify goes on to any formula that it can read inside.
    library = math_verify()
    config = [library.LatexExtractionConfig(try_extract_without_anchor=False)]
    found = library.parse(rf"\boxed{{{bare}}}", config, fallback_mode="no_fallback", parsing_timeout=None)
    return MathVerifyParse(found[0] if found else None, simpler != text)


def agrees(text: str, gold: str, asks_percent: bool) -> bool:
    """Whether math-verify finds an answer equal to a ground truth; each link of a chain has to hold."""
    parts = [text] if _EQUALS.search(gold) else [part for part in _EQUALS.split(text) if part.strip()]
    links = [part for part in parts[:-1] if not _VARIABLE.search(_COMMAND.sub("", part))]
    return all(_verified(parsed(part), parsed(gold), asks_percent) for part in [*parts[-1:], *links])


def _verified(mine: MathVerifyParse, gold: MathVerifyParse, asks_percent: bool) -> bool:
    """Whether math-verify finds two texts equal, of which each may be a percentage."""
    if mine.expression is None or gold.expression is None:
        return False
    if mine.is_percent == gold.is_percent:
        factors: tuple[Fraction, ...] = (Fraction(1),)
    elif mine.is_percent:
        factors = (1 / _HUNDRED, Fraction(1)) if asks_percent else (1 / _HUNDRED,)
    else:
        factors = (Fraction(1), _HUNDRED)
    return any(_verify(gold.expression, mine.expression, factor) for factor in factors)


def _verify(gold: Any, mine: Any, factor: Fraction) -> bool:
    """Whether math-verify finds two expressions equal, and they are not just both very small."""
    import sympy

    if factor != 1:
        if not isinstance(mine, sympy.Expr):
            return False
        mine = mine * sympy.Rational(factor.numerator, factor.denominator)
    if not math_verify().verify(gold, mine, timeout_seconds=None):
        return False
    if not (isinstance(gold, sympy.Expr) and isinstance(mine, sympy.Expr)):
        return True
    if gold.free_symbols or mine.free_symbols:
        return True
    try:
        apart = abs((gold - mine).evalf(30))
        return bool(apart <= float(RELATIVE) * abs(gold.evalf(30)))
    except (TypeError, ValueError, ArithmeticError, AttributeError):  # no number after all, such as zoo
        return True


def math_verify() -> ModuleType:
    """The library. Raises MissingExtraError without it."""
    try:
        import math_verify as library
    except ImportError as error:
        raise MissingExtraError.of("math", "the math reward") from error
    return library  # type: ignore[no-any-return]


def _is_news(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Timeout is disabled")


# math-verify warns where the caller keeps the deadlines, as here.
for _name in ("math_verify.parser", "math_verify.grader"):
    logging.getLogger(_name).addFilter(_is_news)

if inside_worker():
    # The half second that the import takes belongs to loading the reward, not to the first sample.
    with contextlib.suppress(MissingExtraError):
        math_verify()
