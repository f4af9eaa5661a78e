"""Numbers in words, quantities and Roman numerals, in one spelling."""

from __future__ import annotations

import pytest

from guerdon.rewards.short_answer.number_words import with_figures


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("twenty-four", "24"),
        ("one hundred and five thousand", "105000"),
        ("a hundred years", "100 years"),
        ("nineteen sixty-nine", "1969"),
        ("the twenty-first century", "the 21st century"),
        ("3 million", "3000000"),
        ("1.25 billion", "1250000000"),
        ("$1.5 million", "$1500000"),
        ("1,234,567", "1234567"),
        ("2.50 and 3.0", "2.5 and 3"),
        ("version 10.0.1", "version 10.0.1"),
        ("18 12 men", "18 12 men"),
        ("five dollars", "$5"),
        ("5 euros", "€5"),
        ("five percent", "5%"),
        ("90 degrees", "90°"),
        ("5 kilometres", "5 km"),
        ("5km", "5 km"),
        ("60 miles per hour", "60 mph"),
        ("World War II", "World War 2"),
        ("Henry VIII", "Henry 8"),
        ("Super Bowl LI", "Super Bowl 51"),
        ("I, V and X", "I, V and X"),
        ("Malcolm X", "Malcolm X"),
        ("the IVs and VIs", "the IVs and VIs"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_spelling(text: str, wanted: str) -> None:
    assert with_figures(text) == wanted
