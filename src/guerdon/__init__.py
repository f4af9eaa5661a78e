"""Guerdon: the reward layer for training language models by reinforcement.

Write a reward once, as a plain Python function; preview it, score with it, compose it. Every name is imported
when it is first used, so that `import guerdon` costs next to nothing where little of it is needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from guerdon._version import __version__
from guerdon.reward import hooks
from guerdon.scoring import hooks as display_hooks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from guerdon.data import open_dataset
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
    from guerdon.reward.decorator import reward_function
    from guerdon.reward.function import RewardFunction
    from guerdon.reward.registry import get_reward_function, register_reward_function
    from guerdon.reward.scorers.base import Scorer
    from guerdon.scoring.reading import read_scores
    from guerdon.scoring.results import Scores
    from guerdon.scoring.run import ascore, astream, score, stream
    from guerdon.serve.client.async_client import AsyncRewardClient
    from guerdon.serve.client.sync_client import RewardClient
    from guerdon.serve.models import (
        BatchedRequest,
        BatchedResponse,
        EmptyMetadata,
        Request,
        Response,
        ServerInfo,
        Turn,
        ValidatedBatchedRequest,
        ValidatedRequest,
    )
    from guerdon.serve.reward_server import RewardServer
    from guerdon.types import (
        EvaluateResult,
        Message,
        MetricResult,
        MetricRewardOutput,
        RewardOutput,
        Sample,
        StepOutput,
    )

_HOMES = {
    "guerdon.data": ("open_dataset",),
    "guerdon.errors": ("RewardError",),
    "guerdon.reward.compose": (
        *("clip", "curriculum", "gate", "maximum", "minimum"),
        *("normalize", "product", "shaped", "weighted"),
    ),
    "guerdon.reward.decorator": ("reward_function",),
    "guerdon.reward.function": ("RewardFunction",),
    "guerdon.reward.registry": ("get_reward_function", "register_reward_function"),
    "guerdon.scoring.reading": ("read_scores",),
    "guerdon.scoring.results": ("Scores",),
    "guerdon.scoring.run": ("ascore", "astream", "score", "stream"),
    "guerdon.serve.client.async_client": ("AsyncRewardClient",),
    "guerdon.serve.client.sync_client": ("RewardClient",),
    "guerdon.serve.models": (
        *("BatchedRequest", "BatchedResponse", "EmptyMetadata", "Request"),
        *("Response", "ServerInfo", "Turn", "ValidatedBatchedRequest", "ValidatedRequest"),
    ),
    "guerdon.serve.reward_server": ("RewardServer",),
    "guerdon.types": (
        *("EvaluateResult", "Message", "MetricResult", "MetricRewardOutput"),
        *("RewardOutput", "Sample", "StepOutput"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncRewardClient",
    "BatchedRequest",
    "BatchedResponse",
    "EmptyMetadata",
    "EvaluateResult",
    "Message",
    "MetricResult",
    "MetricRewardOutput",
    "Request",
    "Response",
    "RewardClient",
    "RewardError",
    "RewardFunction",
    "RewardOutput",
    "RewardServer",
    "Sample",
    "Scores",
    "ServerInfo",
    "StepOutput",
    "Turn",
    "ValidatedBatchedRequest",
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
    "read_scores",
    "register_reward_function",
    "reward_function",
    "score",
    "shaped",
    "stream",
    "weighted",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'guerdon' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _run_isolated(
    reward: RewardFunction, sample: Sample, explicit: Mapping[str, Any], timeout: float
) -> EvaluateResult:
    from guerdon.scoring.single_call import evaluate_isolated

    return evaluate_isolated(reward, sample, explicit, timeout)


def _make_remote_scorer(spec: hooks.RemoteRewardSpec) -> Scorer:
    from guerdon.serve.client.remote import RemoteScorer

    return RemoteScorer.of(spec)


def _wrap_foreign(package: str, target: Any, fixed: Mapping[str, Any]) -> Scorer | None:
    from guerdon.trainers.foreign.registry import wrap_foreign

    return wrap_foreign(package, target, fixed)


def _make_adapter(trainer: str, reward: RewardFunction, options: Mapping[str, Any]) -> Any:
    from guerdon.trainers.registry import find_trainer

    return find_trainer(trainer).make(reward, **options)


def _render_text(shown: Any) -> str:
    from guerdon.console.scores import scores_text

    return scores_text(shown)


def _render_html(shown: Any) -> str:
    from guerdon.console.html import scores_html

    return scores_html(shown)


def _scoring_progress(wanted: bool) -> AbstractContextManager[Any]:
    from guerdon.console.job_progress import scoring_progress

    return scoring_progress(wanted)


display_hooks.scoring_progress = _scoring_progress
display_hooks.render_text = _render_text
display_hooks.render_html = _render_html
hooks.make_adapter = _make_adapter
hooks.run_isolated = _run_isolated
hooks.wrap_foreign = _wrap_foreign
hooks.make_remote_scorer = _make_remote_scorer
