"""``contains``: what cannot be judged, reasons, adversarial responses; its table is in ``cases/``."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.rewards.contains import contains
from support.text_rewards import assert_refused, score_of_a_megabyte


@pytest.mark.parametrize("gold", [None, "", " ", [], [""], {"text": []}])
@pytest.mark.parametrize("response", ["", "Paris"])
def test_an_empty_gold_is_never_met(response: str, gold: Any) -> None:
    assert_refused(contains, response, gold, "there is no accepted answer")


@pytest.mark.parametrize("response", ["", " ", ".", "\x00", "\ud800", "[" * 10_000, "?!", "\u200b"])
def test_what_says_nothing_scores_nothing(response: str) -> None:
    assert contains(response, "Paris").score == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"need": "most"}, "need must be one of any, all"),
        ({"case_sensitive": "maybe"}, "case_sensitive must be true or false"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], says: str) -> None:
    assert_refused(contains, "Paris", "Paris", says, **given)


def test_reasons() -> None:
    assert contains("tea", ["tea", "milk"], need="all").reason == "missing: milk"


def test_all_of_a_long_response_counts() -> None:
    assert contains("x " * 200_000 + "Paris", "Paris").score == 1
    assert contains("Paris" + " x" * 200_000, "Paris").score == 0


@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "A. ", "'s ", "\u0301", "-", "9"])
def test_a_megabyte_ends_soon(piece: str) -> None:
    assert score_of_a_megabyte(contains, piece, "Paris") == 0
