"""Dates in words and figures, in one spelling."""

from __future__ import annotations

import re

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER_OF = {name: i for i, name in enumerate(_MONTHS, 1)} | {
    **{name[:3]: i for i, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY = r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_WEEKDAY = r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?"
_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        # July 4th, 1776; July 4
        rf"{_WEEKDAY}\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+(?:of\s+)?{_YEAR})?(?![\w:%])",
        # 4 July 1776; the 4th of July, 1776; 4 July
        rf"{_WEEKDAY}(?:\bthe\s+)?(?<![\w.,:-]){_DAY}(?:\s+day)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?(?!\w)",
        # July 1776; July of 1776
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}(?!\w)",
    )
]
_FIGURES = re.compile(
    r"(?<![\w/.-])(?P<first>\d{1,2})(?P<mark>[/.])(?P<second>\d{1,2})(?P=mark)(?P<year>[12]\d{3})(?![\w/])"
)
_DECADES = {
    name: 10 * i
    for i, name in enumerate(
        ["twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"], 2
    )
}
_DECADE = re.compile(rf"\b(?:the\s+)?(?:nineteen[\s-])?({'|'.join(_DECADES)})\b", re.IGNORECASE)
_APOSTROPHE = re.compile(r"\b(1[5-9]\d0|20\d0)['’]s\b|(?<!\w)['’]?([2-9]0)['’]?s\b")
_HINT = re.compile(r"\d|ties\b", re.IGNORECASE)


def with_dates(text: str) -> str:
    """The text with every date as ``YYYY-MM-DD``, ``YYYY-MM`` or ``--MM-DD``, and decades as ``1960s``.

    Figures such as 4/7/1776 are read where only one order of day and month is possible.

    >>> with_dates("on July 4th, 1776, 4 July 1776 and the 4th of July; in July 1776, in the sixties")
    'on 1776-07-04, 1776-07-04 and --07-04; in 1776-07, in 1960s'
    """
    if not _HINT.search(text):
        return text
    for form in _FORMS:
        text = form.sub(_written, text)
    text = _FIGURES.sub(_from_figures, text)
    text = _APOSTROPHE.sub(lambda match: f"{match[1]}s" if match[1] else f"19{match[2]}s", text)
    return _DECADE.sub(lambda match: f"19{_DECADES[match[1].lower()]}s", text)


def _written(match: re.Match[str]) -> str:
    parts = match.groupdict()
    month = _NUMBER_OF[parts["month"].lower()]
    day, year = parts.get("day"), parts.get("year")
    # "may 4" is more often a verb and a number than a date, but "May 4" is a date.
    if parts["month"] == "may" and not year:
        return match[0]
    return f"{year or '-'}-{month:02}" + (f"-{int(day):02}" if day else "")


def _from_figures(match: re.Match[str]) -> str:
    first, second = int(match["first"]), int(match["second"])
    if match["mark"] == "." or first > 12:
        first, second = second, first
    elif second <= 12 and first != second:
        return match[0]
    if not (1 <= first <= 12 and 1 <= second <= 31):
        return match[0]
    return f"{match['year']}-{first:02}-{second:02}"


_READ = re.compile(r"(?P<year>[12]\d{3}|-)(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")


def date_of(word: str) -> tuple[str | None, str | None, str | None] | None:
    """Year, month and day of a word that is a date in that spelling; a bare year is one too.

    >>> date_of("1776-07"), date_of("--07-04"), date_of("12")
    (('1776', '07', None), (None, '07', '04'), None)
    """
    match = _READ.fullmatch(word)
    if match is None or word == "-":
        return None
    year = match["year"]
    return (None if year == "-" else year, match["month"], match["day"])


def within(date: str, wanted: str) -> bool:
    """Whether a date says all that another says, and perhaps more: a day lies within its month.

    >>> within("1776-07-04", "1776-07"), within("1776", "1776-07"), within("1776-07-04", "--07-04")
    (True, False, True)
    """
    mine, other = date_of(date), date_of(wanted)
    if mine is None or other is None:
        return False
    return all(b is None or a == b for a, b in zip(mine, other, strict=True))


def contradicts(date: str, other: str) -> bool:
    """Whether two dates cannot be the same day.

    >>> contradicts("1776-07-04", "1776-07-05"), contradicts("1776-07-04", "1776")
    (True, False)
    """
    mine, yours = date_of(date), date_of(other)
    if mine is None or yours is None:
        return False
    return any(a and b and a != b for a, b in zip(mine, yours, strict=True))
