"""What a reward may return, and what it may not."""

from __future__ import annotations

import collections
import datetime
import enum
import math
import re
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import guerdon
from guerdon import EvaluateResult, MetricResult, Response, RewardFunction, StepOutput
from guerdon.errors import InvalidResultError
from guerdon.reward.binding.returns import to_result, to_results


class Scalar:
    """What numpy's and torch's scalars have of a number."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)


class Array:
    """What numpy's and torch's arrays have of a list."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def tolist(self) -> list[Any]:
        return list(self.values)


class Grade(enum.IntEnum):
    GOOD = 3


class RewardKitMetric(BaseModel):
    score: float
    reason: str = "because"
    is_score_valid: bool = True


class RewardKitResult(BaseModel):
    score: float
    reason: str | None = None
    metrics: dict[str, RewardKitMetric] = {}
    error: str | None = None


Pair = collections.namedtuple("Pair", "score parts")


def shown(value: object) -> str:
    """The name of a case: the same in every process, so without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize(
    ("value", "score", "metrics"),
    [
        (0.5, 0.5, {}),
        (-2, -2.0, {}),
        (True, 1.0, {}),
        (False, 0.0, {}),
        (Decimal("0.25"), 0.25, {}),
        (Fraction(1, 8), 0.125, {}),
        (Scalar(0.5), 0.5, {}),
        (Grade.GOOD, 3.0, {}),
        (None, None, {}),
        ((0.5, {}), 0.5, {}),
        ((1, {"a": 0.25, "b": True}), 1.0, {"a": 0.25, "b": 1.0}),
        ((1, {"a": {"score": 0.5, "success": True, "reason": "r"}}), 1.0, {"a": 0.5}),
        ((1, {"a": MetricResult(0.5), "gone": None}), 1.0, {"a": 0.5}),
        ((1, {"a": RewardKitMetric(score=0.5)}), 1.0, {"a": 0.5}),
        (Pair(0.5, {"a": 1}), 0.5, {"a": 1.0}),
        ((0.5, "half"), 0.5, {}),
        ((True, ""), 1.0, {}),
        ((0.5, None), 0.5, {}),
        ((None, "no code"), None, {}),
        ({"score": 1}, 1.0, {}),
        ({"reward": 0.5}, 0.5, {}),
        ({"score": 0.5, "acc": 1, "pred": "42", "flag": False}, 0.5, {"acc": 1.0, "flag": 0.0}),
        ({"score": 0.5, "metrics": {"a": 0.25}}, 0.5, {"a": 0.25}),
        ({"score": 0.5, "metrics": None}, 0.5, {}),
        ({"score": None, "reason": "no"}, None, {}),
        (MappingProxyType({"score": Scalar(0.5)}), 0.5, {}),
        (collections.OrderedDict(score=0.5), 0.5, {}),
        (EvaluateResult(0.5, metrics={"a": MetricResult(1)}), 0.5, {"a": 1.0}),
        (EvaluateResult(), None, {}),
        (Response(reward=0.5), 0.5, {}),
        (Response(reward=0.5, metadata={"feedback": "good", "n": 2, "rows": [1]}), 0.5, {"n": 2.0}),
        (RewardKitResult(score=0.5, metrics={"a": RewardKitMetric(score=1)}), 0.5, {"a": 1.0}),
    ],
    ids=shown,
)
def test_accepted_returns(value: Any, score: float | None, metrics: dict[str, float]) -> None:
    for result in (to_result(value, "f"), RewardFunction(lambda response: value)(response="")):
        assert (result.score, result.error) == (score, None)
        assert {name: metric.score for name, metric in result.metrics.items()} == metrics


def test_a_score_with_a_reason_in_every_way_to_call() -> None:
    def one(response: str) -> tuple[float, str]:
        return 0.5, f"half of {response}"

    async def soon(response: str) -> tuple[float, str]:
        return one(response)

    def many(completions: list[str]) -> list[tuple[float, str]]:
        return [one(completion) for completion in completions]

    def alone(completions: list[str]) -> tuple[float, str]:
        return one(completions[0])

    for function in (one, soon, many):
        results = guerdon.score(function, ["a", "b"], workers=0)
        assert [(r.score, r.reason) for r in results] == [(0.5, "half of a"), (0.5, "half of b")]
    assert [r.reason for r in guerdon.score(alone, ["a", "b"], batch_size=1, workers=0)] == [
        "half of a",
        "half of b",
    ]


def test_what_metrics_and_reasons_keep() -> None:
    result = to_result((1, {"a": {"score": 0.5, "success": True, "reason": "r", "weight": 2}}), "f")
    assert result.metrics["a"] == MetricResult(0.5, True, "r", weight=2)
    result = to_result({"score": 1, "reason": 5, "step_outputs": [{"step_index": 0, "base_reward": 1}]}, "f")
    assert (result.reason, result.step_outputs) == ("5", [StepOutput(step_index=0, base_reward=1)])
    assert to_result(Response(reward=1, metadata={"a": "x", "b": "y"}), "f").reason == "a: x; b: y"


class Broken:
    def __float__(self) -> float:
        raise KeyError("no number")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "score must be finite, not nan"),
        (math.inf, "score must be finite, not inf"),
        (-math.inf, "score must be finite, not -inf"),
        (10**400, "a huge int"),
        (Decimal("NaN"), "must be finite"),
        (Decimal("sNaN"), "must be a number"),
        (Scalar(math.nan), "must be finite"),
        (Broken(), "must be a number, not a Broken: KeyError"),
        (1 + 0j, "a complex is not a score"),
        ("0.5", "a str is not a score; return a number"),
        ("", "a str is not a score"),
        (b"1", "a bytes is not a score"),
        ([], "a list is not a score"),
        ([0.5], "a list is not a score"),
        ({0.5}, "a set is not a score"),
        ((), "a tuple of 0"),
        ((0.5,), "a tuple of 1"),
        ((0.5, 0.5), "a tuple of 2 is not a result"),
        (("0.5", "half"), "score must be a number, not '0.5'"),
        ((math.nan, "half"), "must be finite"),
        ((0.5, {}, {}), "a tuple of 3"),
        ((math.nan, {}), "must be finite"),
        ((1, {"a": math.nan}), "the metric 'a' must be finite"),
        ((1, {"a": "high"}), "the metric 'a' must be a number"),
        ((1, {"a": {"success": True}}), "the metric 'a' has no score"),
        ({}, r"the dict has no score \(its keys: none\)"),
        ({"scores": 1, 5: 2}, r"the dict has no score \(its keys: scores, 5\)"),
        ({"score": "high"}, "score must be a number"),
        ({"score": math.nan}, "must be finite"),
        ({"score": 1, "acc": math.inf}, "acc must be finite"),
        ({"score": 1, "metrics": [1]}, "metrics must be a dict, not a list"),
        ({"score": 1, "metrics": "x"}, "metrics must be a dict, not a str"),
        ({"score": 1, "step_outputs": [{"base_reward": 1}]}, "step_outputs"),
        (float, "a type is not a score"),
        (len, "a builtin_function_or_method is not a score"),
        (datetime.timedelta(1), "a timedelta is not a score"),
        (SimpleNamespace(score=1), "a SimpleNamespace is not a score"),
        ((x for x in [1.0]), "a generator is not a score"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused_returns_name_the_function_and_never_become_a_score(value: Any, says: str) -> None:
    def graded(response: str) -> Any:
        return value

    result = RewardFunction(graded)(response="")
    assert (result.score, result.error_kind) == (None, "invalid_result")
    with pytest.raises(InvalidResultError, match=f"^graded returned an invalid result: .*{says}"):
        result.unwrap()
    assert "\n" not in str(result.error)


def test_what_was_put_into_a_finished_result_is_checked() -> None:
    def late(response: str) -> EvaluateResult:
        result = EvaluateResult(0.5)
        result.metrics["plain"] = 0.25  # type: ignore[assignment]
        result.metrics["dict"] = {"score": 1}  # type: ignore[assignment]
        if response == "nan":
            result.metrics["bad"] = math.nan  # type: ignore[assignment]
        if response == "forged":
            result.metrics["bad"] = MetricResult.model_construct(score=math.nan)
        if response == "built":
            return EvaluateResult.model_construct(score=math.nan, metrics={})
        return result

    reward = RewardFunction(late)
    assert {name: m.score for name, m in reward(response="").metrics.items()} == {"plain": 0.25, "dict": 1.0}
    for response in ("nan", "forged"):
        assert "the metric 'bad' must be finite" in str(reward(response=response).error)
    assert "score must be finite" in str(reward(response="built").error)


def test_reward_kits_word_for_success_is_no_failure() -> None:
    metrics = {"form": {"score": 0.0, "reason": "no tags", "is_score_valid": False}}
    for value in (
        EvaluateResult(0.0, "wrong form", metrics, is_score_valid=False),
        {"score": 0.0, "reason": "wrong form", "metrics": metrics, "is_score_valid": False},
        RewardKitResult(score=0.0, metrics={"form": RewardKitMetric(score=0.0, is_score_valid=False)}),
    ):
        result = to_result(value, "f")
        assert (result.score, result.error, result.is_score_valid) == (0.0, None, True)
        assert result.metrics["form"].success is False


@pytest.mark.parametrize("value", [{"error": "broken"}, {"score": 0.7, "error": "broken"}])
def test_an_error_in_a_dict_is_a_failure(value: dict[str, Any]) -> None:
    result = to_result(value, "f")
    assert (result.score, result.error, result.error_kind) == (None, "broken", "exception")


def test_a_result_that_two_rewards_return_keeps_its_maker() -> None:
    shared = EvaluateResult(0.5, metrics={"a": MetricResult(1)})
    first = RewardFunction(lambda response: shared, name="first")(response="")
    second = RewardFunction(lambda response: shared, name="second")(response="")
    assert (first.reward, second.reward, first.score, second.score) == ("first", "second", 0.5, 0.5)


# Batches


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        ([0.5, True], [0.5, 1.0]),
        ((0.5, None), [0.5, None]),
        ([(0.5, {"a": 1}), {"score": 2}], [0.5, 2.0]),
        ([EvaluateResult(1), EvaluateResult(error="x")], [1.0, None]),
        (Array(0.5, 1), [0.5, 1.0]),
        ({"rewards": [0.5, 1]}, [0.5, 1.0]),
        ({"scores": Array(0.5, 1)}, [0.5, 1.0]),
        ({"rewards": Array(0.5, 1), "scores": Array(0, 0), "extra_logs": {}}, [0.5, 1.0]),
    ],
    ids=shown,
)
def test_accepted_batches(value: Any, scores: list[float | None]) -> None:
    assert [result.score for result in to_results(value, "f", 2)] == scores


def test_the_logs_of_openrlhf_become_metrics() -> None:
    logs = {"acc": Array(1, 0), "kind": 0.5, "partly": [None, 2], "text": ["a", "b"], "odd": [1, 2, 3]}
    first, second = to_results({"rewards": [1, 2], "extra_logs": logs}, "f", 2)
    assert {n: m.score for n, m in first.metrics.items()} == {"acc": 1.0, "kind": 0.5}
    assert {n: m.score for n, m in second.metrics.items()} == {"acc": 0.0, "kind": 0.5, "partly": 2.0}


@pytest.mark.parametrize(
    ("value", "score"),
    [(0.5, 0.5), ([0.5], 0.5), ((0.5, {"a": 1}), 0.5), ({"score": 0.5}, 0.5), (None, None), (Array(1), 1.0)],
    ids=shown,
)
def test_a_batch_of_one_may_return_its_bare_result(value: Any, score: float | None) -> None:
    assert [result.score for result in to_results(value, "f", 1)] == [score]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([0.5], "f returned 1 result for 2 samples"),
        ([0.5] * 3, "f returned 3 results for 2 samples"),
        ([], "f returned 0 results for 2 samples"),
        (0.5, "must return a list of 2 results, not a float"),
        ("ab", "must return a list of 2 results, not a str"),
        (None, "not a NoneType"),
        ({1.0, 2.0}, "not a set"),
        ((x for x in (1.0, 2.0)), "not a generator"),
        ({"score": 1}, "not a dict"),
        ({"rewards": 1}, "not a int"),
    ],
    ids=shown,
)
def test_refused_batches(value: Any, says: str) -> None:
    with pytest.raises(InvalidResultError, match=says):
        to_results(value, "f", 2)


def test_one_invalid_result_of_a_batch_leaves_the_others_alone() -> None:
    good, bad, other = to_results([0.5, math.nan, "x"], "f", 3)
    assert (good.score, bad.score, other.score) == (0.5, None, None)
    assert (bad.error, bad.error_kind) == (
        "f returned an invalid result: score must be finite, not nan",
        "invalid_result",
    )
