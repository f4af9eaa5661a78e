"""A reward as each trainer calls it: one module a trainer, found by its name."""

from guerdon.trainers.adapter import Adapter, Failures, OnFailure, ScoredBatch
from guerdon.trainers.registry import Recipe, Trainer, Wanted, find_trainer, trainers

__all__ = [
    "Adapter",
    "Failures",
    "OnFailure",
    "Recipe",
    "ScoredBatch",
    "Trainer",
    "Wanted",
    "find_trainer",
    "trainers",
]
