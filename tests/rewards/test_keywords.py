"""``keywords``: the share of what is required, nothing where something forbidden occurs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.rewards.keywords import keywords
from guerdon.testing import assert_cases

PARIS = "Paris lies on the Seine; the C++ of cities."


@pytest.mark.parametrize(
    ("response", "given", "score"),
    [
        (PARIS, {"required": ["Paris", "Seine"]}, 1.0),
        (PARIS, {"required": "Paris, Loire"}, 0.5),
        (PARIS, {"required": '["Paris", "Loire", "Rhine", "Rhone"]'}, 0.25),
        (PARIS, {"required": ("Loire",)}, 0.0),
        ("", {"required": "Paris"}, 0.0),
        # A keyword that comes twice counts once.
        (PARIS, {"required": "Paris,Paris,Loire"}, 0.5),
        # Of the row, and of both.
        (PARIS, {"keywords": ["Paris", "Loire"]}, 0.5),
        (PARIS, {"keywords": ["Loire"], "required": "Paris"}, 0.5),
        (PARIS, {"keywords": [], "required": "Paris"}, 1.0),
        # Case.
        (PARIS, {"required": "PARIS,seine"}, 1.0),
        (PARIS, {"required": "PARIS,Seine", "case_sensitive": True}, 0.5),
        (PARIS, {"required": "PARIS", "case_sensitive": "true"}, 0.0),
        ("die Straße", {"required": "STRASSE"}, 1.0),
        ("İstanbul", {"required": "i̇stanbul"}, 1.0),
        # Whole words, phrases, punctuation.
        ("parish", {"required": "paris"}, 0.0),
        ("parish", {"required": "paris", "whole_words": False}, 1.0),
        ("parish", {"required": "paris", "whole_words": "no"}, 1.0),
        (PARIS, {"required": "lies on"}, 1.0),
        ("lies\n  on", {"required": "lies on"}, 1.0),
        (PARIS, {"required": "C++"}, 1.0),
        ("a.b", {"required": "axb"}, 0.0),
        ("under_score", {"required": "under"}, 0.0),
        ("42 apples", {"required": 42}, 1.0),
        ("it is 142", {"required": [42]}, 0.0),
        # Unicode: composed and decomposed, look-alikes, languages without spaces.
        ("cafe\u0301", {"required": "caf\u00e9"}, 1.0),
        ("Pаris", {"required": "Paris"}, 0.0),
        ("私は東京に住む", {"required": "東京", "whole_words": False}, 1.0),
        # Forbidden ones.
        (PARIS, {"forbidden": "London"}, 1.0),
        (PARIS, {"forbidden": "paris"}, 0.0),
        (PARIS, {"required": "Seine", "forbidden": "Paris"}, 0.0),
        (PARIS, {"required": "Seine", "forbidden": "London"}, 1.0),
        (PARIS, {"required": "Seine", "forbidden": "Paris,lies,London", "penalty": 0.25}, 0.5),
        (PARIS, {"required": "Seine", "forbidden": "Paris", "penalty": "0.25"}, 0.75),
        (PARIS, {"required": "Seine", "forbidden": "Paris,lies", "penalty": 2}, 0.0),
        (PARIS, {"required": "Seine", "forbidden": "Paris", "penalty": 0}, 1.0),
        # Hostile ones.
        ("x" * 1_000_000, {"required": "x"}, 0.0),
        ("x " * 500_000, {"required": "x,y"}, 0.5),
        (" " * 1_000_000 + "a b", {"required": "a b"}, 1.0),
        ("a\x00b", {"required": ["a\x00b"]}, 1.0),
        ("a \ud800 b", {"required": "a,b"}, 1.0),
        ("[" * 10_000, {"required": ["["], "whole_words": False}, 1.0),
        ("a" * 100_000, {"required": "(a+)+$"}, 0.0),
    ],
)  # fmt: skip
def test_score(response: str, given: dict[str, Any], score: float) -> None:
    assert keywords(response, **given).unwrap() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "there are no keywords: give required=, forbidden= or a column keywords"),
        ({"required": "a,,b"}, "required holds an empty text"),
        ({"required": '["a"'}, "required starts like a JSON list but is none"),
        ({"required": [1.5]}, "required must hold texts, not 1.5; quote it"),
        ({"required": {"a": 1}}, "required must be a list of texts or a text with commas, not a dict"),
        ({"required": True}, "required must be a list of texts"),
        ({"forbidden": [None]}, "forbidden must hold texts, not None"),
        ({"keywords": 1.5}, "keywords must be a list of texts"),
        ({"required": "Paris", "forbidden": "paris"}, "paris: both required and forbidden"),
        ({"required": "a", "penalty": -1}, "penalty must be a number of 0 or more"),
        ({"required": "a", "whole_words": "maybe"}, 'whole_words must be true or false, not "maybe"'),
    ],
)
def test_what_cannot_be_looked_for_is_an_error(given: dict[str, Any], says: str) -> None:
    result = keywords(PARIS, **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_an_empty_list_of_the_row_does_not_apply() -> None:
    result = keywords(PARIS, [])
    assert (result.score, result.error, result.reason) == (None, None, "the row asks for no keyword")


def test_metrics_name_what_is_missing_and_what_was_found() -> None:
    metrics = keywords(PARIS, required="Paris,Loire", forbidden="Seine,Rhine").metrics
    assert {name: (m.score, m.success, m.reason) for name, m in metrics.items()} == {
        "required": (0.5, False, "missing: Loire"),
        "forbidden": (0.0, False, "found: Seine"),
    }
    assert set(keywords(PARIS, required="Paris").metrics) == {"required"}


def test_the_column_of_each_row_counts() -> None:
    rows = [
        {"messages": [{"role": "assistant", "content": PARIS}], "keywords": words}
        for words in (["Paris"], ["Paris", "Loire"], "Loire", [], None)
    ]
    scores = guerdon.score(keywords, rows, workers=0)
    assert scores.scores == [1.0, 0.5, 0.0, None, None]
    assert [result.error_kind for result in scores] == [None, None, None, None, "input"]


def test_cases() -> None:
    assert_cases("guerdon.rewards.keywords:keywords", Path(__file__).parent / "cases" / "keywords.jsonl")
