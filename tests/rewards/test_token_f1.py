"""``token_f1``: what cannot be judged, reasons, adversarial responses; its table is in ``cases/``."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.rewards.token_f1 import token_f1
from support.text_rewards import assert_refused, score_of_a_megabyte


@pytest.mark.parametrize("gold", [None, "", " ", [], [""], {"text": []}])
@pytest.mark.parametrize("response", ["", "Paris"])
def test_an_empty_gold_is_never_met(response: str, gold: Any) -> None:
    assert_refused(token_f1, response, gold, "there is no accepted answer")


@pytest.mark.parametrize("response", ["", " ", ".", "\x00", "\ud800", "[" * 10_000, "?!", "\u200b"])
def test_what_says_nothing_scores_nothing(response: str) -> None:
    assert token_f1(response, "Paris").score == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"extract": "end"}, "extract knows boxed"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], says: str) -> None:
    assert_refused(token_f1, "Paris", "Paris", says, **given)


def test_reasons() -> None:
    assert token_f1("old Paris", ["Rome", "Paris"]).reason == 'closest to "Paris"'
    assert token_f1("Bonn", "Paris").reason == "no word in common"


def test_of_a_long_response_the_rest_counts_as_words_in_vain() -> None:
    short, long = ("Paris " * count for count in (10, 100_000))
    assert token_f1(short, "Paris").unwrap() == pytest.approx(2 / 11)
    assert 0 < token_f1(long, "Paris").unwrap() < 1e-4


@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "A. ", "'s ", "\u0301", "-", "9"])
def test_a_megabyte_ends_soon(piece: str) -> None:
    assert score_of_a_megabyte(token_f1, piece, "Paris") == 0
