"""The columns that a reward reads of its samples."""

from __future__ import annotations

import inspect
from typing import Any

from guerdon.reward.binding.conventions import POINTWISE, STANDARD_NAMES
from guerdon.reward.function import RewardFunction
from guerdon.reward.scorers.function_scorer import FunctionScorer

_TRUTHS = ("ground_truth", "answer")


def reward_columns(reward: RewardFunction) -> list[dict[str, Any]]:
    """What a function takes that is no part of the conversation."""
    scorer = reward.scorer
    if not isinstance(scorer, FunctionScorer):
        found: dict[str, dict[str, Any]] = {}
        for component in reward.components:
            if not isinstance(component.reward, RewardFunction):
                continue
            for column in reward_columns(component.reward):
                known = found.setdefault(column["name"], column)
                known["required"] = known["required"] or column["required"]
        return list(found.values())
    columns = []
    for parameter in scorer.open_parameters():
        if parameter.name in STANDARD_NAMES and parameter.name not in _TRUTHS:
            continue
        if reward.is_batch and parameter.name not in POINTWISE and parameter.name.endswith("s"):
            continue  # a list of prompts or completions
        annotation = parameter.annotation
        columns.append(
            {
                "name": parameter.name,
                "required": parameter.required,
                "annotation": None if annotation in (inspect.Parameter.empty, "") else _named(annotation),
            }
        )
    return columns


def _named(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if type(annotation) is type else str(annotation).replace("typing.", "")
