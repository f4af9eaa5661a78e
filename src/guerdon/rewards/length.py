"""The reward ``length``: is the response as long as it should be?"""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards._parameters import non_negative, one_of, response_text
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_MINIMUM, DEFAULT_MAXIMUM = 1.0, 200.0
UNITS = ("words", "characters")


@reward_function(scale=(0, 1))
def length(
    response: str,
    *,
    target: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    unit: str = "words",
    falloff: float | None = None,
) -> EvaluateResult:
    """Scores whether the response has the length that is wanted.

    From ``minimum`` to ``maximum`` the score is 1, outside it falls off linearly: to 0 at length 0 and at
    twice the maximum, or at ``falloff`` units outside where that is given; ``falloff=0`` pays nothing
    outside. ``target`` is one length in place of a range. Without a ``minimum`` it is 1, so that an empty
    response is never of the right length; without a ``maximum`` there is none. Without any of the three the
    range is 1 to 200.

    ``unit="words"`` counts what white space separates; for Chinese, Japanese or Thai count
    ``"characters"``, which are Unicode code points after composition (NFC), a run of white space as one
    and none at the ends.

    Scale: 0 to 1.

    The metric ``words`` or ``characters`` is the length itself.

    Source: a trapezoid, the plainest shape with a gradient outside of the wanted range.

    Raises InputError for negative numbers, a minimum over the maximum, or a target beside a range.

    >>> length("one two three", minimum=3, maximum=10).score
    1.0
    >>> length("one two three", target=4).score, length("one two three", maximum=2).score
    (0.75, 0.5)
    """
    text = response_text(response)
    unit = one_of(unit, UNITS, "unit")
    low, high = _range(target, minimum, maximum)
    slope = non_negative(falloff, "falloff")
    count = _count(text, unit)
    score = _score(count, low, high, slope)
    wanted = f"{low:g}" if low == high else f"{low:g} to {high:g}" if high < math.inf else f"at least {low:g}"
    reason = f"{count} {unit}, wanted {wanted}"
    metric = MetricResult(count, success=low <= count <= high, reason=reason)
    return EvaluateResult(score, reason=reason, metrics={unit: metric})


def _range(target: Any, minimum: Any, maximum: Any) -> tuple[float, float]:
    aim = non_negative(target, "target")
    low, high = non_negative(minimum, "minimum"), non_negative(maximum, "maximum")
    if aim is not None:
        if low is not None or high is not None:
            raise InputError("give either a target, or a minimum and a maximum")
        if aim == 0:
            raise InputError("target must be more than 0")
        return aim, aim
    if low is None and high is None:
        return DEFAULT_MINIMUM, DEFAULT_MAXIMUM
    low = min(DEFAULT_MINIMUM, high or 0.0) if low is None else low
    high = math.inf if high is None else high
    if low > high:
        raise InputError(f"the minimum {low:g} is over the maximum {high:g}")
    return low, high


def _count(text: str, unit: str) -> int:
    words = text.split()
    return len(words) if unit == "words" else len(unicodedata.normalize("NFC", " ".join(words)))


def _score(count: int, low: float, high: float, falloff: float | None) -> float:
    if low <= count <= high:
        return 1.0
    outside = low - count if count < low else count - high
    reach = falloff if falloff is not None else low if count < low else high
    return max(0.0, 1.0 - outside / reach) if reach else 0.0
