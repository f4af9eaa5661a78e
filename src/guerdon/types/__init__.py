"""The nouns that flow through everything: messages, samples, results."""

from guerdon.types.messages import FunctionCall, MappingModel, Message, ToolCall, as_messages, check_ending
from guerdon.types.results import (
    EvaluateResult,
    MetricResult,
    MetricRewardOutput,
    Provenance,
    RewardOutput,
    StepOutput,
)
from guerdon.types.sample import Sample

__all__ = [
    "EvaluateResult",
    "FunctionCall",
    "MappingModel",
    "Message",
    "MetricResult",
    "MetricRewardOutput",
    "Provenance",
    "RewardOutput",
    "Sample",
    "StepOutput",
    "ToolCall",
    "as_messages",
    "check_ending",
]
