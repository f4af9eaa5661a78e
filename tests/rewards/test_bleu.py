"""``bleu``: the numbers of its library, what cannot be judged, adversarial responses; its table is in ``cases/``."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from guerdon.rewards.bleu import bleu
from support.text_rewards import assert_padding_gains_nothing, assert_refused, score_of_a_megabyte

TEXTS = [
    ("The quick brown fox jumps over the lazy dog.", "A quick brown dog jumped over the lazy fox."),
    ("It rained.\nThe match was cancelled.", "The match was cancelled\nbecause of the rain."),
]


@pytest.mark.parametrize("tokenizer", ["13a", "intl", "zh", "char", "none"])
@pytest.mark.parametrize(("response", "reference"), TEXTS)
def test_bleu_is_the_library_s(tokenizer: str, response: str, reference: str) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    wanted = sacrebleu.sentence_bleu(response, [reference], tokenize=tokenizer, use_effective_order=True)
    assert bleu(response, reference, tokenizer=tokenizer).unwrap() == pytest.approx(wanted.score / 100)


def test_bleu_says_nothing_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert bleu("New York", "New York", effective_order=False).score == 0
    assert caplog.records == []


@pytest.mark.parametrize("gold", [None, "", " ", [], [""]])
def test_an_empty_reference_is_an_error(gold: Any) -> None:
    assert_refused(bleu, "", gold, "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tokenizer": "spm"}, "tokenizer must be one of 13a, intl, zh, char, none"),
        ({"smoothing": "much"}, "smoothing must be one of exp, floor, add-k, none"),
        ({"max_order": 0}, "max_order must be a whole number from 1 to 8, not 0"),
        ({"max_order": 9}, "max_order must be a whole number from 1 to 8, not 9"),
        ({"max_order": 2.5}, "max_order must be a whole number from 1 to 8, not 2.5"),
        ({"effective_order": "maybe"}, "effective_order must be true or false"),
    ],
)
def test_what_cannot_be_judged_is_an_error(given: dict[str, Any], says: str) -> None:
    assert_refused(bleu, "Paris", "Paris", says, **given)


def test_padding_gains_nothing() -> None:
    assert_padding_gains_nothing(bleu)


@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "[", "\x00", "\ud800", "\n"])
def test_a_megabyte_ends_soon(piece: str) -> None:
    assert score_of_a_megabyte(bleu, piece, "the city is Paris") < 0.01
