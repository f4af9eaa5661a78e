"""Numbers as people write them, read exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from guerdon.rewards.answers.final import NUMBER

_MAX_EXPONENT = 400
_SPACE = re.compile(r"\\[!,:; ]|\\q?quad\b|~|\s+")
_IDLE_SPACE = re.compile(r"(?<![0-9A-Za-z]) | (?![0-9A-Za-z\\])")
_STYLED_FRACTION = re.compile(r"\\[dtc]frac\b")
_THOUSANDS = re.compile(r"(?<=\d)(?:,\\!|\{,\}|\\[,!:; ]|~)(?=\d{3}(?!\d))", re.ASCII)
_BARE_FRACTION = re.compile(
    r"\\frac\s*(\d|[A-Za-z](?![A-Za-z])|\\pi(?![A-Za-z]))\s*(\d|[A-Za-z]|\\pi)(?![A-Za-z}])"
)
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox|operatorname)\s*\{([^{}]*)\}")
_FRACTION = r"\\frac(?:\{(?P<over>\d+)\}\{(?P<under>\d+)\}|(?P<over1>\d)(?P<under1>\d))"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)(?:"
    rf"(?P<number>{NUMBER})(?:[eE](?P<exponent>[-+]?\d{{1,4}})|\\times10\^\{{?(?P<power>[-+]?\d{{1,4}})\}}?)?"
    rf"|(?:(?P<whole>\d+) ?)?{_FRACTION}"
    rf"|(?:(?P<whole1>\d+) )?(?P<over2>\d+)/(?P<under2>\d+)"
    rf")",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was written out, as an exact value."""

    value: Fraction
    is_decimal: bool
    """Whether it was written with a decimal point, and so may be rounded."""


def normal(text: str) -> str:
    r"""The text with one spelling for what LaTeX spells in many ways; equal texts mean the same.

    >>> normal(r"\left( 1{,}000, \; \dfrac{1}{2} \right)"), normal("3 1/2")
    ('(1000,\\frac{1}{2})', '3 1/2')
    """
    if "\\" in text or "~" in text or "{,}" in text:
        text = _THOUSANDS.sub("", text).replace("{,}", ",").replace(r"\left", "").replace(r"\right", "")
        text = _STYLED_FRACTION.sub(r"\\frac", text).replace(r"\%", "%").replace(r"\$", "$")
        if r"\frac" in text:
            text = _BARE_FRACTION.sub(r"\\frac{\1}{\2}", text)
        text = _WRAPPED.sub(lambda match: f" {match[1]} ", text)
        text = _SPACE.sub(" ", text).strip()
    else:
        text = " ".join(text.split())
    # White space counts between digits and letters only: "3 1/2" is not "31/2".
    return _IDLE_SPACE.sub("", text) if " " in text else text


def number(text: str) -> Number | None:
    r"""The number that a text in normal spelling is; None where it is anything else.

    Reads signs, thousands separators, decimals, fractions, mixed numbers, powers of ten and an amount of
    money; not expressions.

    >>> number("2,125").value, number(r"-3\frac{1}{2}").value, number("2+2")
    (Fraction(2125, 1), Fraction(-7, 2), None)
    """
    text = re.sub(r"^([-+]?)[$€£¥]", r"\1", text)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match["sign"] == "-" else 1
    if match["number"]:
        exponent = int(match["exponent"] or match["power"] or 0)
        if abs(exponent) > _MAX_EXPONENT:
            return None
        value = Fraction(match["number"].replace(",", "")) * Fraction(10) ** exponent
        return Number(sign * value, "." in match["number"])
    over = int(match["over"] or match["over1"] or match["over2"])
    under = int(match["under"] or match["under1"] or match["under2"])
    if not under:
        return None
    return Number(sign * (int(match["whole"] or match["whole1"] or 0) + Fraction(over, under)), False)
