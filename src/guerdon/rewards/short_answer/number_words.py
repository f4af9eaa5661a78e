"""Numbers in words and figures, and quantities, in one spelling."""

from __future__ import annotations

import re

_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SCALED = re.compile(
    r"(?<![\w.])([$€£¥]?)(\d+)(?:\.(\d+))?[ -](1000(?:000){0,3}|thousand|million|billion|trillion)\b"
)
_WORDED = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen\w*|twent\w+|thirt\w+|fort\w+|fift\w+"
    r"|sixt\w+|sevent\w+|eight\w+|ninet\w+|hundred\w*|thousand\w*|million\w*|billion\w*|trillion\w*|first|second|third"
    r"|fourth|fifth|sixth|ninth|tenth|eleventh|twelfth|zero)\b",
    re.IGNORECASE,
)
_TRAILING_ZEROS = re.compile(
    r"(?<![\d.]\.)(?<!\.\d)(?<=\d)\.0+(?![\d.]*\d)|(?<=\d\.)(\d*[1-9])0+(?![\d.]*\d)"
)
_YEAR_IN_WORDS = re.compile(r"\b(1[1-9]|20) (\d\d)\b(?! ?[%°])")
_HUNDRED = re.compile(r"\ba (hundred|thousand|million|billion|dozen)\b", re.IGNORECASE)
_ROMAN = re.compile(r"(?<=[^\W\d_] )(?=[IVXL]{2,})(XL|L?X{0,3})(IX|IV|V?I{0,3})(?<=[IVXL])\b(?!\.\w)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_UNITS = {
    "%": ("percent", "per cent", "pct"),
    "°": ("degrees", "degree"),
    "°c": ("degrees celsius", "degree celsius", "degrees c", "°celsius", "° celsius", "° c", "°c", "celsius"),
    "°f": (
        "degrees fahrenheit",
        "degree fahrenheit",
        "degrees f",
        "°fahrenheit",
        "° fahrenheit",
        "° f",
        "°f",
        "fahrenheit",
    ),
    " km": ("kilometers", "kilometres", "kilometer", "kilometre", "kms"),
    " m": ("meters", "metres", "meter", "metre"),
    " cm": ("centimeters", "centimetres", "centimeter", "centimetre"),
    " mm": ("millimeters", "millimetres", "millimeter", "millimetre"),
    " mi": ("miles", "mile"),
    " ft": ("feet", "foot"),
    " in": ("inches", "inch"),
    " kg": ("kilograms", "kilogram", "kilogrammes", "kilos", "kilo"),
    " lb": ("pounds", "pound", "lbs"),
    " mph": ("miles per hour",),
    " kmh": ("kilometers per hour", "kilometres per hour", "km/h", "kph"),
}
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names}
_UNIT = re.compile(
    rf"(?<=\d)[\s-]*({'|'.join(sorted(map(re.escape, _UNIT_OF), key=len, reverse=True))})(?!\w)",
    re.IGNORECASE,
)
_SIGNS = {"dollar": "$", "euro": "€"}
_MONEY = re.compile(r"(?<![\w.$€£])(\d+(?:\.\d+)?) (?:US )?(dollar|euro)s?\b", re.IGNORECASE)
_GLUED = re.compile(r"(?<=\d)(km|cm|mm|kg|lbs?|ft|mph|mi|m)\b(?!['’])")


def with_figures(text: str) -> str:
    """The text with numbers in figures, without thousands separators, and units by their short names.

    >>> with_figures("twenty-four people, 3.50 million dollars, one hundred and five miles, World War II")
    '24 people, $3500000, 105 mi, World War 2'
    """
    if _WORDED.search(text):
        text = _HUNDRED.sub(r"one \1", text)
        text = _YEAR_IN_WORDS.sub(r"\1\2", _alpha2digit(text))
    if "I" in text or "V" in text or "X" in text:
        text = _ROMAN.sub(_from_roman, text)
    if any(map(str.isdigit, text)):
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
        text = _SCALED.sub(_scaled, text)
        text = _TRAILING_ZEROS.sub(lambda match: match[1] or "", text)
        text = _UNIT.sub(lambda match: _UNIT_OF[match[1].lower()], text)
        text = _MONEY.sub(lambda match: f"{_SIGNS[match[2].lower()]}{match[1]}", text)
        text = _GLUED.sub(r" \1", text)
    return text


def _alpha2digit(text: str) -> str:
    from text_to_num import alpha2digit

    return str(alpha2digit(text, "en", 0))


def _scaled(match: re.Match[str]) -> str:
    power = _SCALES.get(match[4]) or len(match[4]) - 1
    decimals = match[3] or ""
    if len(match[2]) + len(decimals) > 15:
        return match[0]
    number = f"{match[2]}{decimals.ljust(power, '0')}"
    figures = number[: len(match[2]) + power].lstrip("0") or "0"
    rest = decimals[power:].rstrip("0")
    return f"{match[1]}{figures}" + (f".{rest}" if rest else "")


def _from_roman(match: re.Match[str]) -> str:
    values = [_ROMAN_VALUES[letter] for letter in match[0]]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return str(sum(-value if value < following else value for value, following in pairs))
