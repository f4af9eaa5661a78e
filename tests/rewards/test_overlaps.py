"""``rouge`` and ``bleu``: the libraries' numbers, what cannot be judged, adversarial responses.

The tables of their scores are in ``cases/``.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from guerdon.reward.function import RewardFunction
from guerdon.rewards.bleu import bleu
from guerdon.rewards.rouge import rouge

REWARDS = [rouge, bleu]
TEXTS = [
    ("The quick brown fox jumps over the lazy dog.", "A quick brown dog jumped over the lazy fox."),
    ("It rained.\nThe match was cancelled.", "The match was cancelled\nbecause of the rain."),
]


@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize(("response", "reference"), TEXTS)
def test_rouge_is_the_library_s(kind: str, stemmer: bool, response: str, reference: str) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer([kind], use_stemmer=stemmer)
    wanted = scorer.score(reference, response)[kind]
    metrics = rouge(response, reference, kind=kind, stemmer=stemmer).metrics
    found = [metrics[name].score for name in ("precision", "recall", "f1")]
    assert found == pytest.approx([wanted.precision, wanted.recall, wanted.fmeasure])


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


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
@pytest.mark.parametrize("gold", [None, "", " ", [], [""]])
def test_an_empty_reference_is_an_error(reward: RewardFunction, gold: Any) -> None:
    result = reward("", gold)
    assert (result.score, result.error_kind) == (None, "input")


@pytest.mark.parametrize(
    ("reward", "given", "says"),
    [
        (rouge, {"kind": "rouge3"}, "kind must be one of rouge1, rouge2, rougeL, rougeLsum"),
        (rouge, {"measure": "f2"}, "measure must be one of f1, precision, recall"),
        (rouge, {"tokenizer": "spm"}, "tokenizer must be one of ascii, unicode"),
        (rouge, {"stemmer": "maybe"}, "stemmer must be true or false"),
        (rouge, {"references": ["北京"]}, 'has no word of ASCII; use tokenizer="unicode"'),
        (bleu, {"tokenizer": "spm"}, "tokenizer must be one of 13a, intl, zh, char, none"),
        (bleu, {"smoothing": "much"}, "smoothing must be one of exp, floor, add-k, none"),
        (bleu, {"max_order": 0}, "max_order must be a whole number from 1 to 8, not 0"),
        (bleu, {"max_order": 9}, "max_order must be a whole number from 1 to 8, not 9"),
        (bleu, {"max_order": 2.5}, "max_order must be a whole number from 1 to 8, not 2.5"),
        (bleu, {"effective_order": "maybe"}, "effective_order must be true or false"),
    ],
)
def test_what_cannot_be_judged_is_an_error(reward: RewardFunction, given: dict[str, Any], says: str) -> None:
    result = reward("Paris", "Paris", **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
def test_padding_gains_nothing(reward: RewardFunction) -> None:
    text = "the cat sat on the mat"
    scores = [reward(text + " and so on" * count, text).unwrap() for count in (0, 1, 10, 1_000, 100_000)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1
    assert scores[-1] < 0.001


@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.name))
@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "[", "\x00", "\ud800", "\n"])
def test_a_megabyte_ends_soon(reward: RewardFunction, piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    assert reward(text, "the city is Paris").unwrap() < 0.01
    assert time.process_time() - start < 5
