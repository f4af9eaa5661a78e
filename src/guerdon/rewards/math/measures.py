"""Quantities, read: an expression with its unit, percent sign or currency."""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.rewards.math.expressions import Expression
from guerdon.rewards.math.normal_form import (
    ONE,
    UNIT,
    NormalForm,
    Rational,
    UnknownError,
    constant,
    times,
)
from guerdon.rewards.math.tokens import Token
from guerdon.rewards.math.units import CHANGES, PERCENT, SCALES, Unit, known, unit
from guerdon.rewards.math.values import (
    Quantity,
    Value,
)
from guerdon.rewards.math.words import value_of_words

_EXPONENTS = (-3, -2, -1, 1, 2, 3)


def quantity(found: Sequence[Token]) -> Value:
    """An expression with its unit, percent sign or currency."""
    found, money = _without_money(list(found))
    found, words = _without_words(found)
    if not found:
        return value_of_words(words)
    scale, is_percent, measured = _scale(words)
    if found[-1] == Token("sign", "%"):
        found, is_percent = found[:-1], True
    if found and found[-1] == Token("sign", "%"):
        raise UnknownError("a percentage of a percentage")
    celsius = found[-1].text if len(found) > 2 and found[-2] == Token("sign", "°") else ""
    if celsius in ("C", "F"):
        found, measured = found[:-2], Unit(f"°{celsius}")
        measured = unit(f"°{celsius}")
    expression = Expression(found)
    form = expression.read()
    if expression.has_degrees and measured is None:
        measured = unit("degree")
    if money is not None and (measured is None or not measured.is_known):
        measured = unit(money)
    if scale != 1:
        form = times(form, constant(scale))
    return Quantity(form, expression.is_decimal, _places(found, scale), is_percent, measured, scale)


def _without_money(found: list[Token]) -> tuple[list[Token], str | None]:
    for at in (0, 1):
        if len(found) > at + 1 and found[at].kind == "money":
            if at == 1 and not (found[0].kind == "sign" and found[0].text in "+-"):
                break
            return found[:at] + found[at + 1 :], found[at].text
    if len(found) > 1 and found[-1].kind == "money":
        return found[:-1], found[-1].text
    return found, None


def _without_words(found: list[Token]) -> tuple[list[Token], str]:
    """The tokens before the words at the end, and these words."""
    at = len(found)
    while at:
        token = found[at - 1]
        is_per = token == Token("sign", "/") and 2 <= at < len(found) and found[at - 2].kind == "text"
        if token.kind == "text" or is_per:
            at -= 1
        elif (end := _power_of_unit(found, at)) is not None:
            at = end
        else:
            break
    words = found[at:]
    if at and found[at - 1] == Token("sign", "-") and words:
        at -= 1  # 5-inch
    return found[:at], " ".join(
        token.text.strip("{}") for token in words if token.kind not in ("open", "close")
    )


def _power_of_unit(found: Sequence[Token], at: int) -> int | None:
    """Where a unit starts whose power ends before a place: cm^2, cm^{2}."""
    for length, digit in ((3, -1), (5, -2)):
        part = found[at - length : at] if at >= length else ()
        if len(part) == length and part[0].kind == "text" and part[1] == Token("sign", "^"):
            digits = part[digit]
            if digits.kind == "number" and digits.text in ("2", "3"):
                return at - length
    return None


def _scale(words: str) -> tuple[Rational, bool, Unit | None]:
    """What words behind a number say: a factor, a percentage, a unit."""
    scale: Rational = 1
    rest = words.split()
    if rest and rest[0].lower() in ("squared", "cubed"):
        raise UnknownError("a power in words")
    while rest and rest[0].lower().rstrip("s") in SCALES:
        scale *= SCALES[rest.pop(0).lower().rstrip("s")]
    if rest and rest[0].lower() in PERCENT:
        return scale, True, None
    if any(word.lower().rstrip("s") in SCALES or word.lower() in CHANGES for word in rest):
        raise UnknownError("words that change the number before them")
    return scale, False, unit(" ".join(rest)) if rest else None


def _places(found: Sequence[Token], scale: Rational) -> int | None:
    """The digits after the point of what is one decimal, perhaps with a sign or with letters that may be units."""
    numbers = [
        token
        for token in found
        if not (token.kind == "sign" and token.text in "+-/")
        and not (token.kind == "letter" and known(token.text))
    ]
    if scale != 1 or not numbers or numbers[0].kind != "number" or "." not in numbers[0].text:
        return None
    power = _power_of_ten(numbers[1:])
    if power is None:
        return None
    if Token("sign", "^") in numbers and Token("sign", "-") in found[found.index(Token("sign", "^")) :]:
        power = -power
    digits, _, exponent = numbers[0].text.lower().partition("e")
    return len(digits.partition(".")[2]) - int(exponent or 0) - power


def _power_of_ten(found: Sequence[Token]) -> int | None:
    """The exponent in "times 10 to the power of" one, 0 where nothing is there, None where anything else is."""
    texts = [token.text for token in found if token.text not in "{}"]
    if not texts:
        return 0
    is_power = texts[:3] == ["*", "10", "^"] and len(texts) == 4 and texts[3].isdecimal()
    return None if not is_power else int(texts[3])


def as_measure(value: Quantity) -> Quantity | None:
    """The other reading of an expression such as 5m or 3m/s: a number with units of one letter."""
    form = value.form
    if form.under != UNIT or len(form.over) != 1 or value.unit is not None:
        return None
    ((terms, factor),) = form.over.items()
    letters = {atom: exponent for atom, exponent in terms if isinstance(atom, str) and len(atom) == 1}
    if not letters or not all(
        known(letter) and exponent in _EXPONENTS for letter, exponent in letters.items()
    ):
        return None
    over = [f"{letter}^{exponent}" for letter, exponent in letters.items() if exponent > 0]
    under = [f"/ {letter}^{-exponent}" for letter, exponent in letters.items() if exponent < 0]
    kept = frozenset((atom, exponent) for atom, exponent in terms if atom not in letters)
    bare = NormalForm({kept or ONE: factor}, UNIT)
    return Quantity(bare, value.is_decimal, value.places, False, unit(" ".join([*over, *under])))
