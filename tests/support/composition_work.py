"""What the tests of compositions share: rewards that give a constant or fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from guerdon import (
    EvaluateResult,
    MetricResult,
    RewardFunction,
    Sample,
)

SAMPLE = Sample(messages=[{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}])


NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


SCORES = st.lists(NUMBERS, min_size=1, max_size=4)


def constant(value: float | None, name: str | None = None) -> RewardFunction:
    return RewardFunction(lambda response: value, name=name or "constant")


def broken(name: str = "broken") -> RewardFunction:
    def fail(response: str) -> float:
        raise ValueError("no luck")

    return RewardFunction(fail, name=name)


def score(reward: RewardFunction) -> float:
    return reward.evaluate(SAMPLE).unwrap()


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-6)


# Names and metrics


A = RewardFunction(lambda response: (0.5, {"part": 0.25}), name="a")


B = RewardFunction(
    lambda response: EvaluateResult(1.0, "fine", {"x": MetricResult(2, True, "why")}), name="b"
)
