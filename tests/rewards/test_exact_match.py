"""``exact_match``: what cannot be judged, reasons, adversarial responses; its table is in ``cases/``."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.rewards.exact_match import exact_match
from support.text_rewards import assert_refused, score_of_a_megabyte


@pytest.mark.parametrize("gold", [None, "", " ", [], [""], {"text": []}])
@pytest.mark.parametrize("response", ["", "Paris"])
def test_an_empty_gold_is_never_met(response: str, gold: Any) -> None:
    assert_refused(exact_match, response, gold, "there is no accepted answer")


@pytest.mark.parametrize("response", ["", " ", ".", "\x00", "\ud800", "[" * 10_000, "?!", "\u200b"])
def test_what_says_nothing_scores_nothing(response: str) -> None:
    assert exact_match(response, "Paris").score == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ignore": "spelling"}, "ignore knows case, whitespace, punctuation, articles"),
        ({"ignore": 5.5}, "ignore must be a list of texts"),
        ({"extract": "end"}, "extract knows boxed"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], says: str) -> None:
    assert_refused(exact_match, "Paris", "Paris", says, **given)


def test_reasons() -> None:
    assert exact_match("Rome", "Paris").reason == '"Rome" is not "Paris"'
    assert exact_match("paris", "Paris").reason == '"paris" is "Paris"'
    assert exact_match("Rome", "Paris", extract="tag").reason == "no answer found"


@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "A. ", "'s ", "\u0301", "-", "9"])
def test_a_megabyte_ends_soon(piece: str) -> None:
    assert score_of_a_megabyte(exact_match, piece, "Paris") == 0
