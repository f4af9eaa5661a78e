"""The figures of an evaluation, against counts made by hand."""

from __future__ import annotations

import itertools

import pytest

from guerdon import EvaluateResult, MetricResult, RewardFunction, reward_function, weighted
from guerdon.train.evaluation.eval_metrics import Criterion, EvalCriteria, compute_metrics, pass_at_k


def scored(*scores: float | None) -> list[EvaluateResult]:
    return [EvaluateResult(error="no") if s is None else EvaluateResult(s) for s in scores]


SCORE = EvalCriteria(accuracy=Criterion(component=None), format=None)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(n, c, k) for n in (1, 3, 6) for c in range(n + 1) for k in (1, 2, 3, 6) if k <= n]
)
def test_pass_at_k_is_the_share_of_the_ways_to_draw(n: int, c: int, k: int) -> None:
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@pytest.mark.parametrize(("n", "c", "k"), [(2, 3, 1), (2, 1, 3), (2, 1, 0), (2, -1, 1)])
def test_pass_at_k_of_nonsense(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(n, c, k)


def test_shares_are_means_over_problems() -> None:
    found = compute_metrics([scored(1.0, 0.0), scored(0.5, 0.5), scored(1.0, 1.0)], SCORE, step=3, passes=2)
    assert found.accuracy is not None
    assert found.partial is not None
    assert found.accuracy.value == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.partial.value == pytest.approx((0.5 + 1 + 1) / 3)
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high
    assert found.reward == pytest.approx(4 / 6)
    assert {k: share.value for k, share in found.pass_at.items()} == pytest.approx({1: 0.5, 2: 2 / 3})
    assert found.right == [0.5, 0.0, 1.0]
    assert found.format is None


def test_a_failure_is_no_wrong_answer() -> None:
    found = compute_metrics([scored(1.0, None), scored(None, None)], SCORE, step=0, passes=2)
    assert found.failed == 3
    assert found.accuracy is not None
    assert (found.accuracy.value, found.accuracy.of) == (1.0, 1)
    assert found.right == [1.0, None]
    assert list(found.pass_at) == [1]


def test_nothing_scored() -> None:
    found = compute_metrics([scored(None)], SCORE, step=0, passes=1)
    assert (found.accuracy, found.partial, found.reward, found.pass_at) == (None, None, None, {})


@reward_function
def right(response: str) -> float:
    return float(response == "4")


@reward_function
def answer_format(response: str) -> float:
    return float(response.isdigit())


@reward_function(scale=(0.0, 10.0))
def graded(response: str) -> float:
    return float(len(response))


@pytest.mark.parametrize(
    ("reward", "accuracy", "form", "full"),
    [
        (right, None, None, 1.0),
        (graded, None, None, 10.0),
        (weighted(right, answer_format, weights=[0.2, 0.8]), "right", "answer_format", 1.0),
        (weighted(answer_format, right, graded, weights=[0.2, 0.3, 0.5]), "graded", "answer_format", 10.0),
        (weighted(right, graded, weights=[0.5, 0.5]), "right", None, 1.0),
    ],
)
def test_what_counts_as_right(
    reward: RewardFunction, accuracy: str | None, form: str | None, full: float
) -> None:
    found = EvalCriteria.of(reward)
    assert found.accuracy == Criterion(component=accuracy, full=full)
    assert found.format == (None if form is None else Criterion(component=form))


def test_success_says_what_is_right() -> None:
    criterion = Criterion(component="correct")
    met = EvaluateResult(0.2, metrics={"correct": MetricResult(0.4, success=True)})
    assert criterion.right(met) is True
    assert criterion.right(EvaluateResult(0.2)) is None
