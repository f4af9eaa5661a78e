"""Gates and curricula: which component decides, and which are called."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import (
    RewardFunction,
    Sample,
    curriculum,
    gate,
)
from guerdon.errors import InputError
from support.composition_work import NUMBERS, SAMPLE, A, B, broken, constant, score


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_gate_opens_at_its_threshold(
    condition: float, then: float, threshold: float, otherwise: float
) -> None:
    gated = gate(constant(condition), constant(then), threshold=threshold, otherwise=otherwise)
    assert score(gated) == (then if condition >= threshold else otherwise)


@given(st.sets(st.integers(1, 50), max_size=4), st.integers(0, 60))
def test_curriculum_picks_the_last_stage_begun(starts: set[int], step: int) -> None:
    stages = {start: constant(float(start)) for start in {0, *starts}}
    expected = float(max(start for start in stages if start <= step))
    reward = curriculum(stages)
    assert reward(response="", step=step).score == expected
    sample = Sample(messages=SAMPLE.messages, metadata={"step": step})
    assert reward.evaluate(sample).score == expected
    assert asyncio.run(reward.aevaluate(sample)).score == expected


def test_a_gate_between_two_rewards() -> None:
    ways = gate(A, B, otherwise=-B, threshold=0.5)
    assert (score(ways), [c.name for c in ways.components]) == (1.0, ["a", "b", "weighted"])
    shut = gate(A, B, otherwise=constant(0.25, "other"), threshold=0.75)
    result = shut.evaluate(SAMPLE)
    assert (result.score, list(result.metrics)) == (0.25, ["a", "a/part", "other"])
    assert shut.parameters["threshold"] == 0.75
    assert "otherwise" not in shut.parameters
    assert score(gate(A, B, otherwise="guerdon.rewards.length:length", threshold=0.75)) == 1.0
    assert shut.version != gate(A, B, otherwise=0.25, threshold=0.75).version


def test_a_gate_calls_only_where_it_leads() -> None:
    open_, shut = (gate(A, broken(), otherwise=B, threshold=t) for t in (0.5, 0.75))
    assert (open_.evaluate(SAMPLE).error_kind, score(shut)) == ("exception", 1.0)
    # In a batch both are called, but only one counts.
    batched = RewardFunction(lambda completions, **_: [0.5] * len(completions), name="batched")
    assert gate(batched, broken(), otherwise=B, threshold=0.75).evaluate_batch([SAMPLE])[0].score == 1.0
    assert gate(batched, B, otherwise=broken()).evaluate_batch([SAMPLE])[0].score == 1.0
    nothing = constant(None, "nothing")
    silent = gate(A, B, otherwise=nothing, threshold=0.75).evaluate(SAMPLE)
    assert (silent.score, silent.reason) == (None, "nothing does not apply")


def test_a_shut_gate_does_not_call_the_rest() -> None:
    called = []
    then = RewardFunction(lambda response: called.append(1) or 1.0)
    assert score(gate(constant(0.0), then)) == 0.0
    assert called == []
    assert score(gate(constant(0.5), then)) == 1.0
    assert called == [1]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (None, "give the row a column step"),
        ("5", "the training step must be a number, not '5'"),
        (-1, "must be 0 or more, not -1"),
        (math.nan, "must be finite"),
        (math.inf, "must be finite"),
    ],
)
def test_a_curriculum_without_a_step(step: Any, says: str) -> None:
    metadata = {} if step is None else {"step": step}
    result = curriculum({0: A}).evaluate(Sample(messages=SAMPLE.messages, metadata=metadata))
    assert (result.score, result.error_kind) == (None, "input")
    with pytest.raises(InputError, match=says):
        result.unwrap()
