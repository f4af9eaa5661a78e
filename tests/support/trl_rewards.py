"""Rewards of prompts alone, so that what a trainer must log can be worked out by hand."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from guerdon import RewardFunction, reward_function

SCORES = {"one": 1.0, "half": 0.5}
TIMEOUT = 0.3


@reward_function(name="grade")
def grade(response: str, kind: str, level: int) -> tuple[float, dict[str, float]]:
    """One or a half by the prompt; fails for one kind of prompt, takes forever for another."""
    assert (type(kind), type(level)) == (str, int)
    if kind == "bad":
        raise ValueError("no luck")
    if kind == "slow":
        time.sleep(60)
    return SCORES[kind], {"double": 2 * SCORES[kind]}


async def agrade(response: str, kind: str, level: int) -> tuple[float, dict[str, float]]:
    """The same, awaited."""
    assert (type(kind), type(level)) == (str, int)
    if kind == "bad":
        raise ValueError("no luck")
    await asyncio.sleep(60 if kind == "slow" else 0.01)
    return SCORES[kind], {"double": 2 * SCORES[kind]}


asynchronous_grade = RewardFunction(agrade, name="grade")


@reward_function(name="grade")
def levels(response: str, level: int, step: int, **others: Any) -> float:
    """Another reward of the same name; TRL's own arguments never reach it."""
    assert not {"trainer_state", "log_metric", "log_extra", "environments"} & set(others), others
    return float(level) + 10 * step
