"""The functions that make compositions: their laws, their names, and arguments that do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import (
    RewardFunction,
    clip,
    curriculum,
    gate,
    maximum,
    minimum,
    normalize,
    product,
    register_reward_function,
    shaped,
    weighted,
)
from guerdon.errors import BindingError, ResolutionError
from guerdon.reward.scorers.transforms import Clip
from support.composition_work import NUMBERS, SAMPLE, SCORES, A, B, close, constant, score

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
        (lambda: weighted(5), "is not a reward"),
        (lambda: weighted(None), "is not a reward"),
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
