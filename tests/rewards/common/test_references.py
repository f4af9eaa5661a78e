"""Accepted answers in the forms of the field's data sets."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.common.references import accepted


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        (("Paris",), ("Paris",)),
        ((" Paris ",), ("Paris",)),
        ((42,), ("42",)),
        ((42.0,), ("42",)),
        ((0.5,), ("0.5",)),
        ((True,), ("True",)),
        ((["Paris", "Lutetia", "Paris"],), ("Paris", "Lutetia")),
        ((("Paris",),), ("Paris",)),
        (('["Paris", "Lutetia"]',), ("Paris", "Lutetia")),
        (('{"text": ["Paris"]}',), ("Paris",)),
        (("[Ar] 3d10",), ("[Ar] 3d10",)),
        (("{x}",), ("{x}",)),
        (("[" * 5000,), ("[" * 5000,)),
        (({"text": ["Paris", "in Paris"], "answer_start": [3, 0]},), ("Paris", "in Paris")),
        (
            ({"value": "Mark Twain", "aliases": ["Twain"], "normalized_value": "mark twain"},),
            ("Mark Twain", "Twain"),
        ),
        (([{"text": "Paris", "tokens": ["Paris"]}],), ("Paris",)),
        (("Paris", None, ["Lutetia"]), ("Paris", "Lutetia")),
        ((None, ["Paris", ""]), ("Paris",)),
    ],
)
def test_accepted(columns: tuple[Any, ...], wanted: tuple[str, ...]) -> None:
    assert accepted(*columns) == wanted


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ((), "there is no accepted answer"),
        ((None,), "there is no accepted answer"),
        (("",), "there is no accepted answer"),
        ((" \n",), "there is no accepted answer"),
        (([],), "there is no accepted answer"),
        ((["", " "],), "there is no accepted answer"),
        (({"text": []},), "there is no accepted answer"),
        (({"id": 3},), "an object needs one of value, text, answer, answers, aliases, name"),
        ((["Paris", None],), "holds None; leave it out"),
        ((float("nan"),), "must be finite, not nan"),
        ((b"Paris",), "must be text or a number, not a bytes"),
        ((object(),), "must be text or a number, not a object"),
        (("x" * 20_001,), "has 20,001 characters, over 20,000"),
    ],
)
def test_what_is_no_answer(columns: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        accepted(*columns)
