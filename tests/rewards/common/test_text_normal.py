"""Words in one spelling: what is ignored, what never is, and scripts without spaces."""

from __future__ import annotations

import pytest

from guerdon.rewards.common.text import DEFAULT, normal, occurs, without_accents, words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The  Eiffel\nTower!", "eiffel tower"),
        ("U.S.A.", "usa"),
        ("St. Louis", "st louis"),
        ("rock ’n’ roll", "rock n roll"),
        ("AT&T", "at and t"),
        ("twenty–four", "twenty four"),
        # Marks that belong to numbers and names.
        ("-1.5", "-1.5"),
        ("−1.5", "-1.5"),
        ("(-3)", "-3"),
        ("5 - 3", "5 3"),
        ("1,234,567.", "1234567"),
        ("3,5", "3 5"),
        ("10:30", "10:30"),
        ("1/2", "1/2"),
        ("5 %", "5%"),
        ("C# and C++", "c# and c++"),
        ("No.5", "no 5"),
        # Articles, where they are some.
        ("vitamin A", "vitamin a"),
        ("A vitamin", "vitamin"),
        ("an apple a day", "apple day"),
        ("Plan A works", "plan a works"),
        ("the", "the"),
        ("The The", "the"),
        # Unicode.
        ("Ｐａｒｉｓ", "paris"),
        ("٢٤ २४", "24 24"),
        ("x²", "x^2"),
        ("3½", "3 1/2"),
        ("caf\u0065\u0301", "caf\u00e9"),
        ("Straße", "strasse"),
        ("Acme™", "acme"),
        ("a\u200bb", "ab"),
        ("\u202eParis\u202c", "paris"),
        ("हिन्दी", "हिन्दी"),
        # Nothing but marks stays.
        ("?", "?"),
        ("", ""),
    ],
)
def test_normal(text: str, wanted: str) -> None:
    assert normal(text) == wanted


@pytest.mark.parametrize(
    ("ignore", "wanted"),
    [
        ((), "The  Café."),
        (("case",), "the  café."),
        (("whitespace",), "The Café."),
        (("punctuation",), "The  Café"),
        (("articles", "whitespace"), "Café."),
        (("accents",), "The  Cafe."),
        (tuple({*DEFAULT, "accents"}), "cafe"),
    ],
)
def test_each_difference_by_itself(ignore: tuple[str, ...], wanted: str) -> None:
    assert normal("The  Café.", ignore) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Röntgen, Łódź, São Tomé, Ærø", "Rontgen, Lodz, Sao Tome, AEro"),
        ("ё", "е"),
        ("が", "が"),
        ("हिन्दी", "हिन्दी"),
        ("plain", "plain"),
    ],
)
def test_accents(text: str, wanted: str) -> None:
    assert without_accents(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("東京タワー 2020", ["東", "京", "タ", "ワ", "ー", "2020"]),
        ("서울 특별시", ["서울", "특별시"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("a\ud800b c", ["a\ud800b", "c"]),
        ("  ", []),
    ],
)
def test_words(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        (("new", "york"), ["in", "new", "york"], True),
        (("york", "new"), ["new", "york"], False),
        (("york",), ["yorkshire"], False),
        ((), ["york"], False),
    ],
)
def test_occurs(phrase: tuple[str, ...], text: list[str], found: bool) -> None:
    assert occurs(phrase, text) is found
