"""Results: a failure is never a score, both ways to read them, and their round trips."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from guerdon import (
    EvaluateResult,
    Message,
    MetricResult,
    MetricRewardOutput,
    RewardOutput,
    StepOutput,
)
from guerdon.errors import InputError, InvalidResultError, NotApplicableError, RewardError
from guerdon.scoring.outcome import metrics_as_dicts, metrics_from_dicts, pack, unpack
from guerdon.types import Provenance
from support.type_strategies import JSON

# Results


def test_a_score_cannot_become_invalid_by_assignment() -> None:
    result, metric = EvaluateResult(0.5), MetricResult(0.5)
    for record in (result, metric):
        with pytest.raises(ValidationError, match="must be finite"):
            record.score = math.nan
        with pytest.raises(ValidationError, match="must be a number"):
            record.score = "high"  # type: ignore[assignment]
        assert record.score == 0.5
        record.score = 1
        assert record.score == 1.0


def test_a_failure_never_has_a_score() -> None:
    for result in (
        EvaluateResult(0.7, error="broken"),
        EvaluateResult(error="broken", error_kind="timeout"),
        EvaluateResult(score=0.7, error=""),
    ):
        assert (result.score, result.failed) == (None, True)
        with pytest.raises(RewardError):
            result.unwrap()
        with pytest.raises(RewardError):
            float(result)
    late = EvaluateResult(0.7)
    late.error = "broken"
    assert (late.score, late.failed, late.error_kind) == (None, True, "exception")


def test_unwrap() -> None:
    assert EvaluateResult(0.0).unwrap() == 0.0
    assert float(EvaluateResult(-2)) == -2.0
    with pytest.raises(NotApplicableError, match="no question"):
        EvaluateResult(reason="no question").unwrap()
    original = KeyError("x")
    with pytest.raises(KeyError) as caught:
        EvaluateResult.failure(original).unwrap()
    assert caught.value is original
    with pytest.raises(InvalidResultError, match="bad"):
        EvaluateResult(error="bad", error_kind="invalid_result").unwrap()


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        (ValueError("x"), "ValueError: x", "exception"),
        (ValueError(), "ValueError", "exception"),
        (InputError("row 3"), "row 3", "input"),
        (MemoryError(), "MemoryError", "memory"),
        (UnprintableError(), "UnprintableError", "exception"),
        ("just text", "just text", "error"),
    ],
)
def test_failures_of_exceptions(error: BaseException | str, text: str, kind: str) -> None:
    result = EvaluateResult.failure(error)
    assert (result.error, result.error_kind, result.score) == (text, kind, None)
    back = pickle.loads(pickle.dumps(result))
    assert (back.error, back.error_kind) == (text, kind)


def test_results_read_as_mappings_too() -> None:
    result = EvaluateResult(0.5, "r", {"m": MetricResult(0.25, True, "why")})
    assert (result["score"], result.get("reason"), result["metrics"]["m"]["success"]) == (0.5, "r", True)
    assert dict(result)["score"] == 0.5
    assert ("error" in result, "errors" in result, result.get("errors", 3)) == (True, False, 3)
    with pytest.raises(KeyError):
        result["errors"]


def test_the_older_names_and_positions() -> None:
    assert RewardOutput is EvaluateResult
    assert MetricRewardOutput is MetricResult
    metric = MetricResult(0.5, True, "because")
    assert (metric.score, metric.success, metric.reason) == (0.5, True, "because")
    with pytest.raises(ValidationError, match="scor"):
        MetricResult(0.5, scor=1)
    with pytest.raises(ValidationError):
        EvaluateResult(0.5, confidence=1)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


WORDS = st.text() | st.none()


METRICS = st.dictionaries(
    st.text(),
    st.builds(MetricResult, FINITE, st.booleans() | st.none(), WORDS, weight=FINITE | st.none()),
    max_size=3,
)


STEPS = st.lists(
    st.builds(
        lambda index, base, metrics, reason: StepOutput(
            step_index=index, base_reward=base, metrics=metrics, reason=reason
        ),
        st.integers(0, 9) | st.text(),
        FINITE,
        st.dictionaries(st.text(), JSON, max_size=2),
        st.text(),
    ),
    min_size=1,
    max_size=2,
)


PROVENANCE = st.builds(Provenance, st.text(), st.text(), st.dictionaries(st.text(), JSON, max_size=2))


SCORED = st.builds(
    lambda score, reason, metrics, steps, made: EvaluateResult(
        score, reason, metrics, step_outputs=steps, provenance=made
    ),
    FINITE | st.none(),
    WORDS,
    METRICS,
    STEPS | st.none(),
    PROVENANCE | st.none(),
)


FAILED = st.builds(
    lambda error, kind, metrics, made: EvaluateResult(
        None, None, metrics, error=error, error_kind=kind, provenance=made
    ),
    st.text(),
    st.sampled_from(["exception", "timeout", "crash"]),
    METRICS,
    PROVENANCE | st.none(),
)


@given(SCORED | FAILED)
def test_a_result_survives_json_a_pickle_and_the_way_from_a_worker(result: EvaluateResult) -> None:
    assert EvaluateResult.model_validate_json(result.model_dump_json()) == result
    assert EvaluateResult.model_validate(json.loads(json.dumps(result.model_dump(mode="json")))) == result
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    outcome = pack(result)
    assert unpack(outcome, result.provenance) == result
    assert metrics_from_dicts(json.loads(json.dumps(metrics_as_dicts(outcome.metrics)))) == outcome.metrics


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Message(role="user", content="hi"), "Message(role='user', content='hi')"),
        (MetricResult(0.5), "MetricResult(score=0.5)"),
        (EvaluateResult(0.5), "EvaluateResult(score=0.5)"),
        (
            EvaluateResult(0.0, "no", {"a": 1}),
            "EvaluateResult(score=0.0, reason='no', metrics={'a': MetricResult(score=1.0)})",
        ),
        (EvaluateResult(error="gone"), "EvaluateResult(error='gone', error_kind='exception')"),
    ],
)
def test_a_terminal_shows_what_there_is(value: Any, shown: str) -> None:
    assert repr(value) == shown


def test_a_metric_may_be_a_bare_number_and_must_be_named() -> None:
    assert EvaluateResult(1, metrics={"overlap": 0.5}).metrics["overlap"] == MetricResult(0.5)
    with pytest.raises(ValidationError, match="metrics"):
        EvaluateResult(1, metrics=[MetricResult(1)])  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="finite"):
        EvaluateResult(1, metrics={"overlap": math.nan})


@pytest.mark.parametrize(
    "metrics", [{"a": float("inf")}, {"a": [1.0, float("nan")]}, {"a": {"b": float("-inf")}}]
)
def test_a_step_has_no_number_that_json_has_no_word_for(metrics: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="must be finite"):
        StepOutput(step_index=0, base_reward=0.0, metrics=metrics)
