"""Rows that are none, and what is said before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError, InputError
from guerdon.types import Sample
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


ASKED = {"messages": [{"role": "user", "content": "2 + 2?"}], "id": "asked"}


@pytest.mark.parametrize("workers", [0, 1])
def test_a_conversation_without_a_response_is_not_scored(workers: int) -> None:
    scores = guerdon.score(lambda response: 1.0, [*rows(1), ASKED, Sample(**ASKED)], workers=workers)
    assert scores.scores == [1.0, None, None]
    for failed in (scores[1], scores[2]):
        assert failed.error_kind == "input"
        assert 'ends with a message of the role "user"' in (failed.error or "")
    with pytest.raises(InputError, match="the last one must be the assistant's"):
        guerdon.score(lambda response: 1.0, [ASKED] * 3, workers=workers)


def test_a_batch_loses_only_what_has_no_response() -> None:
    def seen(completions: list[str], **_: object) -> list[float]:
        return [float(len(completions))] * len(completions)

    assert guerdon.score(seen, [*rows(2), ASKED, *rows(1)], workers=0).scores == [3.0, 3.0, None, 3.0]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_async_reward_is_held_to_it_too(workers: int) -> None:
    async def one(response: str) -> float:
        return 1.0

    assert guerdon.score(one, [*rows(1), ASKED], workers=workers).scores == [1.0, None]


def test_a_reward_may_score_any_ending() -> None:
    @guerdon.reward_function(allow_any_ending=True)
    def last(messages: list[dict[str, str]]) -> float:
        return float(messages[-1]["role"] == "user")

    for reward in (last, 0.5 * last + 0.5 * last):
        assert guerdon.score(reward, [ASKED, *rows(1)], workers=0).scores == [1.0, 0.0]


def test_a_direct_call_reaches_the_function() -> None:
    def last(messages: list[dict[str, str]]) -> float:
        return float(messages[-1]["role"] == "user")

    assert guerdon.RewardFunction(last)(messages=ASKED["messages"]).score == 1.0
