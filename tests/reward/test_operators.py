"""Sums and products of rewards: the same compositions as the functions make."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import (
    RewardFunction,
    weighted,
)
from guerdon.reward.scorers.sums import Weighted
from support.composition_work import NUMBERS, SAMPLE, A, close, constant, score


@given(NUMBERS, NUMBERS)
def test_arithmetic_is_the_same_composition_as_the_function(a: float, b: float) -> None:
    first, second = constant(a, "a"), constant(b, "b")
    written, called = 0.7 * first + 0.3 * second, weighted([first, second], weights=[0.7, 0.3])
    assert score(written) == score(called) == math.fsum([0.7 * a, 0.3 * b])
    assert score(weighted({first: 0.7, second: 0.3})) == score(written)
    assert written.evaluate(SAMPLE).metrics == called.evaluate(SAMPLE).metrics
    assert written.version == called.version


@given(NUMBERS, NUMBERS, NUMBERS)
def test_products_of_two_and_three(a: float, b: float, c: float) -> None:
    x, y, z = constant(a), constant(b), constant(c)
    assert score(x * y) == score(y * x) == a * b
    assert score((x * y) * z) == close(score(x * (y * z)))
    assert len((x * y * z).components) == 3


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


def test_a_plain_function_stands_beside_a_reward() -> None:
    half = RewardFunction(lambda response: 0.5, name="half")

    def one(response: str) -> float:
        return 1.0

    for reward, expected in (
        (half + one, 1.5),
        (one + half, 1.5),
        (half - one, -0.5),
        (one - half, 0.5),
        (half * one, 0.5),
        (Fraction(1, 4) * half, 0.125),
    ):
        assert reward(response="").score == expected
    assert (half + one)(response="").metrics["one"].score == 1.0
    with pytest.raises(TypeError):
        half + "one"
