"""Guerdon: the reward layer for training language models by reinforcement."""

from __future__ import annotations

from guerdon._version import __version__
from guerdon.errors import RewardError
from guerdon.reward.compose import (
    clip,
    curriculum,
    gate,
    maximum,
    minimum,
    normalize,
    product,
    shaped,
    weighted,
)
from guerdon.reward.function import RewardFunction, reward_function
from guerdon.reward.registry import get_reward_function, register_reward_function
from guerdon.types import (
    EvaluateResult,
    Message,
    MetricResult,
    MetricRewardOutput,
    RewardOutput,
    Sample,
    StepOutput,
)
