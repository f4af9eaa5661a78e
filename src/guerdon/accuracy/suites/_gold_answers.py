"""What sort of thing a gold answer is, as far as its rewritings need to know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_INTEGER = re.compile(r"-?\d{1,3}(?:(?:,\\!|\{,\}|,)\d{3})+|-?\d+")
_DECIMAL = re.compile(r"(-?)(\d*)\.(\d+)")
_FRACTION = re.compile(r"(-?)\\[dt]?frac\s*(?:\{(-?\d+)\}|(\d))\s*(?:\{(\d+)\}|(\d))|(-?\d+)/(\d+)()()")
_UNIT = re.compile(r"\s*\\(?:text|mbox|mathrm)\{\s*(?!and|or)[^{}]*\}(?:\^\{?\d\}?)?\s*$|\s*\^\{?\\circ\}?$")
_OUTER = re.compile(
    r"(?P<open>\\left\s*[(\[]|\\\{|[(\[])(?P<inside>.*?)(?P<close>\\right\s*[)\]]|\\\}|[)\]])", re.DOTALL
)
_WORDS = re.compile(r"\\(?:text|mbox|mathrm)\{([^{}]*)\}|([A-Za-z]{3,}|[A-F])")
_EXPRESSION = re.compile(r"(?:\\(?:[dt]?frac|sqrt|pi|cos|sin|left|right|!|circ)|\\ |[-+\w\s{}()^/.])+")


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """A gold answer, taken apart."""

    text: str
    number: Fraction | None
    """Its value where it is a plain number, without a unit."""
    opening: str
    """The bracket around the whole, without ``\\left``; empty where there is none."""
    closing: str
    parts: tuple[str, ...]
    """What its commas separate on the top level; one part where it has none."""
    words: str
    """Its letters where it is a word or a choice."""
    bare: str
    """Without its unit or degree sign; the same as the text where it has none."""

    @property
    def is_number(self) -> bool:
        return self.number is not None

    @property
    def is_union(self) -> bool:
        return r"\cup" in self.text

    @property
    def is_matrix(self) -> bool:
        return "matrix" in self.text

    @property
    def is_list(self) -> bool:
        """Whether it lists several answers whose order means nothing."""
        return len(self.parts) > 1 and self.opening in ("", r"\{") and not self.words

    @property
    def is_tuple(self) -> bool:
        return len(self.parts) > 1 and self.opening == "(" and self.closing == ")"

    @property
    def is_interval(self) -> bool:
        if len(self.parts) != 2 or self.is_union:
            return False
        return (self.opening + self.closing) in ("[)", "(]") or r"\infty" in self.text

    @property
    def is_expression(self) -> bool:
        """Whether it is one expression, without unit, brackets around it, relation or words."""
        simple = len(self.parts) == 1 and not self.opening and not self.words and self.bare == self.text
        return (
            simple and not self.is_union and bool(_EXPRESSION.fullmatch(self.text)) and "_" not in self.text
        )


def gold_of(text: str) -> GoldAnswer:
    r"""A gold answer, taken apart.

    >>> gold_of(r"\left(1, \frac{9}{2}\right)").parts, gold_of(r"25,\!972").number, gold_of(r"\text{Monday}").words
    (('1', '\\frac{9}{2}'), Fraction(25972, 1), 'Monday')
    """
    text = text.strip()
    found = _WORDS.fullmatch(text)
    words = (found[1] or found[2]).strip() if found else ""
    number = number_of(text)
    outer = _OUTER.fullmatch(text)
    inside = outer["inside"] if outer and _is_balanced(outer["inside"]) else None
    parts = (
        (text,)
        if number is not None or words or "matrix" in text
        else _split(text if inside is None else inside)
    )
    opening = outer["open"].removeprefix(r"\left").strip() if outer and inside is not None else ""
    closing = outer["close"].removeprefix(r"\right").strip() if outer and inside is not None else ""
    # The degrees of an angle inside of cos 15° are not a unit of the whole.
    bare = text if words or re.search(r"\\(?:sin|cos|tan)", text) else _UNIT.sub("", text)
    return GoldAnswer(text, number, opening, closing, parts, words, bare or text)


def number_of(text: str) -> Fraction | None:
    """The value of a plain number: whole, decimal or a fraction of whole numbers."""
    if _INTEGER.fullmatch(text):
        return Fraction(re.sub(r"[^-\d]", "", text))
    if decimal := _DECIMAL.fullmatch(text):
        return Fraction(text if decimal[2] else f"{decimal[1]}0.{decimal[3]}")
    if found := _FRACTION.fullmatch(text):
        over = int(found[2] or found[3] or found[6])
        under = int(found[4] or found[5] or found[7])
        return Fraction(-over if found[1] else over, under) if under else None
    return None


def _is_balanced(text: str) -> bool:
    depth = 0
    for character in re.sub(r"\\[{}]", "", text):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


def _split(text: str) -> tuple[str, ...]:
    """What commas separate outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not text.startswith(r"\!", at + 1):
            parts.append(text[start:at])
            start = at + 1
    parts = [part.strip() for part in [*parts, text[start:]]]
    return tuple(parts) if all(parts) else (text,)
