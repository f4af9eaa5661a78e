"""Sums and products of rewards, flattened: ``0.7 * a + 0.3 * b`` is one weighted composition of two."""

from __future__ import annotations

import math

from guerdon.errors import BindingError
from guerdon.reward.evaluation import RewardEvaluation
from guerdon.reward.scorers.component import RewardLike, named_components
from guerdon.reward.scorers.composite import Composite
from guerdon.reward.scorers.sums import Product, Weighted


def total(left: RewardEvaluation, right: RewardEvaluation | float, sign: float = 1.0) -> Weighted:
    """``left + sign * right``."""
    terms, bias = _terms(left, 1.0)
    if isinstance(right, float):
        return Weighted(named_components(terms), bias=bias + sign * right)
    more, constant = _terms(right, sign)
    return Weighted(named_components([*terms, *more]), bias=bias + constant)


def scaled(reward: RewardEvaluation, factor: float) -> Weighted:
    """``factor * reward``. Raises BindingError for a factor that is not finite."""
    factor = float(factor)
    if not math.isfinite(factor):
        raise BindingError(f"a weight must be finite, not {factor}")
    terms, bias = _terms(reward, factor)
    return Weighted(named_components(terms), bias=bias)


def times(left: RewardEvaluation, right: RewardEvaluation) -> Product:
    """``left * right``."""
    factors = [*_factors(left), *_factors(right)]
    return Product(named_components([(factor, None) for factor in factors]))


def _terms(reward: RewardEvaluation, factor: float) -> tuple[list[tuple[RewardLike, float | None]], float]:
    """A reward as the terms of a sum, and a constant."""
    inner = _mergeable(reward)
    if isinstance(inner, Weighted):
        return [(c.reward, (c.weight or 0.0) * factor) for c in inner.components], inner.bias * factor
    return [(reward, factor)], 0.0


def _factors(reward: RewardEvaluation) -> list[RewardLike]:
    inner = _mergeable(reward)
    return [c.reward for c in inner.components] if isinstance(inner, Product) else [reward]


def _mergeable(reward: RewardEvaluation) -> Composite | None:
    """The composition whose parts a larger one may take over; a name of its own keeps it whole."""
    scorer = reward.scorer
    if isinstance(scorer, Composite) and reward.options.name is None and scorer.on_failure == "fail":
        return scorer
    return None
