"""``exact_match``, ``contains`` and ``token_f1``: what cannot be judged, reasons, adversarial responses.

The tables of their verdicts are in ``cases/``.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from guerdon.reward.function import RewardFunction
from guerdon.rewards.contains import contains
from guerdon.rewards.exact_match import exact_match
from guerdon.rewards.token_f1 import token_f1

REWARDS = [exact_match, contains, token_f1]


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
@pytest.mark.parametrize("gold", [None, "", " ", [], [""], {"text": []}])
def test_an_empty_gold_is_never_met(reward: RewardFunction, gold: Any) -> None:
    for response in ("", "Paris"):
        result = reward(response, gold)
        assert (result.score, result.error_kind) == (None, "input")
        assert "there is no accepted answer" in str(result.error)


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
@pytest.mark.parametrize("response", ["", " ", ".", "\x00", "\ud800", "[" * 10_000, "?!", "\u200b"])
def test_what_says_nothing_scores_nothing(reward: RewardFunction, response: str) -> None:
    assert reward(response, "Paris").score == 0


@pytest.mark.parametrize(
    ("reward", "given", "says"),
    [
        (exact_match, {"ignore": "spelling"}, "ignore knows case, whitespace, punctuation, articles"),
        (exact_match, {"ignore": 5.5}, "ignore must be a list of texts"),
        (exact_match, {"extract": "end"}, "extract knows boxed"),
        (contains, {"need": "most"}, "need must be one of any, all"),
        (contains, {"case_sensitive": "maybe"}, "case_sensitive must be true or false"),
        (token_f1, {"extract": "end"}, "extract knows boxed"),
    ],
)
def test_parameters_that_make_no_sense(reward: RewardFunction, given: dict[str, Any], says: str) -> None:
    result = reward("Paris", "Paris", **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_reasons() -> None:
    assert exact_match("Rome", "Paris").reason == '"Rome" is not "Paris"'
    assert exact_match("paris", "Paris").reason == '"paris" is "Paris"'
    assert exact_match("Rome", "Paris", extract="tag").reason == "no answer found"
    assert contains("tea", ["tea", "milk"], need="all").reason == "missing: milk"
    assert token_f1("old Paris", ["Rome", "Paris"]).reason == 'closest to "Paris"'
    assert token_f1("Bonn", "Paris").reason == "no word in common"


def test_of_a_long_response_the_rest_counts_as_words_in_vain() -> None:
    short, long = ("Paris " * count for count in (10, 100_000))
    assert token_f1(short, "Paris").unwrap() == pytest.approx(2 / 11)
    assert 0 < token_f1(long, "Paris").unwrap() < 1e-4
    assert contains("x " * 200_000 + "Paris", "Paris").score == 1
    assert contains("Paris" + " x" * 200_000, "Paris").score == 0


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "A. ", "'s ", "\u0301", "-", "9"])
def test_a_megabyte_ends_soon(reward: RewardFunction, piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    assert reward(text, "Paris").score == 0
    assert time.process_time() - start < 5
