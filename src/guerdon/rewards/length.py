"""The reward ``length``: is the response as long as it should be?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.binding.annotations import Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.lengths import length_of, length_text, unit_of
from guerdon.rewards.common.parameters import non_negative, one_of, response_text
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_MINIMUM, DEFAULT_MAXIMUM = 1.0, 200.0
DEFAULT_CACHE = 0.2
"""The part of the maximum in which the soft overlong penalty grows, as in DAPO: 4,096 tokens of 20,480."""
SHAPES = ("linear", "cosine", "overlong")


_ANY_MAXIMUM = 1e15


def _check(
    target: Any = None,
    minimum: Any = None,
    maximum: Any = None,
    unit: Any = "words",
    falloff: Any = None,
    shape: Any = "linear",
    cache: Any = None,
    tokenizer: Any = None,
    **_: Any,
) -> None:
    unit_of(unit, tokenizer)
    if maximum is None and one_of(shape, SHAPES, "shape") != "linear":  # then a row must give it
        maximum = _ANY_MAXIMUM
    _curve(shape, target, minimum, maximum, falloff, cache)


@reward_function(scale=(-1, 1), check=_check)
def length(
    response: str,
    *,
    target: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    unit: str = "words",
    falloff: float | None = None,
    shape: str = "linear",
    cache: float | None = None,
    tokenizer: Setting[str | os.PathLike[str] | None] = None,
) -> EvaluateResult:
    """Scores whether the response has the length that is wanted.

    From ``minimum`` to ``maximum`` the score is 1, outside it falls off linearly: to 0 at length 0 and at
    twice the maximum, or at ``falloff`` units outside where that is given; ``falloff=0`` pays nothing
    outside. ``target`` is one length in place of a range. Without a ``minimum`` it is 1, so that an empty
    response is never of the right length; without a ``maximum`` there is none. Without any of the three the
    range is 1 to 200.

    ``shape="cosine"`` falls along half a wave, from 1 at length 0 to 0 at the ``maximum`` and beyond. Below the
    ``minimum`` it falls off linearly to 0; ``minimum=0`` leaves the wave alone. ``shape="overlong"`` only takes
    away: it is 0 up to ``maximum`` − ``cache``, falls linearly to −1 at the ``maximum``, and is −1 beyond. It is
    for a sum, since it does not mind an empty response. ``cache`` is a fifth of the maximum by default.

    ``unit="words"`` counts what white space separates; for Chinese, Japanese or Thai count
    ``"characters"``, which are Unicode code points after composition (NFC), a run of white space as one
    and none at the ends. ``"tokens"`` are those of ``tokenizer``: a folder, a ``tokenizer.json``, or a name on
    the Hugging Face hub; this needs the extra ``tokens``. No row of the data sets it.

    Scale: 0 to 1; with ``shape="overlong"`` −1 to 0.

    The metric ``words``, ``characters`` or ``tokens`` is the length itself.

    Source: a trapezoid, the plainest shape with a gradient outside of the wanted range; the cosine of
    "Demystifying Long Chain-of-Thought Reasoning" (Yeo et al. 2025), which the reward ``accuracy_length`` joins
    with correctness; the soft overlong punishment of DAPO (Yu et al. 2025).

    Raises InputError for negative numbers, a minimum over the maximum, a target beside a range, a shape
    without a maximum, or a tokenizer that cannot be loaded.

    >>> length("one two three", minimum=3, maximum=10).score
    1.0
    >>> length("one two three", target=4).score, length("one two three", maximum=2).score
    (0.75, 0.5)
    >>> round(length("one two three", shape="cosine", maximum=6).score, 6)
    0.5
    >>> length("one two three", shape="overlong", maximum=4, cache=2).score
    -0.5
    """
    text = response_text(response)
    counted = unit_of(unit, tokenizer)
    curve = _curve(shape, target, minimum, maximum, falloff, cache)
    count = length_of(text, counted, tokenizer)
    reason = f"{length_text(count, counted)}, expected {curve.wanted}"
    metric = MetricResult(count, success=curve.low <= count <= curve.high, reason=reason)
    return EvaluateResult(curve.score(count), reason=reason, metrics={counted: metric})


@dataclass(frozen=True, slots=True)
class _LengthCurve:
    """What each length earns, and which lengths are as wanted."""

    low: float
    high: float
    score: Callable[[int], float]

    @property
    def wanted(self) -> str:
        if self.low == self.high:
            return f"{self.low:g}"
        return f"{self.low:g} to {self.high:g}" if self.high < math.inf else f"at least {self.low:g}"


def _curve(shape: Any, target: Any, minimum: Any, maximum: Any, falloff: Any, cache: Any) -> _LengthCurve:
    form = one_of(shape, SHAPES, "shape")
    slope, grace = non_negative(falloff, "falloff"), non_negative(cache, "cache")
    if form == "linear":
        if grace is not None:
            raise InputError('cache belongs to shape="overlong"')
        return _trapezoid(*_range(target, minimum, maximum), slope)
    if target is not None or slope is not None:
        raise InputError(f'target and falloff belong to shape="linear", not to "{form}"')
    if maximum is None:
        raise InputError(f'shape="{form}" needs a maximum')
    low, high = _range(None, minimum, maximum)
    return _wave(low, high, grace) if form == "cosine" else _overlong(minimum, high, grace)


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


def _trapezoid(low: float, high: float, falloff: float | None) -> _LengthCurve:
    def score(count: int) -> float:
        if low <= count <= high:
            return 1.0
        outside = low - count if count < low else count - high
        reach = falloff if falloff is not None else low if count < low else high
        return max(0.0, 1.0 - outside / reach) if reach else 0.0

    return _LengthCurve(low, high, score)


def _wave(low: float, high: float, cache: float | None) -> _LengthCurve:
    if cache is not None:
        raise InputError('cache belongs to shape="overlong"')
    if not high:
        raise InputError('shape="cosine" needs a maximum of more than 0')

    def score(count: int) -> float:
        # Past the maximum the wave would rise again, and pay the longest responses like the shortest.
        at = 0.5 + 0.5 * math.cos(math.pi * min(max(count, low) / high, 1.0))
        return at if count >= low else at * count / low

    return _LengthCurve(low, high, score)


def _overlong(minimum: Any, high: float, cache: float | None) -> _LengthCurve:
    if minimum is not None:
        raise InputError('shape="overlong" has no minimum; add a reward that wants one')
    width = DEFAULT_CACHE * high if cache is None else cache
    if not 0 < width <= high:
        raise InputError(f"cache must be more than 0 and at most the maximum {high:g}, not {width:g}")
    free = high - width
    return _LengthCurve(0.0, free, lambda count: 0.0 if count <= free else max((free - count) / width, -1.0))
