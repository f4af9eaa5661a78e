"""A reward as each trainer calls it: one module a trainer, found by its name."""

from guerdon.trainers.adapter import Adapter, Failures, OnFailure, ScoredBatch
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer, find_trainer, trainers
from guerdon.trainers.sample_log import SampleLog

__all__ = [
    "Adapter",
    "Failures",
    "OnFailure",
    "SampleLog",
    "ScoredBatch",
    "SetupGuide",
    "SetupRequest",
    "Trainer",
    "find_trainer",
    "trainers",
]
