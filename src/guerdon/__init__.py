"""Guerdon: the reward layer for training language models by reinforcement.

Write a reward once, as a plain Python function; preview it, score with it, compose it. What is needed to
write and call rewards is imported at once; the rest (scoring many, data, servers) when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
from guerdon.reward.function import RewardFunction, reward_function, set_isolation
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from guerdon.data import open_dataset
    from guerdon.scoring.results import Scores
    from guerdon.scoring.run import ascore, astream, score, stream
    from guerdon.serve.protocols.adaptive import (
        BatchedRequest,
        BatchedResponse,
        EmptyMetadata,
        Request,
        Response,
        ServerInfo,
        Turn,
        ValidatedRequest,
    )
    from guerdon.serve.server import RewardServer

_LAZY = {
    "open_dataset": "guerdon.data",
    "Scores": "guerdon.scoring.results",
    "ascore": "guerdon.scoring.run",
    "astream": "guerdon.scoring.run",
    "score": "guerdon.scoring.run",
    "stream": "guerdon.scoring.run",
    "RewardServer": "guerdon.serve.server",
    **dict.fromkeys(
        (
            "BatchedRequest",
            "BatchedResponse",
            "EmptyMetadata",
            "Request",
            "Response",
            "ServerInfo",
            "Turn",
            "ValidatedRequest",
        ),
        "guerdon.serve.protocols.adaptive",
    ),
}

__all__ = [
    "BatchedRequest",
    "BatchedResponse",
    "EmptyMetadata",
    "EvaluateResult",
    "Message",
    "MetricResult",
    "MetricRewardOutput",
    "Request",
    "Response",
    "RewardError",
    "RewardFunction",
    "RewardOutput",
    "RewardServer",
    "Sample",
    "Scores",
    "ServerInfo",
    "StepOutput",
    "Turn",
    "ValidatedRequest",
    "__version__",
    "ascore",
    "astream",
    "clip",
    "curriculum",
    "gate",
    "get_reward_function",
    "maximum",
    "minimum",
    "normalize",
    "open_dataset",
    "product",
    "register_reward_function",
    "reward_function",
    "score",
    "shaped",
    "stream",
    "weighted",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'guerdon' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _isolated(
    reward: RewardFunction, sample: Sample, explicit: Mapping[str, Any], timeout: float
) -> EvaluateResult:
    from guerdon.scoring.isolation import evaluate_isolated

    return evaluate_isolated(reward, sample, explicit, timeout)


set_isolation(_isolated)
