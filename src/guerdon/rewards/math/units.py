"""Units of measurement as school problems use them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dimensions = frozenset[tuple[str, int]]

# Dimension: names, each with its size in the first. A name stands in the singular; a temperature has no size.
_TABLE: Mapping[str, Mapping[str, str | int]] = {
    "length": {
        "m meter metre": 1, "km kilometer kilometre": 1000, "cm centimeter centimetre": "1/100",
        "mm millimeter millimetre": "1/1000", "dm decimeter decimetre": "1/10", "in inch inches": "0.0254",
        "ft foot feet": "0.3048", "yd yard": "0.9144", "mi mile": "1609.344",
    },
    "mass": {
        "g gram gramme": 1, "kg kilogram kilo": 1000, "mg milligram": "1/1000",
        "t ton tonne": 1_000_000, "lb lbs pound": "453.59237", "oz ounce": "28.349523125",
    },
    "time": {
        "s sec second": 1, "min minute": 60, "h hr hour": 3600, "d day": 86400, "week wk": 604800,
        "ms millisecond": "1/1000",
    },
    "calendar": {"month": 1, "yr year": 12, "decade": 120, "century centuries": 1200},
    "volume": {
        "L l liter litre": "1/1000", "mL ml milliliter millilitre cc": "1/1000000", "cl cL centiliter": "1/100000",
        "gal gallon": "0.003785411784", "qt quart": "0.000946352946", "pt pint": "0.000473176473",
        "cup": "0.0002365882365", "tablespoon tbsp": "0.00001478676478125", "teaspoon tsp": "0.00000492892159375",
    },
    "area": {"ha hectare": 10_000, "acre": "4046.8564224"},
    "speed": {"mph": "0.44704", "kph kmh": "5/18"},
    "dollar": {"dollar USD buck": 1, "cent penny pennies ¢": "1/100", "dime": "1/10", "nickel": "1/20",
               "quarter": "1/4"},
    "euro": {"euro EUR": 1},
    "pound sterling": {"GBP £": 1},
    "yen": {"yen JPY": 1},
    "rupee": {"rupee INR Rs": 1},
    "angle": {"degree deg °": 1, "arcminute": "1/60"},
    "radian": {"radian rad": 1},
    "Celsius": {"°C Celsius celsius": 1},
    "Fahrenheit": {"°F Fahrenheit fahrenheit": 1},
    "information": {"byte": 1, "kilobyte KB": 1000, "megabyte MB": 1_000_000, "gigabyte GB": 1_000_000_000},
}  # fmt: skip
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cubed": 3, "cu": 3}
_PROSE = frozenset(
    {
        "unit",
        "units",
        "square",
        "cubic",
        "squared",
        "cubed",
        "sq",
        "a",
        "an",
        "the",
        "of",
        "each",
        "in",
        "to",
        "total",
    }
)
SCALES: Mapping[str, int] = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
CHANGES = frozenset(
    {
        *(
            "plus",
            "minus",
            "times",
            "over",
            "by",
            "to",
            "mod",
            "modulo",
            "factorial",
            "half",
            "halves",
            "thirds",
        ),
        *(
            "fourths",
            "fifths",
            "sixths",
            "sevenths",
            "eighths",
            "ninths",
            "tenths",
            "hundredths",
            "thousandths",
        ),
        *("negative", "root", "base", "except", "excluding", "excluded", "if", "when", "unless", "without"),
        *(
            "or",
            "and",
            "than",
            "less",
            "more",
            "most",
            "least",
            "below",
            "above",
            "infinity",
            "pi",
            "max",
            "min",
        ),
    }
)
"""Words behind a number that make another value of it and are not a unit."""
PERCENT = frozenset({"percent", "pct", "percentage"})
_PART = re.compile(r"/|\^\s*\{?\s*(-?[123])\s*\}?|[^\W\d_]+|[°¢£]C?F?")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: what it measures, and how large it is; of unknown words nothing is known but the words."""

    text: str
    dimensions: Dimensions = frozenset()
    size: Fraction = Fraction(1)

    @property
    def is_known(self) -> bool:
        return bool(self.dimensions)


def _names() -> Mapping[str, tuple[str, Fraction]]:
    return {
        name: (dimension, Fraction(size))
        for dimension, sizes in _TABLE.items()
        for names, size in sizes.items()
        for name in names.split()
    }


_NAMES = _names()
_BASES: Mapping[str, Dimensions] = {
    "volume": frozenset({("length", 3)}),
    "area": frozenset({("length", 2)}),
    "speed": frozenset({("length", 1), ("time", -1)}),
}


def known(word: str) -> tuple[str, Fraction] | None:
    """The dimension and the size of a unit's name, in the singular or the plural."""
    for name in (word, word.lower() if len(word) > 2 else word):
        if name in _NAMES:
            return _NAMES[name]
        if name.endswith("es") and name[:-2] in _NAMES:
            return _NAMES[name[:-2]]
        if len(name) > 3 and name.endswith("s") and name[:-1] in _NAMES:
            return _NAMES[name[:-1]]
    return None


@lru_cache(maxsize=1024)
def unit(text: str) -> Unit:
    """What a text such as ``square feet``, ``cm^2`` or ``km/h`` measures.

    >>> unit("cubic meters").dimensions == unit("m^3").dimensions, unit("apples").is_known
    (True, False)
    """
    words = _PART.findall(text)
    parts = [match[0] for match in _PART.finditer(text.replace("-", " "))]
    dimensions: dict[str, int] = {}
    size, side, power = Fraction(1), 1, 1
    last: tuple[Mapping[str, int], Fraction] | None = None
    for part in parts:
        if part in ("/", "per", "an"):
            side = -1
        elif part.startswith("^"):
            raised = int(re.sub(r"[^-\d]", "", part))
            if last is None:
                return Unit(_plain(text))
            size *= last[1] ** (raised - 1)
            for name, count in last[0].items():
                dimensions[name] = dimensions.get(name, 0) + count * (raised - 1)
        elif part.lower() in _POWERS:
            if part.lower() in ("squared", "cubed") and last is not None:
                more = _POWERS[part.lower()] - 1
                size *= last[1] ** more
                for name, count in last[0].items():
                    dimensions[name] = dimensions.get(name, 0) + count * more
            else:
                power = _POWERS[part.lower()]
        elif (found := known(part)) is not None:
            base = dict(_BASES.get(found[0], {(found[0], 1)}))
            counts = {name: count * power * side for name, count in base.items()}
            factor = found[1] ** (power * side)
            for name, count in counts.items():
                dimensions[name] = dimensions.get(name, 0) + count
            size, last, power = size * factor, (counts, factor), 1
        elif part.lower() not in _PROSE:
            return Unit(_plain(text))
    kept = frozenset((name, count) for name, count in dimensions.items() if count)
    return Unit(_plain(text), kept, size) if words else Unit("")


def _plain(text: str) -> str:
    """The words of a unit in one spelling: small letters, no plural."""
    words = [word.lower() for word in re.findall(r"[^\W_]+|[°¢£]", text)]
    kept = [word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in words]
    return " ".join(word for word in kept if word not in ("a", "an", "the", "of"))
