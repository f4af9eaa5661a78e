"""The engines in this process give what workers give."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import guerdon
from support.scoring_work import rows


def test_async_calls_are_bounded() -> None:
    running, most = 0, 0

    async def reward(response: str) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return most

    here = guerdon.score(reward, rows(40), concurrency=5, workers=0)
    assert max(s for s in here.scores if s is not None) == 5
    there = guerdon.score(reward, rows(40), concurrency=7)
    assert max(s for s in there.scores if s is not None) == 7


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_same_verdicts_in_process_and_in_workers(workers: int) -> None:
    def reward(response: str, step: int) -> dict[str, Any]:
        if response == "3":
            raise KeyError("three")
        return {"score": int(response) - step, "reason": f"at {step}", "metrics": {"digits": len(response)}}

    scores = guerdon.score(reward, rows(12, step=2), workers=workers)
    assert [r.score for r in scores] == [None if i == 3 else i - 2.0 for i in range(12)]
    assert scores[11].reason == "at 2"
    assert scores[11].metrics["digits"].score == 2.0
    assert scores[3].error is not None
    assert scores[3].error.startswith("KeyError: 'three'")
    assert scores[0].reward == "reward"
    assert scores[0].version == guerdon.RewardFunction(reward).version
