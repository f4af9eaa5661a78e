"""``rouge``: the numbers of its library, what cannot be judged, adversarial responses; its table is in ``cases/``."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.rewards.rouge import rouge
from support.text_rewards import assert_padding_gains_nothing, assert_refused, score_of_a_megabyte

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


@pytest.mark.parametrize("gold", [None, "", " ", [], [""]])
def test_an_empty_reference_is_an_error(gold: Any) -> None:
    assert_refused(rouge, "", gold, "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "rouge3"}, "kind must be one of rouge1, rouge2, rougeL, rougeLsum"),
        ({"measure": "f2"}, "measure must be one of f1, precision, recall"),
        ({"tokenizer": "spm"}, "tokenizer must be one of ascii, unicode"),
        ({"stemmer": "maybe"}, "stemmer must be true or false"),
        ({"references": ["北京"]}, 'has no word of ASCII; use tokenizer="unicode"'),
    ],
)
def test_what_cannot_be_judged_is_an_error(given: dict[str, Any], says: str) -> None:
    assert_refused(rouge, "Paris", "Paris", says, **given)


def test_padding_gains_nothing() -> None:
    assert_padding_gains_nothing(rouge)


@pytest.mark.parametrize("piece", ["a ", "é", "東京", ".", "1,", "[", "\x00", "\ud800", "\n"])
def test_a_megabyte_ends_soon(piece: str) -> None:
    assert score_of_a_megabyte(rouge, piece, "the city is Paris") < 0.01
