"""Compositions of any kind: names, metrics, failures, batches, and components side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import (
    EvaluateResult,
    MetricResult,
    RewardFunction,
    Sample,
    clip,
    curriculum,
    gate,
    maximum,
    minimum,
    normalize,
    product,
    reward_function,
    shaped,
    weighted,
)
from support.composition_work import NUMBERS, SAMPLE, A, B, broken, close, constant, score


@given(st.lists(st.tuples(NUMBERS, st.floats(0.01, 10), st.booleans()), min_size=1, max_size=5))
def test_skipping_renormalises_the_weights(parts: list[tuple[float, float, bool]]) -> None:
    rewards = [constant(value) if works else broken() for value, _, works in parts]
    factors = [factor for _, factor, _ in parts]
    kept = [(value, factor) for value, factor, works in parts if works]
    result = weighted(rewards, weights=factors, on_failure="skip").evaluate(SAMPLE)
    if not kept:
        assert (result.score, result.error_kind) == (None, "exception")
        return
    share = sum(factors) / sum(factor for _, factor in kept)
    assert result.unwrap() == close(sum(value * factor * share for value, factor in kept))
    # What is shown adds up to the score.
    shown = sum(m.score * (m.weight or 0.0) for m in result.metrics.values())
    assert result.unwrap() == close(shown)
    skipped = len(parts) - len(kept)
    assert (
        f"skipped {skipped} of {len(parts)} components, weights renormalised" in str(result.reason)
    ) is bool(skipped)
    whole = weighted(rewards, weights=factors).evaluate(SAMPLE)
    assert whole.failed is bool(skipped)


def test_components_appear_under_their_names_with_weight_and_reason() -> None:
    result = (0.7 * A + 0.3 * B).evaluate(SAMPLE)
    assert result.metrics == {
        "a": MetricResult(0.5, weight=0.7),
        "a/part": MetricResult(0.25),
        "b": MetricResult(1.0, reason="fine", weight=0.3),
        "b/x": MetricResult(2, True, "why"),
    }
    assert result.unwrap() == close(0.65)


def test_nested_names() -> None:
    inner = weighted(A, B, name="inner")
    outer = product(inner, A, name="outer").evaluate(SAMPLE)
    assert list(outer.metrics) == [
        *("inner", "inner/a", "inner/a/part", "inner/b", "inner/b/x"),
        "a",
        "a/part",
    ]
    assert outer.metrics["inner"].score == 1.5


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "a"], ["a", "a_2"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a_2", "a"], ["a", "a_2", "a_3"]),
        (["a", "a", "a_2"], ["a", "a_2", "a_2_2"]),
        (["x/y", "x.y"], ["x.y", "x.y_2"]),
    ],
)
def test_equal_names_are_told_apart(names: list[str], expected: list[str]) -> None:
    rewards = [constant(1.0, name) for name in names]
    assert [component.name for component in weighted(rewards).components] == expected
    assert list(weighted(rewards).evaluate(SAMPLE).metrics) == expected


def test_explicit_arguments_reach_the_components_that_name_them() -> None:
    scaled = RewardFunction(lambda response, level=1: level, name="scaled")
    plain = RewardFunction(lambda response: 1.0, name="plain")
    assert (scaled + plain)(response="", level=5).score == 6.0
    assert (scaled + plain)(messages=SAMPLE.messages, level=5, ground_truth="x").score == 6.0


# Failures and what does not apply

COMPOSED: list[Callable[[RewardFunction], RewardFunction]] = [
    lambda r: A + r,
    lambda r: 2 * r,
    lambda r: A * r,
    lambda r: minimum(A, r),
    lambda r: maximum(r, A),
    lambda r: clip(r),
    lambda r: normalize(r),
    lambda r: gate(r, A),
    lambda r: gate(A, r),
    lambda r: shaped(A, r),
    lambda r: curriculum({0: r}),
]


@pytest.mark.parametrize("compose", COMPOSED)
def test_a_failed_component_fails_the_whole_and_is_named(compose: Callable[..., RewardFunction]) -> None:
    for sample in (SAMPLE, Sample(messages=SAMPLE.messages, metadata={"step": 0})):
        result = compose(broken()).evaluate(sample)
        assert result.score is None
        if "step" in sample.metadata:
            assert "component 'broken' failed: ValueError: no luck" in str(result.error)
            assert result.error_kind == "exception"
            with pytest.raises(ValueError, match="no luck"):
                result.unwrap()


def test_the_metrics_of_what_worked_stay_beside_the_failure() -> None:
    result = (A + broken()).evaluate(SAMPLE)
    assert list(result.metrics) == ["a", "a/part"]
    assert str(result.error).startswith("component 'broken' failed: ")


@pytest.mark.parametrize(
    ("build", "score_", "says"),
    [
        (lambda: product(A, broken(), on_failure="skip"), 0.5, "skipped 1 of 2 components (broken: "),
        (lambda: minimum(A, B, broken(), on_failure="skip"), 0.5, "from a; skipped 1 of 3"),
        (lambda: maximum(A, broken(), on_failure="skip"), 0.5, "from a; skipped 1 of 2"),
        (lambda: weighted(A, broken(), on_failure="skip"), 1.0, "weights renormalised (broken: ValueError"),
        (lambda: weighted(A, broken(), weights=[1, -1], on_failure="skip"), 1.0, "weights renormalised"),
        (lambda: weighted(A, broken(), weights=[1, 0], on_failure="skip"), 0.5, "skipped 1 of 2"),
    ],
)
def test_skip(build: Callable[[], RewardFunction], score_: float, says: str) -> None:
    result = build().evaluate(SAMPLE)
    assert result.unwrap() == score_
    assert says in str(result.reason)


@pytest.mark.parametrize("compose", COMPOSED[1:2] + COMPOSED[5:8])
def test_what_does_not_apply_makes_the_whole_not_apply(compose: Callable[..., RewardFunction]) -> None:
    result = compose(constant(None)).evaluate(SAMPLE)
    assert (result.score, result.error) == (None, None)
    assert "appl" in str(result.reason)


def test_a_component_that_does_not_apply_counts_for_nothing() -> None:
    nothing = constant(None, "nothing")
    result = (A + nothing).evaluate(SAMPLE)
    assert (result.score, list(result.metrics)) == (0.5, ["a", "a/part"])
    assert (nothing + nothing).evaluate(SAMPLE).reason == "no component applies"
    then = gate(A, nothing).evaluate(SAMPLE)
    assert (then.score, then.reason) == (None, "nothing does not apply")


@pytest.mark.parametrize(
    ("build", "sample"),
    [
        (lambda: constant(1e308) * constant(1e308), SAMPLE),
        (lambda: 1e300 * constant(1e300), SAMPLE),
        (lambda: 1e300 * constant(1e300) - 1e300 * constant(1e300), SAMPLE),
        (lambda: constant(1e308) + constant(1e308), SAMPLE),
    ],
)
def test_an_overflow_is_a_failure(build: Callable[[], RewardFunction], sample: Sample) -> None:
    result = build().evaluate(sample)
    assert (result.score, result.failed) == (None, True)


# Side by side, and in batches


def test_async_components_run_side_by_side() -> None:
    async def slow(response: str) -> float:
        await asyncio.sleep(0.05)
        return 1.0

    reward = weighted([RewardFunction(slow, name=f"s{i}") for i in range(10)] + [A])
    assert reward.is_async
    started = time.perf_counter()
    assert score(reward) == 10.5
    assert time.perf_counter() - started < 0.4
    result = asyncio.run(_called(reward))
    assert result.score == 10.5


async def _called(reward: RewardFunction) -> EvaluateResult:
    result: EvaluateResult = await reward(response="")
    return result


@reward_function(mode="batch")
def batched(response: list[str], level: list[int]) -> list[float]:
    return [float(n) for n in level]


@reward_function(mode="batch")
async def async_batched(response: list[str], level: list[int]) -> list[float]:
    await asyncio.sleep(0)
    return [float(n) for n in level]


@pytest.mark.parametrize("batch", [batched, async_batched])
@pytest.mark.parametrize(
    ("compose", "scores"),
    [
        (lambda r: r + A, [0.5, 1.5, 2.5]),
        (lambda r: r * A, [0.0, 0.5, 1.0]),
        (lambda r: minimum(r, B), [0.0, 1.0, 1.0]),
        (lambda r: clip(r, 0.5, 1.5), [0.5, 1.0, 1.5]),
        (lambda r: gate(r, A, threshold=1), [0.0, 0.5, 0.5]),
        (lambda r: gate(A, r), [0.0, 1.0, 2.0]),
        (lambda r: curriculum({0: r, 1: A, 2: B}), [0.0, 0.5, 1.0]),
        (lambda r: curriculum({0: A, 1: r}), [0.5, 1.0, 2.0]),
    ],
)
def test_compositions_of_batched_rewards(
    batch: RewardFunction, compose: Callable[[RewardFunction], RewardFunction], scores: list[float]
) -> None:
    reward = compose(batch)
    samples = [Sample(messages=SAMPLE.messages, metadata={"level": n, "step": n}) for n in range(3)]
    assert reward.is_batch
    assert [r.unwrap() for r in reward.evaluate_batch(samples)] == scores
    assert [r.unwrap() for r in asyncio.run(reward.aevaluate_batch(samples))] == scores
    assert [score_of(reward, s) for s in samples] == scores
    called = [reward(messages=SAMPLE.messages, level=n, step=n) for n in range(3)]
    results = [asyncio.run(_awaited(c)) if reward.is_async else c for c in called]
    assert [r.unwrap() for r in results] == scores


def score_of(reward: RewardFunction, sample: Sample) -> float:
    return reward.evaluate(sample).unwrap()


async def _awaited(value: Any) -> Any:
    return await value


def test_deadlines_add_up() -> None:
    def timed(seconds: float | None, asynchronous: bool = False) -> RewardFunction:
        async def later(response: str) -> float:
            return 1.0

        return reward_function(timeout=seconds)(later if asynchronous else lambda response: 1.0)

    assert (timed(None) + timed(None)).timeout is None
    assert (timed(2) + timed(3)).timeout == 5.0
    assert (timed(2) + timed(None)).timeout == 12.0
    assert (timed(2, True) + timed(3, True)).timeout == 3.0
    assert (timed(2, True) + timed(3)).timeout == 5.0
    assert clip(timed(2)).timeout == 2.0


@pytest.mark.parametrize(
    ("make", "score", "reason"),
    [
        (lambda a, b: 0.5 * a + b, 1.0, "without what does not apply: silent"),
        (lambda a, b: product(a, b), 1.0, "without what does not apply: silent"),
        (lambda a, b: minimum(a, b), 1.0, "from full; without what does not apply: silent"),
        (lambda a, b: gate(b, a), None, "silent does not apply"),
    ],
)
def test_a_component_that_does_not_apply_is_said(make: Any, score: float | None, reason: str) -> None:
    silent = RewardFunction(lambda response: None, name="silent")
    full = RewardFunction(lambda response: 1.0, name="full")
    result = make(silent, full)(response="a")
    assert (result.score, result.reason) == (score, reason)
