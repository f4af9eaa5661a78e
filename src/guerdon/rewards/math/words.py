"""Words that stand for a number or for another value."""

from __future__ import annotations

import re
from fractions import Fraction

from guerdon.rewards.math.normal_form import NormalForm, constant, negative, symbol
from guerdon.rewards.math.values import Interval, Quantity, Value, Word

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_ALIKE = {
    **dict.fromkeys(
        (
            *("no solution", "no solutions", "none", "no real solution", "no real solutions", "empty set"),
            *("there is no solution", "there are no solutions", "the empty set", "emptyset"),
        ),
        "no solution",
    ),
    **dict.fromkeys(
        (
            *("dne", "does not exist", "undefined", "limit does not exist", "the limit does not exist"),
            "it does not exist",
        ),
        "does not exist",
    ),
}
_REALS = frozenset({"all reals", "all real numbers", "all real", "real numbers", "the real numbers"})
_INFINITIES = frozenset({"infinity", "positive infinity"})
_SAID = re.compile(r"(?:\\(?:text|textbf|mathrm|mbox|textrm)\s*\{\s*)?([A-Za-z][A-Za-z .-]{1,60})\}?")

EMPTY = Word("no solution")
REALS = Interval(negative(symbol("oo")), symbol("oo"), (False, False))


def lower_words(text: str) -> str:
    """The words of a text in small letters."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def value_of_words(text: str) -> Value:
    """What words stand for: a number, the real numbers, that there is nothing; else themselves.

    >>> value_of_words("No solutions") == value_of_words("none"), value_of_words("odd")
    (True, Word(text='odd'))
    """
    words = lower_words(text)
    if words in _REALS:
        return REALS
    if words in _INFINITIES:
        return Quantity(symbol("oo"))
    if words in ("negative infinity", "minus infinity"):
        return Quantity(negative(symbol("oo")))
    if (number := _number(words.split())) is not None:
        return Quantity(number)
    return Word(_ALIKE.get(words, words))


def special_words(text: str) -> Value | None:
    """What a text stands for that is words and nothing else, and is not meant as these words."""
    if (match := _SAID.fullmatch(text)) is None:
        return None
    value = value_of_words(match[1])
    return value if not isinstance(value, Word) or value.text in _ALIKE.values() else None


def whole_number(word: str) -> int | None:
    """The number that one word stands for."""
    return _NUMBERS.get(word)


def _number(words: list[str]) -> NormalForm | None:
    """Forty-two, three hundred, minus five, three quarters."""
    if len(words) > 1 and words[0] in ("minus", "negative"):
        rest = _number(words[1:])
        return None if rest is None else negative(rest)
    if len(words) == 2:
        first, second = words
        over = 1 if first == "a" else _NUMBERS.get(first)
        under = _PARTS.get(second) or (_PARTS.get(second.removesuffix("s")) if over != 1 else None)
        if over and under:
            return constant(Fraction(over, under))
        if second == "hundred" and over is not None and 0 < over < 10:
            return constant(100 * over)
        if first in _TENS and second in _SMALL[1:10]:
            return constant(_NUMBERS[first] + _NUMBERS[second])
    return constant(_NUMBERS[words[0]]) if len(words) == 1 and words[0] in _NUMBERS else None
