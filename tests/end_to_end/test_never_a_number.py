"""What is wrong is an error or a failure at every entry point, never a number: lengths, types, columns, parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import guerdon
from guerdon import RewardFunction, Sample, weighted
from guerdon.errors import RewardError
from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from guerdon.trainers import Adapter
from support import wrong_rewards
from support.serve_work import call, row

COUNT = 70
"""Samples, in batches of 32, 32 and 6."""
ROWS = [row(f"text {i}") for i in range(COUNT)]
by_name = pytest.mark.parametrize("reward", wrong_rewards.WRONG_LENGTHS, ids=lambda reward: reward.name)


def all_failed(results: Any, kind: str, count: int = COUNT) -> None:
    found = list(results)
    assert [(r.score, r.error_kind) for r in found] == [(None, kind)] * count


# Wrong lengths.


@by_name
def test_a_wrong_length_in_this_process(reward: RewardFunction) -> None:
    scores = guerdon.score(reward, ROWS, workers=0)
    all_failed(scores, "wrong_length")
    assert "not asked again" not in scores[0].error
    assert scores[COUNT - 1].error.endswith("it is not asked again")
    all_failed(guerdon.stream(reward, ROWS, workers=0), "wrong_length")
    all_failed(reward.evaluate_batch([Sample.from_row(one) for one in ROWS]), "wrong_length")


@pytest.mark.sample(2, seconds=3)
@by_name
def test_a_wrong_length_in_workers(reward: RewardFunction) -> None:
    # The last batch is of one sample, for which one result would do.
    all_failed(guerdon.score(reward, ROWS[:65], workers=2), "wrong_length", 65)
    all_failed(asyncio.run(guerdon.ascore(reward, ROWS[:33], workers=1)), "wrong_length", 33)


def test_the_next_run_asks_again() -> None:
    for workers in (0, 1):
        guerdon.score(wrong_rewards.one_for_all, ROWS, workers=workers)
        assert [r.score for r in guerdon.score(wrong_rewards.one_for_all, ROWS[:1], workers=workers)] == [1.0]


@by_name
def test_a_wrong_length_in_a_composition(reward: RewardFunction) -> None:
    whole = weighted(reward, wrong_rewards.good_batch, weights=[0.5, 0.5])
    all_failed(guerdon.score(whole, ROWS, workers=0), "wrong_length")


@by_name
def test_a_wrong_length_in_a_direct_call(reward: RewardFunction) -> None:
    results = reward(completions=["a", "b", "c"])
    if reward.is_async:
        results = asyncio.run(results)
    all_failed(results, "wrong_length", 3)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_wrong_length_in_trainers(workers: int) -> None:
    adapter = wrong_rewards.one_for_all.to_trl(workers=workers, on_failure="skip")
    assert adapter(prompts=["?"] * 33, completions=["a"] * 33) == [None] * 33
    # Asked for a single sample, it would give a number.
    assert adapter(prompts=["?"], completions=["a"]) == [None]
    assert adapter.failures.by_kind == {"wrong_length": 34}
    results = asyncio.run(adapter.aresults([Sample.from_row(ROWS[0])]))
    all_failed(results, "wrong_length", 1)
    strict = wrong_rewards.one_for_all.to_tunix(workers=workers, on_failure="raise")
    with pytest.raises(RewardError, match="1 result for 2 samples"):
        strict(prompts=["?"] * 2, completions=["a", "b"])


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    rewards = [wrong_rewards.one_for_all, wrong_rewards.one_for_all_async]
    running = serve(*rewards, port=0, blocking=False, workers=2)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


@pytest.mark.parametrize("name", ["one_for_all", "one_for_all_async"])
def test_a_wrong_length_at_a_server(server: BackgroundServer, name: str) -> None:
    reply = call(server.url, f"/rewards/{name}/v1/batch_score", {"samples": ROWS[:3]})
    assert {result["error"]["kind"] for result in reply.json["results"]} == {"wrong_length"}
    for _ in range(4):  # whichever worker it comes to
        reply = call(server.url, f"/rewards/{name}/v1/score", ROWS[0])
        assert reply.status >= 400 or reply.json.get("score") is None, reply
    ready = call(server.url, "/health/ready", method="GET")
    assert ready.status == 503
    assert "not asked again" in " ".join(ready.json["reasons"])
    remote = RewardFunction(endpoint=f"{server.url}/rewards/{name}", mode="remote")
    assert [r.score for r in guerdon.score(remote, ROWS[:3])] == [None] * 3


# What a reward raises, and what it returns.


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("reward", wrong_rewards.RAISES, ids=lambda reward: reward.name)
def test_whatever_is_raised_is_a_failure(reward: RewardFunction, workers: int) -> None:
    all_failed(guerdon.score(reward, ROWS[:2], workers=workers), "exception", 2)
    all_failed(Adapter(reward, workers=workers).results([Sample.from_row(ROWS[0])]), "exception", 1)


@pytest.mark.parametrize("reward", wrong_rewards.WRONG_TYPES, ids=lambda reward: reward.name)
def test_a_wrong_type_is_a_failure(reward: RewardFunction) -> None:
    all_failed(guerdon.score(reward, ROWS[:2], workers=0), "invalid_result", 2)
    all_failed([reward(response="a")], "invalid_result", 1)
    assert reward.to_trl(workers=0)(prompts=["?"], completions=["a"]) == [None]


def test_ctrl_c_passes() -> None:
    def interrupted(response: str) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RewardFunction(interrupted).evaluate(Sample.from_row(ROWS[0]))
