"""Rows that are none, and what is said before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError, InputError
from support.scoring_work import rows


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ("data.jsonl", "there is no file 'data.jsonl'; samples are a path, rows"),
        ("", "there is no file ''"),
        ("The answer is 4.\nSo: 4", "one response goes into a list"),
        (b"text", "must be rows, not bytes"),
        ({"messages": []}, r"not a mapping; one row goes into a list: \[row\]"),
        ({"response": ["a"]}, r"into a table: pandas.DataFrame\(columns\)"),
        (5, "must be rows, not a number"),
        (None, "must be a list or an iterator"),
        ([5, 6], "a row must be an object"),
        ([{"question": "?"}], "no column for the response"),
        ([{"messages": []}], "is empty"),
        ([{"messages": [{"content": "x"}]}], r"messages\[0\].role"),
        ([None], "a row must be an object"),
    ],
)
def test_samples_that_no_row_can_be_read_of(samples: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        guerdon.score(lambda response: 1.0, samples)


def test_one_malformed_row_among_good_ones_fails_alone() -> None:
    for workers in (0, 1):
        scores = guerdon.score(
            lambda response: 1.0, [*rows(2), {"messages": 5}, None, *rows(1)], workers=workers
        )
        assert scores.scores == [1.0, 1.0, None, None, 1.0]
        assert scores[2].error_kind == scores[3].error_kind == "input"


def test_a_missing_parameter_is_said_before_anything_runs() -> None:
    def reward(response: str, gold: str) -> float:
        raise AssertionError("ran")

    with pytest.raises(BindingError, match=r"'gold', which nothing supplies.*columns there are: golds"):
        guerdon.score(reward, rows(2, golds="x"))
