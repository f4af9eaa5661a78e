"""The reward ``token_f1``: how many words do the response and an accepted answer share?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.text import bare, claims, places
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import parameter_check, response_text, shown
from guerdon.rewards.common.references import accepted
from guerdon.rewards.common.text import MAX_TEXT, gold_words, words
from guerdon.types import EvaluateResult, MetricResult


@reward_function(
    scale=(0, 1),
    check=parameter_check(extract=lambda value, _: places(value, ())),
)
def token_f1(
    response: str,
    ground_truth: Any = None,
    answers: Any = None,
    aliases: Any = None,
    *,
    extract: str | Sequence[str] | None = None,
) -> EvaluateResult:
    """Scores the F1 of the words that the response and the accepted answer have in common.

    Precision is the share of the response's words that the answer has too, recall the share of the answer's
    words that the response has; a word counts as often as it comes. Of several accepted answers the best
    counts. Case, punctuation and articles do not count; scripts without spaces are compared by character.

    ``extract`` says where the answer stands: ``all`` (the default), ``boxed``, ``tag``, ``hashes``,
    ``label`` or ``phrase``; of several in one place the last.
    Of a response of more than 100,000 characters that many are compared, and the rest counts as words in
    vain.

    Scale: 0 to 1.

    The metrics ``precision`` and ``recall`` are those of the best answer.

    Source: F1 of SQuAD (Rajpurkar et al. 2016); by character as in MLQA (Lewis et al. 2020).

    Raises InputError where there is no accepted answer.

    >>> round(token_f1("the Eiffel Tower in Paris", ["Eiffel Tower", "Tour Eiffel"]).score, 3)
    0.667
    """
    golds = accepted(ground_truth, answers, aliases)
    found = claims(visible(response_text(response)), places(extract, ("all",)))
    text = found[-1].text if found else ""
    text = text if extract is None else bare(text)
    given = Counter(words(text[:MAX_TEXT]))
    share = min(1.0, MAX_TEXT / max(1, len(text)))
    best, precision, recall, gold = max((*_overlap(given, gold, share), gold) for gold in golds)
    reason = f"closest to {shown(gold)}" if best else "no word in common"
    metrics = {"precision": MetricResult(precision), "recall": MetricResult(recall)}
    return EvaluateResult(best, reason=reason, metrics=metrics)


def _overlap(given: Counter[str], gold: str, share: float) -> tuple[float, float, float]:
    """F1, precision and recall."""
    wanted = Counter(gold_words(gold))
    shared = (given & wanted).total()
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = share * shared / given.total(), shared / wanted.total()
    return 2 * precision * recall / (precision + recall), precision, recall
