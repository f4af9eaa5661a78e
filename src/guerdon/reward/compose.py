"""Rewards made of rewards, by name: weighted, product, minimum, maximum, gate, clip, normalize, …

Wherever a reward is asked for, anything that resolves will do: a RewardFunction, a function, a
registered name, a path. Every component appears in the result's ``metrics`` under its own name with its
weight, the metrics of nested ones as ``a/b``. A failed component fails the whole, unless
``on_failure="skip"``: then the rest counts, with the failed one's weight shared out among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guerdon.checks import finite
from guerdon.errors import BindingError
from guerdon.reward.function import RewardFunction, composition
from guerdon.reward.registry import resolve
from guerdon.reward.scorers.component import Component, RewardLike, named_components
from guerdon.reward.scorers.composite import OnFailure
from guerdon.reward.scorers.selection import Curriculum, ThresholdGate
from guerdon.reward.scorers.sums import Extremum, Product, Weighted
from guerdon.reward.scorers.transforms import Clip, Normalize


def weighted(
    *rewards: Any,
    weights: Sequence[float] | None = None,
    on_failure: OnFailure = "fail",
    name: str | None = None,
) -> RewardFunction:
    """The sum of weight × score.

    Takes rewards and ``weights`` (1 each by default), or one mapping from reward to weight. The weights
    are used as they stand; they need not add up to 1.

    >>> a, b = (RewardFunction(f) for f in (lambda response: 1.0, lambda response: 0.5))
    >>> weighted(a.with_name("a"), b.with_name("b"), weights=[0.7, 0.3])(response="").score
    0.85
    >>> weighted({a.with_name("a"): 0.7, b.with_name("b"): 0.3})(response="").score
    0.85
    """
    if len(rewards) == 1 and isinstance(rewards[0], Mapping):
        if weights is not None:
            raise BindingError("give the weights in the mapping or as weights=, not both")
        rewards, weights = tuple(rewards[0]), list(rewards[0].values())
        if any(isinstance(weight, RewardFunction) or callable(weight) for weight in weights):
            raise BindingError(
                "the mapping goes from reward to weight; a reward's name is given by .with_name(…)"
            )
    if any(isinstance(reward, tuple | list) and len(rewards) > 1 for reward in rewards):
        raise BindingError("give the rewards one after the other, and weights=[…]; or {reward: weight}")
    flat = _flat(rewards)
    factors = [1.0] * len(flat) if weights is None else [_weight(w) for w in weights]
    if len(factors) != len(flat):
        raise BindingError(f"{len(flat)} rewards need {len(flat)} weights, not {len(factors)}")
    components = named_components([(resolve(r), f) for r, f in zip(flat, factors, strict=True)])
    return composition(Weighted(components, on_failure), name)


def product(*rewards: Any, on_failure: OnFailure = "fail", name: str | None = None) -> RewardFunction:
    """The product of the scores."""
    return composition(Product(_components(rewards), on_failure), name)


def minimum(*rewards: Any, on_failure: OnFailure = "fail", name: str | None = None) -> RewardFunction:
    """The least of the scores."""
    return composition(Extremum("minimum", _components(rewards), on_failure), name)


def maximum(*rewards: Any, on_failure: OnFailure = "fail", name: str | None = None) -> RewardFunction:
    """The greatest of the scores."""
    return composition(Extremum("maximum", _components(rewards), on_failure), name)


def gate(
    condition: Any,
    then: Any,
    *,
    threshold: float = 0.5,
    otherwise: Any = 0.0,
    name: str | None = None,
) -> RewardFunction:
    """``then`` where the condition scores at least ``threshold``, else ``otherwise``: a score or a reward.

    >>> short = RewardFunction(lambda response: len(response) < 10, name="short")
    >>> right = RewardFunction(lambda response: "4" in response, name="right")
    >>> [gate(short, right)(response=r).score for r in ("4", "5", "the answer is 4")]
    [1.0, 0.0, 0.0]
    >>> [gate(short, right, otherwise=-right)(response=r).score for r in ("4", "5", "the answer is 4")]
    [1.0, 0.0, -1.0]
    """
    least = _weight(threshold, "threshold")
    if isinstance(otherwise, RewardFunction | str) or callable(otherwise):
        return composition(ThresholdGate(_components((condition, then, otherwise)), least), name)
    return composition(
        ThresholdGate(_components((condition, then)), least, _weight(otherwise, "otherwise")), name
    )


def clip(
    reward: Any, low: float = -math.inf, high: float = math.inf, *, name: str | None = None
) -> RewardFunction:
    """The score held between ``low`` and ``high``; an infinite bound is none.

    >>> [clip(lambda response: s, 0, 1)(response="").score for s in (-2.0, 0.5, 2.0)]
    [0.0, 0.5, 1.0]
    """
    bounds = _bound(low, "low", -math.inf), _bound(high, "high", math.inf)
    return composition(Clip(_components((reward,))[0], *bounds), name)


def normalize(reward: Any, mean: float = 0.5, std: float = 0.2, *, name: str | None = None) -> RewardFunction:
    """The score clipped at ±3 ``std`` around ``mean``, then (score − mean) / (std + 1e-8).

    The formula and its defaults are those of agent-tunix's ``normalize_reward``.

    >>> round(normalize(lambda response: 0.9)(response="").score, 4)
    2.0
    """
    numbers = _weight(mean, "mean"), _weight(std, "std")
    return composition(Normalize(_components((reward,))[0], *numbers), name)


def shaped(
    base: Any, *bonuses: Any, low: float = 0.0, high: float = 1.0, name: str | None = None
) -> RewardFunction:
    """The base plus small bonuses or penalties, held between ``low`` and ``high``.

    A bonus is a reward, such as ``0.05 * steps``, or a pair ``(reward, weight)``.
    """
    parts: list[tuple[RewardLike, float | None]] = [(resolve(base), 1.0)]
    for bonus in bonuses:
        reward, weight = bonus if isinstance(bonus, tuple) and len(bonus) == 2 else (bonus, 1.0)
        found, factor = resolve(reward), _weight(weight)
        scorer = found.scorer
        # A bonus written as 0.05 * steps is a sum of one term: its own name is what a reader looks for.
        if isinstance(scorer, Weighted) and found.options.name is None and not scorer.bias:
            parts += [(c.reward, (c.weight or 0.0) * factor) for c in scorer.components]
        else:
            parts.append((found, factor))
    total = composition(Weighted(named_components(parts)), "shaped")
    bounds = _bound(low, "low", -math.inf), _bound(high, "high", math.inf)
    return composition(Clip(Component("shaped", total), *bounds), name)


def curriculum(stages: Mapping[int, Any], *, name: str | None = None) -> RewardFunction:
    """The reward whose turn it is: ``{0: easy, 1000: medium, 5000: full}`` on the training ``step``.

    A stage holds from its step up to the next one's. Raises BindingError where step 0 has no stage.

    >>> easy, full = (RewardFunction(f) for f in (lambda response: 1.0, lambda response: 0.0))
    >>> [curriculum({0: easy, 100: full})(response="", step=s).score for s in (0, 99, 100)]
    [1.0, 1.0, 0.0]
    """
    if not isinstance(stages, Mapping) or not stages:
        raise BindingError("curriculum takes a mapping from training step to reward")
    for step in stages:
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise BindingError(f"a stage must start at a whole number of steps, not {step!r}")
    starts = sorted(stages)
    components = named_components([(resolve(stages[start]), None) for start in starts])
    return composition(Curriculum(dict(zip(starts, components, strict=True))), name)


def _flat(rewards: Sequence[Any]) -> list[Any]:
    """The rewards themselves, also where they came as one list."""
    if len(rewards) == 1 and isinstance(rewards[0], Iterable) and not isinstance(rewards[0], str):
        return list(rewards[0])
    return list(rewards)


def _components(rewards: Sequence[Any]) -> tuple[Component, ...]:
    return named_components([(resolve(reward), None) for reward in _flat(rewards)])


def _bound(value: Any, what: str, none: float) -> float:
    return none if isinstance(value, float) and value == none else _weight(value, what)


def _weight(value: Any, what: str = "weight") -> float:
    try:
        return finite(value, what)
    except ValueError as error:
        raise BindingError(str(error)) from None
