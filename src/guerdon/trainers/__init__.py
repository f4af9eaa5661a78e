"""A reward as each trainer calls it: one module a trainer, found by its name."""

from guerdon.trainers.adapter import Adapter, Failures, OnFailure, ScoredBatch
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer, find_trainer, trainers

__all__ = [
    "Adapter",
    "Failures",
    "OnFailure",
    "ScoredBatch",
    "SetupGuide",
    "SetupRequest",
    "Trainer",
    "find_trainer",
    "trainers",
]
