"""The adapter for tinker where its cookbook is not installed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.errors import BindingError, InputError
from guerdon.trainers.tinker import TinkerReward


def right(response: str, answer: str) -> bool:
    return response == answer


def test_a_group_builder_is_pickled_and_its_copies_share_the_reward() -> None:
    reward = RewardFunction(right).to_tinker(on_failure=0.25)
    dataset = reward.dataset([{"prompt": "?", "answer": "4"}] * 5, None, batch_size=2, group_size=3)
    assert [len(dataset), len(dataset.get_batch(1))] == [2, 2]
    copies = [pickle.loads(pickle.dumps(builder)) for builder in dataset.get_batch(0)]
    assert all(copy.reward is reward for copy in copies)
    assert copies[0].columns == {"answer": "4"}
    assert copies[0].logging_tags() == ["right"]


async def _verdict(reward: TinkerReward) -> Any:
    return await reward.verdict("?", "4", answer="4")


def test_a_verdict_without_the_cookbook() -> None:
    import asyncio

    verdict = asyncio.run(_verdict(RewardFunction(right).to_tinker(workers=0)))
    assert (verdict.reward, verdict.metrics) == (1.0, {"right/failed": 0.0})


def test_what_is_no_row_is_said() -> None:
    with pytest.raises(InputError, match="row 1 has no prompt; its columns: question"):
        RewardFunction(right).to_tinker().dataset([{"question": "?"}], None, batch_size=1, group_size=1)


def test_tinker_needs_a_number_and_does_not_skip() -> None:
    with pytest.raises(BindingError, match="needs a number for every sample"):
        RewardFunction(right).to("tinker", on_failure="skip")
