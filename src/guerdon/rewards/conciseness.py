"""The reward ``conciseness``: does the response say it in few words?"""

from __future__ import annotations

import os
from typing import Any

from guerdon.reward.binding.annotations import Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.lengths import length_of, length_text, unit_of
from guerdon.rewards.common.parameters import above_zero, response_text
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_TARGET = 100


def _check(target: Any = None, unit: Any = "words", tokenizer: Any = None, **_: Any) -> None:
    unit_of(unit, tokenizer)
    if target is not None:
        above_zero(target, "target")


@reward_function(scale=(0, 1), check=_check)
def conciseness(
    response: str,
    *,
    target: float = DEFAULT_TARGET,
    unit: str = "words",
    tokenizer: Setting[str | os.PathLike[str] | None] = None,
) -> EvaluateResult:
    """Scores how short the response is: in full up to ``target``, and target / length beyond.

    So twice as long earns half and ten times as long a tenth: every word less is worth something, however long
    the response is, and no response earns nothing for its length alone. A response without any letter or digit
    says nothing, and earns 0. Correctness does not count: multiply it with a reward
    for that.

    ``unit`` is ``words``, ``characters``, or the ``tokens`` of ``tokenizer``, as for the reward ``length``.

    Scale: 0 to 1.

    The metric ``words``, ``characters`` or ``tokens`` is the length itself.

    Source: the conciseness reward of agent-tunix's guide, with a tail in place of its sharp end at 100 words.

    Raises InputError for a target that is not more than 0, or a tokenizer that cannot be loaded.

    >>> conciseness("six times seven is 42", target=5).score
    1.0
    >>> conciseness("six times seven is 42", target=2).score, conciseness("").score
    (0.4, 0.0)
    """
    text = response_text(response)
    counted, aim = unit_of(unit, tokenizer), above_zero(target, "target")
    count = length_of(text, counted, tokenizer)
    says = any(map(str.isalnum, text))
    score = min(1.0, aim / count) if says and count else 0.0
    reason = (
        f"{length_text(count, counted)}, expected at most {aim:g}"
        if says
        else "says nothing: no letter and no digit"
    )
    metric = MetricResult(count, success=says and count <= aim, reason=reason)
    return EvaluateResult(score, reason=reason, metrics={counted: metric})
