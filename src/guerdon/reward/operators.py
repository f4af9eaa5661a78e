"""Sums and products of rewards, flattened: ``0.7 * a + 0.3 * b`` is one weighted composition of two."""

from __future__ import annotations

import math

from guerdon.errors import BindingError
from guerdon.reward.scorers.composite import Product, RewardLike, Weighted, named_components


def total(left: RewardLike, right: RewardLike | float, sign: float = 1.0) -> Weighted:
    """``left + sign * right``."""
    terms, bias = _terms(left, 1.0)
    if isinstance(right, float):
        return Weighted(named_components(terms), bias=bias + sign * right)
    more, constant = _terms(right, sign)
    return Weighted(named_components([*terms, *more]), bias=bias + constant)


def scaled(reward: RewardLike, factor: float) -> Weighted:
    """``factor * reward``. Raises BindingError for a factor that is not finite."""
    factor = float(factor)
    if not math.isfinite(factor):
        raise BindingError(f"a weight must be finite, not {factor}")
    terms, bias = _terms(reward, factor)
    return Weighted(named_components(terms), bias=bias)


def times(left: RewardLike, right: RewardLike) -> Product:
    """``left * right``."""
    factors = [*_factors(left), *_factors(right)]
    return Product(named_components([(factor, None) for factor in factors]))


def _terms(reward: RewardLike, factor: float) -> tuple[list[tuple[RewardLike, float | None]], float]:
    """A reward as the terms of a sum, and a constant."""
    inner = reward.mergeable
    if isinstance(inner, Weighted):
        return [(c.reward, (c.weight or 0.0) * factor) for c in inner.components], inner.bias * factor
    return [(reward, factor)], 0.0


def _factors(reward: RewardLike) -> list[RewardLike]:
    inner = reward.mergeable
    return [c.reward for c in inner.components] if isinstance(inner, Product) else [reward]
