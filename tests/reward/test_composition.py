"""Compositions: their laws, their metrics, their failures."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from fractions import Fraction
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
    register_reward_function,
    reward_function,
    shaped,
    weighted,
)
from guerdon.errors import BindingError, InputError, ResolutionError
from guerdon.reward.scorers.composite import Clip, Weighted

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


# Laws


@given(SCORES, st.lists(NUMBERS, min_size=4, max_size=4), NUMBERS)
def test_weighted_is_the_sum_and_linear(scores: list[float], factors: list[float], scale: float) -> None:
    factors = factors[: len(scores)]
    rewards = [constant(s) for s in scores]
    expected = math.fsum(f * s for f, s in zip(factors, scores, strict=True))
    whole = weighted(rewards, weights=factors)
    assert score(whole) == expected
    assert score(weighted(*rewards, weights=factors)) == expected
    assert score(scale * whole) == close(scale * expected)
    assert score(whole * scale) == score(scale * whole)
    assert score(whole + whole) == close(2 * expected)
    assert score(whole - whole) == close(0)
    assert score(-whole) == -expected
    assert score(whole + scale) == score(scale + whole) == close(expected + scale)
    assert score(whole - scale) == close(expected - scale)
    assert score(scale - whole) == close(scale - expected)
    assert score(sum(rewards)) == close(math.fsum(scores))  # type: ignore[arg-type]
    if scale:
        assert score(whole / scale) == close(expected / scale)


@given(NUMBERS, NUMBERS)
def test_arithmetic_is_the_same_composition_as_the_function(a: float, b: float) -> None:
    first, second = constant(a, "a"), constant(b, "b")
    written, called = 0.7 * first + 0.3 * second, weighted([first, second], weights=[0.7, 0.3])
    assert score(written) == score(called) == math.fsum([0.7 * a, 0.3 * b])
    assert score(weighted({first: 0.7, second: 0.3})) == score(written)
    assert written.evaluate(SAMPLE).metrics == called.evaluate(SAMPLE).metrics
    assert written.version == called.version


@given(SCORES)
def test_extremes_and_products(scores: list[float]) -> None:
    rewards = [constant(s) for s in scores]
    assert score(minimum(rewards)) == min(scores)
    assert score(maximum(rewards)) == max(scores)
    assert score(minimum(rewards)) <= score(maximum(rewards))
    assert score(product(rewards)) == close(math.prod(scores))
    assert score(product(rewards)) == close(score(product(rewards[::-1])))
    assert score(minimum(rewards)) == score(minimum(rewards[::-1]))
    assert score(-minimum(rewards)) == score(maximum([-r for r in rewards]))
    assert score(product(rewards[0])) == score(weighted(rewards[0])) == scores[0]


@given(NUMBERS, NUMBERS, NUMBERS)
def test_products_of_two_and_three(a: float, b: float, c: float) -> None:
    x, y, z = constant(a), constant(b), constant(c)
    assert score(x * y) == score(y * x) == a * b
    assert score((x * y) * z) == close(score(x * (y * z)))
    assert len((x * y * z).components) == 3


@given(NUMBERS, NUMBERS, NUMBERS)
def test_clip_holds_and_is_idempotent(value: float, first: float, second: float) -> None:
    low, high = sorted((first, second))
    once = clip(constant(value), low, high)
    assert score(once) == min(max(value, low), high)
    assert score(clip(once, low, high)) == score(once)
    assert score(clip(constant(value), low)) == max(value, low)
    assert score(clip(constant(value), high=high)) == min(value, high)
    assert score(clip(constant(value))) == value


@given(NUMBERS, NUMBERS, st.floats(0.0, 1e3))
def test_normalize_is_its_formula(value: float, mean: float, std: float) -> None:
    clipped = max(mean - 3 * std, min(mean + 3 * std, value))
    assert score(normalize(constant(value), mean, std)) == (clipped - mean) / (std + 1e-8)
    assert abs(score(normalize(constant(value), mean, std))) <= 3.001 or abs(mean) > 1e3 * std


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


@given(st.recursive(st.tuples(NUMBERS), lambda t: st.tuples(st.sampled_from("+-*/n"), t, t), max_leaves=6))
def test_flattening_keeps_the_score(tree: tuple[Any, ...]) -> None:
    """Nested sums become one; the same sum with names of its own is not flattened and scores the same."""

    def build(node: tuple[Any, ...], named: bool) -> RewardFunction:
        if len(node) == 1:
            return constant(node[0])
        op, left, right = node[0], build(node[1], named), build(node[2], named)
        made = left - right if op == "-" else -left if op == "n" else 0.5 * left + right / 3
        return made.with_name("whole") if named else made

    flat, nested = build(tree, False), build(tree, True)
    assert score(flat) == pytest.approx(score(nested), rel=1e-6, abs=1e-3)
    if len(tree) > 1:
        assert not any(isinstance(c.reward.scorer, Weighted) for c in flat.components)


# Names and metrics


A = RewardFunction(lambda response: (0.5, {"part": 0.25}), name="a")
B = RewardFunction(
    lambda response: EvaluateResult(1.0, "fine", {"x": MetricResult(2, True, "why")}), name="b"
)


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


def test_names_of_compositions() -> None:
    assert [r.name for r in (A + B, A * B, minimum(A, B), clip(A), weighted(A, name="mine"))] == [
        *("weighted", "product", "minimum", "clip", "mine")
    ]
    assert len((weighted(A, B, name="mine") + A).components) == 2
    assert len((weighted(A, B) + A).components) == 3
    assert len((weighted(A, B, on_failure="skip") + A).components) == 2


def test_reasons() -> None:
    assert minimum(A, B).evaluate(SAMPLE).reason == "from a"
    assert maximum(A, B).evaluate(SAMPLE).reason == "from b"
    assert clip(B, 0, 0.5).evaluate(SAMPLE).reason == "fine"
    shut = gate(A, B, threshold=0.75, otherwise=-1).evaluate(SAMPLE)
    assert (shut.score, shut.reason) == (-1.0, "gate shut: a is 0.5, below 0.75")
    assert list(shut.metrics) == ["a", "a/part"]
    assert list(gate(A, B).evaluate(SAMPLE).metrics) == ["a", "a/part", "b", "b/x"]
    assert curriculum({0: A, 10: B})(response="", step=10).reason == "stage b: fine"
    assert list(curriculum({0: A, 10: B})(response="", step=10).metrics) == ["b", "b/x"]


def test_shaped() -> None:
    steps, repeats = constant(1.0, "steps"), constant(1.0, "repeats")
    reward = shaped(A, 0.05 * steps, (repeats, -0.25), 0.1 * steps + 0.1 * repeats)
    result = reward.evaluate(SAMPLE)
    assert result.unwrap() == close(0.5 + 0.05 - 0.25 + 0.1 + 0.1)
    shown = {n: (m.score, m.weight) for n, m in result.metrics.items()}
    assert shown["shaped/steps"] == (1.0, 0.05)
    assert shown["shaped/repeats"] == (1.0, -0.25)
    assert score(shaped(B, 0.5 * steps)) == 1.0
    assert score(shaped(A, (steps, -1))) == 0.0
    assert score(shaped(B, 0.5 * steps, low=-2, high=2)) == 1.5
    assert isinstance(reward.scorer, Clip)


def test_anything_that_resolves_is_a_component(tmp_path: Any) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def half(response):\n    return 0.5\n", encoding="utf-8")
    register_reward_function("test-two", lambda response: 2.0)
    reward = weighted(f"{file}::half", "test-two", lambda response: 1.0, A)
    assert score(reward) == 4.0
    assert [c.name for c in reward.components] == ["half", "test-two", "lambda", "a"]
    with pytest.raises(ResolutionError, match="did you mean test-two"):
        weighted("test-tow")


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


# Options that do not fit


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: weighted(), "weighted needs at least one reward"),
        (lambda: product([]), "product needs at least one reward"),
        (lambda: minimum(), "minimum needs at least one reward"),
        (lambda: weighted(A, B, weights=[1]), "2 rewards need 2 weights, not 1"),
        (lambda: weighted(A, weights=[math.nan]), "weight must be finite"),
        (lambda: weighted(A, weights=["1"]), "weight must be a number"),
        (lambda: weighted({A: 1}, weights=[1]), "in the mapping or as weights="),
        (lambda: weighted({A: None}), "weight must be a number"),
        (lambda: weighted(A, on_failure="ignore"), 'on_failure must be "fail" or "skip"'),
        (lambda: clip(A, 2, 1), "clip needs low <= high"),
        (lambda: clip(A, math.nan, 1), "low must be finite"),
        (lambda: clip(A, math.inf), "low must be finite, not inf"),
        (lambda: clip(A, None, 1), "low must be a number"),
        (lambda: clip(A, 0, "1"), "high must be a number"),
        (lambda: normalize(A, std=-1), "standard deviation of 0 or more"),
        (lambda: normalize(A, std=math.nan), "std must be finite"),
        (lambda: normalize(A, mean="x"), "mean must be a number"),
        (lambda: gate(A, B, threshold=math.nan), "threshold must be finite"),
        (lambda: gate(A, B, otherwise=None), "otherwise must be a number"),
        (lambda: shaped(A, (B, "x")), "weight must be a number"),
        (lambda: shaped(A, low=1, high=0), "low <= high"),
        (lambda: curriculum({}), "a mapping from training step to reward"),
        (lambda: curriculum([A]), "a mapping from training step to reward"),
        (lambda: curriculum({5: A}), "the first stage starts at step 5; give one for step 0"),
        (lambda: curriculum({-1: A}), "a whole number of steps, not -1"),
        (lambda: curriculum({0.5: A}), "a whole number of steps, not 0.5"),
        (lambda: curriculum({True: A}), "a whole number of steps, not True"),
        (lambda: weighted(5), "is no reward"),
        (lambda: weighted(None), "is no reward"),
        (lambda: A + math.nan, "finite"),
        (lambda: A - math.inf, "finite"),
        (lambda: A * math.nan, "finite"),
        (lambda: A / 0, "divided by 0"),
        (lambda: A / math.nan, "finite"),
        (lambda: (A + 1e308) + 1e308, "finite"),
    ],
)
def test_arguments_that_do_not_fit(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(BindingError, match=says) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: A + "x",
        lambda: "x" + A,
        lambda: A * "x",
        lambda: A * None,
        lambda: A / A,
        lambda: 1 / A,
        lambda: A - None,
        lambda: A + True,
        lambda: A**2,
    ],
)
def test_arithmetic_with_what_is_no_number(build: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        build()


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


def test_a_composition_is_called_with_a_text_as_its_parts_are() -> None:
    whole = 0.5 * RewardFunction(lambda response: float(len(response)))
    assert whole("abcd").score == whole(response="abcd").score == 2.0
    with pytest.raises(BindingError, match="1 positional"):
        whole("abcd", "efg")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda a, b: weighted([a, b], [0.3, 0.7]), r"weights=\[…\]"),
        (lambda a, b: weighted((a, 0.3), (b, 0.7)), r"weights=\[…\]"),
        (lambda a, b: weighted({"clarity": a, "length": b}), "from reward to weight"),
    ],
)
def test_weights_in_another_order_are_told_the_right_one(make: Any, says: str) -> None:
    parts = (RewardFunction(lambda response: 1.0, name=name) for name in "ab")
    with pytest.raises(BindingError, match=says):
        make(*parts)


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


def test_a_plain_function_stands_beside_a_reward() -> None:
    half = RewardFunction(lambda response: 0.5, name="half")

    def one(response: str) -> float:
        return 1.0

    for reward, score in (
        (half + one, 1.5),
        (one + half, 1.5),
        (half - one, -0.5),
        (one - half, 0.5),
        (half * one, 0.5),
        (Fraction(1, 4) * half, 0.125),
    ):
        assert reward(response="").score == score
    assert (half + one)(response="").metrics["one"].score == 1.0
    with pytest.raises(TypeError):
        half + "one"
