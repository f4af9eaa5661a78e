"""Every calling convention of the field, sync and async, bare and decorated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import guerdon
from guerdon import (
    RewardFunction,
    Sample,
    reward_function,
)
from support.convention_rewards import (
    ASYNC,
    MESSAGES,
    OBJECTS,
    ROW,
    SYNC,
    names,
)


@pytest.mark.parametrize("truth", ["4", "5"])
@pytest.mark.parametrize("target", SYNC, ids=names)
def test_every_convention_bare_and_decorated(target: Any, truth: str) -> None:
    expected = float(truth == "4")
    sample = Sample.from_row({**ROW, "ground_truth": truth})
    reward = RewardFunction(target)
    decorated = reward_function(name="x")(target)
    assert reward.is_async is decorated.is_async is False
    results = [
        reward.evaluate(sample),
        decorated.evaluate(sample),
        *reward.evaluate_batch([sample, sample]),
        asyncio.run(reward.aevaluate(sample)),
        *guerdon.score(target, [sample.to_row()] * 2, workers=0),
    ]
    assert [(r.score, r.error) for r in results] == [(expected, None)] * 7


@pytest.mark.parametrize("target", ASYNC, ids=names)
def test_every_convention_async(target: Any) -> None:
    sample = Sample.from_row(ROW)
    reward = RewardFunction(target)
    assert reward.is_async
    results = [
        reward.evaluate(sample),
        reward_function(target).evaluate(sample),
        *reward.evaluate_batch([sample, sample]),
        asyncio.run(reward.aevaluate(sample)),
        *asyncio.run(reward.aevaluate_batch([sample, sample])),
        *guerdon.score(target, [ROW] * 2, workers=0),
    ]
    assert [(r.score, r.error) for r in results] == [(1.0, None)] * 9


def test_any_pointwise_names_in_batch_mode() -> None:
    seen = []

    @reward_function(mode="batch")
    def batched(messages: list[list[dict[str, str]]], level, metadata, id, step=None):
        seen.append((type(messages[0][0]), level, [m["nested"] for m in metadata], id, step))
        return [0.5] * len(messages)

    sample = Sample.from_row({**ROW, "step": 7})
    assert [r.unwrap() for r in batched.evaluate_batch([sample, sample])] == [0.5, 0.5]
    assert seen == [(dict, [3, 3], ["n", "n"], ["r1", "r1"], 7)]
    results = batched(messages=[MESSAGES, OBJECTS], level=[1, 2], metadata=[{"nested": 1}] * 2, id=[1, 2])
    assert [r.unwrap() for r in results] == [0.5, 0.5]
    assert seen[1] == (dict, [1, 2], [1, 1], [1, 2], None)


def test_pointwise_mode_for_names_that_look_batched() -> None:
    @reward_function(mode="pointwise")
    def counts(completions: int) -> float:
        return float(completions)

    assert counts.evaluate(Sample.from_row({**ROW, "completions": 5})).score == 5.0


def test_verls_batched_convention() -> None:
    def compute_score(
        data_sources: list[str],
        solution_strs: list[str],
        ground_truths: list[Any],
        extra_infos: list[dict[str, Any]],
    ) -> list[dict[str, Any]]:
        rows = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        return [
            {"score": float(s == g), "acc": s == g, "level": e["level"], "from": d} for d, s, g, e in rows
        ]

    rows = [
        {
            "messages": [{"role": "assistant", "content": content}],
            "ground_truth": "4",
            "data_source": "sums",
            "level": 2,
        }
        for content in ("4", "5")
    ]
    scores = guerdon.score(compute_score, rows, workers=0)
    assert scores.scores == [1.0, 0.0]
    assert scores[1].metrics["level"].score == 2.0
