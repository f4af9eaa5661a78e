"""The reward ``contains``: does the response name an accepted answer as a whole phrase?"""

from __future__ import annotations

from typing import Any

from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import among, one_of, parameter_check, response_text, yes_or_no
from guerdon.rewards.common.references import accepted
from guerdon.rewards.common.text import DEFAULT, MAX_TEXT, gold_words, occurs, words
from guerdon.types import EvaluateResult, MetricResult

NEEDS = ("any", "all")


@reward_function(
    scale=(0, 1),
    check=parameter_check(need=among(NEEDS), case_sensitive=yes_or_no),
)
def contains(
    response: str,
    ground_truth: Any = None,
    answers: Any = None,
    aliases: Any = None,
    *,
    need: str = "any",
    case_sensitive: bool = False,
) -> EvaluateResult:
    """Scores 1 where an accepted answer stands in the response as a whole phrase, else 0.

    Words match as wholes and in their order: ``art`` is not in "party", ``5`` not in "15" or "-5". Case,
    accents of composition, articles and punctuation between words do not count. Scripts without spaces are
    matched by character. Text before ``</think>`` and in HTML comments is ignored; of
    a response of more than 100,000 characters the last count.

    ``need="all"`` wants every accepted answer in the response, not just one.

    A response can contain an answer and deny it, or list every answer that there is: where that matters use
    ``short_answer``.

    Scale: 0 or 1.

    The metric ``found`` is the share of the accepted answers that occur.

    Source: the accuracy of open-domain question answering (Mallen et al. 2023 and others), on word
    boundaries and never of an empty answer.

    Raises InputError where there is no accepted answer.

    >>> contains("I believe it was the Eiffel Tower.", "Eiffel Tower").score
    1.0
    >>> contains("A party.", "art").score, contains("Tea, and coffee.", ["tea", "milk"], need="all").score
    (0.0, 0.0)
    """
    golds = accepted(ground_truth, answers, aliases)
    wants_all = one_of(need, NEEDS, "need") == "all"
    ignore = DEFAULT - {"case"} if yes_or_no(case_sensitive, "case_sensitive") else DEFAULT
    text = words(visible(response_text(response))[-MAX_TEXT:], ignore)
    missing = [gold for gold in golds if not occurs(gold_words(gold, ignore), text)]
    share = 1 - len(missing) / len(golds)
    right = not missing if wants_all else len(missing) < len(golds)
    reason = f"missing: {', '.join(missing)}"[:200] if missing else "all found"
    return EvaluateResult(
        float(right), reason=reason, metrics={"found": MetricResult(share, success=right, reason=reason)}
    )
