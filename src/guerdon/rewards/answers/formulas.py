"""Formulas and numbers in running text, the last of them first of all."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

_TAIL = 5_000
"""Characters at the end of a response in which the last number is looked for."""
_LINE = 300
"""Characters at the end in which a formula without dollar signs is looked for."""


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """An answer that a response marks as such."""

    place: str
    """The kind of mark, one of the places where answers are looked for."""
    how: str
    """What the mark is called."""
    text: str
    start: int
    """Where the mark opens."""
    end: int
    """Where the answer ends, or the sentence where the answer is all of it."""
    rest: str = ""
    """What the sentence goes on with."""
    is_value: bool = True
    """Whether the answer is written out as a value, not picked from a sentence."""


_WRAPPERS = [("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("__", "__"), ("`", "`")]
SPAN = re.compile(
    r"(?<!\\)(?:\$\$(?P<a>[^$]+)\$\$|\$(?P<b>(?:\\\$|[^$\n]|\n(?!\s*\n))+)\$|\\\((?P<c>.+?)\\\)|\\\[(?P<d>.+?)\\\])",
    re.DOTALL,
)
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
LAST = re.compile(
    rf"(?<![\w.])[-+]?[$€£¥]?(?:{NUMBER})(?:\s*/\s*\d+(?:\.\d+)?)?(?:\s?\\?%)?"
    # Ratios and times of the day.
    r"(?:\s?:\s?\d+)*(?:(?<=:\d\d)\s?[apAP]\.?[mM]\b)?",
    re.ASCII,
)
_PERCENT = re.compile(r"\s?(?:\$|\\\))?\s?(?:\\?%|percent\b)")
# Of LaTeX what is spelt with letters: commands, environments, text within formulas.
_TEXTUAL = re.compile(r"\\(?:begin|end|text|textbf|mathrm|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+")
_UNLIKE_A_FORMULA = re.compile(r"[=<>$]|[A-Za-z]{2}|[A-Za-z]\s*:")
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+|\s*")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
# Formulas without dollar signs: what a number is a part of, and the right side of an equation at the end.
_GLUED = re.compile(r"\S*(?:\\[a-z]|\^|sqrt)\S*")
_RIGHT_SIDE = re.compile(
    r"=\s*(?P<side>(?:[^\s=A-Za-z$]|\s|\\?(?:sqrt|frac|pi|log|ln|sin|cos|tan|exp)(?![A-Za-z])"
    r"|(?<![A-Za-z])[A-Za-z](?![A-Za-z]))+)\Z"
)


def clean(text: str) -> str:
    """The text without the marks around it: dollar signs of formulas, emphasis, a full stop.

    >>> clean(" **$42$**. ")
    '42'
    """
    if text and text[0].isalnum() and (text[-1].isalnum() or text[-1] in "})%"):
        return text  # as most are: nothing stands around it
    before = None
    while text != before:
        before = text
        text = text.strip()
        if not text.endswith((r"\,", r"\:", r"\;")):
            text = text.rstrip(".,;:。")
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            if text.startswith(opening) and text.endswith(closing) and inner and closing not in inner:
                text = inner
                break
    return text


def formula_in(span: re.Match[str]) -> str:
    return clean(next(filter(None, span.groups())))


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def percent_after(text: str, at: int) -> str:
    return r"\%" if _PERCENT.match(text, at) else ""


def words_of(text: str) -> int:
    """How many words of prose a text has, outside of LaTeX."""
    return len(_PROSE.findall(_TEXTUAL.sub(" ", text)))


def last(text: str, start: int = 0) -> MarkedAnswer | None:
    """The last formula or number after ``start``."""
    at = max(start, len(text) - _TAIL)
    tail = text[at:]
    number, span = last_match(LAST, tail), last_match(SPAN, tail)
    # "$5 for one and $" lies between two amounts of money and is not a formula.
    is_formula = span and (
        span["b"] is None or not re.search(rf"{_PROSE.pattern}\s", _TEXTUAL.sub("", span[0]))
    )
    if span and is_formula and (number is None or number.end() <= span.end()):
        value = formula_in(span) + percent_after(tail, span.end())
        return MarkedAnswer("last", "the last formula", value, at + span.start(), at + span.end())
    if number is None:
        return None
    starts_line = at == 0 or text[at - 1] == "\n"
    if plain := _plain_formula(tail.rstrip(" \r\n.*"), number, starts_line):
        value, opened = plain
        return MarkedAnswer("last", "the last formula", clean(value), at + opened, at + number.end())
    return MarkedAnswer("last", "the last number", clean(number[0]), at + number.start(), at + number.end())


def _plain_formula(text: str, number: re.Match[str], starts_line: bool) -> tuple[str, int] | None:
    """The formula without dollar signs that the last number of a text is a part of, and where it starts.

    It is one only where it ends the text: the whole last line, the right side of an equation, or a word.
    """
    opened = max(text.rfind("\n") + 1, len(text) - _LINE)
    line = text[opened:]
    bullet = _BULLET.match(line)
    if number.start() < opened or (bullet and bullet[0].strip() not in ("-", "*", "")):
        return None
    alone = (line[bullet.end() :] if bullet else line).removeprefix("**")  # those at the end are gone
    is_whole = starts_line if opened == 0 else text[opened - 1] == "\n"
    is_formula = not _UNLIKE_A_FORMULA.search(_TEXTUAL.sub("", alone)) and not LAST.fullmatch(alone)
    if is_whole and is_formula:
        return alone, len(text) - len(alone)
    side = _RIGHT_SIDE.search(line)
    if side and number.start() >= opened + side.start("side") and _GLUED.search(side["side"]):
        return side["side"], opened + side.start("side")
    word = line[line.rfind(" ") + 1 :]
    if number.start() >= len(text) - len(word) and _GLUED.fullmatch(word):
        return word, len(text) - len(word)
    return None
