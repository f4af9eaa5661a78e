"""The reward ``bleu``: how many runs of words does the response share with the references?"""

from __future__ import annotations

import functools
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import (
    among,
    needs,
    non_negative,
    one_of,
    parameter_check,
    response_text,
    shown,
    yes_or_no,
)
from guerdon.rewards.common.references import accepted
from guerdon.types import EvaluateResult, MetricResult

TOKENIZERS = ("13a", "intl", "zh", "char", "none")
SMOOTHINGS = ("exp", "floor", "add-k", "none")
MAX_ORDER = 8
_BEYOND = 10_000
"""Characters that a response is compared in, beyond twenty times those of the longest reference."""


@reward_function(
    reach=needs("sacrebleu", "text", "the bleu reward"),
    scale=(0, 1),
    check=parameter_check(
        tokenizer=among(TOKENIZERS),
        case_sensitive=yes_or_no,
        smoothing=among(SMOOTHINGS),
        max_order=lambda value, _: _order(value),
        effective_order=yes_or_no,
    ),
)
def bleu(
    response: str,
    ground_truth: Any = None,
    references: Any = None,
    *,
    tokenizer: str = "13a",
    case_sensitive: bool = True,
    smoothing: str = "exp",
    max_order: int = 4,
    effective_order: bool = True,
) -> EvaluateResult:
    """Scores the sentence BLEU of the response against its references, from 0 to 1.

    References come from ``ground_truth`` and the column ``references``; several are used together, as BLEU
    defines it. Text before ``</think>`` is ignored.

    A response of more than twenty times the reference's length and 10,000 characters is compared in that much
    of its beginning; the rest counts as words in vain.

    ``tokenizer`` is one of sacrebleu's that need no download: ``13a`` (the default), ``intl``, ``zh``,
    ``char`` for scripts without spaces, ``none``. ``smoothing`` is ``exp``, ``floor``, ``add-k`` or
    ``none``. ``effective_order`` leaves out the orders of n-grams that a short response cannot have, so that
    a right answer of two words scores 1; ``max_order`` is the longest n-gram.

    Scale: 0 to 1.

    The metric ``brevity_penalty`` is 1 where the response is as long as the closest reference.

    Source: BLEU (Papineni et al. 2002) as computed by sacrebleu (Post 2018), a hundredth of its number.

    Raises InputError where there is no reference, MissingExtraError without sacrebleu.

    >>> bleu("the cat sat on the mat", "the cat sat on the mat").score
    1.0
    >>> round(bleu("the cat is on the mat", ["the cat sat on the mat"]).score, 3)
    0.38
    """
    metric = _metric(
        one_of(tokenizer, TOKENIZERS, "tokenizer"),
        not yes_or_no(case_sensitive, "case_sensitive"),
        one_of(smoothing, SMOOTHINGS, "smoothing"),
        _order(max_order),
        yes_or_no(effective_order, "effective_order"),
    )
    golds = accepted(ground_truth, references)
    text = visible(response_text(response)).strip()
    read = text[: 20 * max(map(len, golds)) + _BEYOND]
    found = metric.corpus_score([read], [[gold] for gold in golds])
    # The precision of every order shrinks with the length, and with them their mean.
    share = len(read) / max(1, len(text))
    metrics = {"brevity_penalty": MetricResult(found.bp)}
    # Rounding leaves a full match a hair over 100.
    return EvaluateResult(min(1.0, max(0.0, round(share * found.score / 100, 12))), metrics=metrics)


def _order(value: Any) -> int:
    number = non_negative(value, "max_order")
    if number is None or not number.is_integer() or not 1 <= number <= MAX_ORDER:
        raise InputError(f"max_order must be a whole number from 1 to {MAX_ORDER}, not {shown(value)}")
    return int(number)


@functools.lru_cache(maxsize=32)
def _metric(tokenizer: str, lowercase: bool, smoothing: str, order: int, effective: bool) -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtraError.of("text", "the bleu reward") from error
    return BLEU(
        tokenize=tokenizer,
        lowercase=lowercase,
        smooth_method=smoothing,
        max_ngram_order=order,
        effective_order=effective,
    )
