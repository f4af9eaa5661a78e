"""The reward ``rouge``: how much of a reference do the words of the response cover?"""

from __future__ import annotations

import functools
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import (
    among,
    needs,
    one_of,
    parameter_check,
    response_text,
    shown,
    yes_or_no,
)
from guerdon.rewards.common.references import accepted
from guerdon.rewards.common.text import words
from guerdon.types import EvaluateResult, MetricResult

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
TOKENIZERS = ("ascii", "unicode")
MEASURES = ("f1", "precision", "recall")
_BEYOND = 10_000
"""Characters that a response is compared in, beyond four times those of the longest reference."""


@reward_function(
    reach=needs("rouge_score", "text", "the rouge reward"),
    scale=(0, 1),
    check=parameter_check(
        kind=among(KINDS), measure=among(MEASURES), stemmer=yes_or_no, tokenizer=among(TOKENIZERS)
    ),
)
def rouge(
    response: str,
    ground_truth: Any = None,
    references: Any = None,
    *,
    kind: str = "rougeL",
    measure: str = "f1",
    stemmer: bool = False,
    tokenizer: str = "ascii",
) -> EvaluateResult:
    """Scores the ROUGE of the response against its reference; of several the best counts.

    ``kind`` is ``rouge1`` or ``rouge2`` (words or pairs of words in common), ``rougeL`` (the longest common
    subsequence, the default) or ``rougeLsum`` (the same line by line, for summaries). ``measure`` is ``f1``,
    ``precision`` or ``recall``; recall alone pays a response that says everything. ``stemmer`` compares
    English words without their endings.

    ``tokenizer="ascii"`` is that of the original: only a–z and digits are words. ``unicode`` has the words of
    every script, and characters where a script has no spaces.

    Text before ``</think>`` is ignored. A response of more than four times the reference's
    length and 10,000 characters is compared in that much of its beginning; the rest counts as words in
    vain.

    Scale: 0 to 1.

    The metrics ``precision``, ``recall`` and ``f1`` are those of the best reference.

    Source: ROUGE (Lin 2004) as computed by google-research's rouge-score.

    Raises InputError where there is no reference, or one without a word that the tokenizer knows;
    MissingExtraError without rouge-score.

    >>> round(rouge("the cat sat on a mat", "the cat is on the mat").score, 3)
    0.667
    >>> rouge("cats", "a cat", kind="rouge1", measure="recall", stemmer=True).score
    0.5
    """
    name, measured = one_of(kind, KINDS, "kind"), one_of(measure, MEASURES, "measure")
    scorer = _scorer(name, yes_or_no(stemmer, "stemmer"), one_of(tokenizer, TOKENIZERS, "tokenizer"))
    golds = accepted(ground_truth, references)
    for gold in golds:
        if not _has_words(scorer, gold):
            raise InputError(f'the reference {shown(gold)} has no word of ASCII; use tokenizer="unicode"')
    text = visible(response_text(response)).strip()
    read = text[: 4 * max(map(len, golds)) + _BEYOND]
    found = max((scorer.score(gold, read)[name] for gold in golds), key=lambda score: score.fmeasure)
    precision = found.precision * len(read) / max(1, len(text))
    f1 = 2 * precision * found.recall / (precision + found.recall) if precision else 0.0
    scores = {"f1": f1, "precision": precision, "recall": found.recall}
    return EvaluateResult(scores[measured], metrics={n: MetricResult(s) for n, s in scores.items()})


@functools.lru_cache(maxsize=4096)
def _has_words(scorer: Any, gold: str) -> bool:
    return bool(scorer._tokenizer.tokenize(gold))


class _Words:
    """The words of every script, in rouge-score's interface for tokenizers."""

    def __init__(self, stemmer: Any) -> None:
        self._stem = stemmer.stem if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        found = words(text, ("case", "punctuation", "unicode"))
        # As rouge-score does it: only what is longer than three letters has an ending.
        return [self._stem(word) if len(word) > 3 else word for word in found] if self._stem else found


@functools.lru_cache(maxsize=32)
def _scorer(kind: str, stemmer: bool, tokenizer: str) -> Any:
    try:
        from rouge_score import tokenizers
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtraError.of("text", "the rouge reward") from error
    default = tokenizers.DefaultTokenizer(stemmer)
    return RougeScorer([kind], tokenizer=_Words(default._stemmer) if tokenizer == "unicode" else default)
