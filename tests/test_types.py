"""Messages, samples and results: both ways to read them, what they refuse, and their round trips."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
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
    Sample,
    StepOutput,
)
from guerdon.checks import finite
from guerdon.errors import InputError, InvalidResultError, NotApplicableError, RewardError
from guerdon.scoring.outcome import metrics_as_dicts, metrics_from_dicts, pack, unpack
from guerdon.types import Provenance, as_messages

CALL = {"function": {"name": "f", "arguments": '{"x": 1}'}, "id": "call_1", "type": "function"}


class Scalar:
    """What numpy's and torch's scalars have of a number."""

    def __init__(self, value: float | BaseException) -> None:
        self.value = value

    def __float__(self) -> float:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


# Messages


def test_a_message_reads_as_attributes_and_as_a_mapping() -> None:
    message = Message(role="assistant", content=None, tool_calls=[CALL], custom=[1, 2])
    assert (message.role, message["role"], message.get("role")) == ("assistant",) * 3
    assert (message.custom, message["custom"]) == ([1, 2], [1, 2])
    assert list(message) == ["role", "content", "tool_calls", "custom"]
    assert ("name" in message, message.get("name", "x"), message.name, len(message)) == (False, "x", None, 4)
    assert isinstance(message, Mapping)
    assert {**message} == dict(message) == dict(message.items())
    assert message["tool_calls"][0]["function"]["name"] == message.tool_calls[0].function.name == "f"
    with pytest.raises(KeyError, match="name"):
        message["name"]
    match message:
        case {"role": role}:
            assert role == "assistant"


def test_a_message_cannot_be_changed() -> None:
    message = Message(role="user", content="x")
    with pytest.raises(ValidationError, match="frozen"):
        message.content = "y"
    with pytest.raises(TypeError):
        message["content"] = "y"  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"text": "b"}], "ab"),
        ([{"type": "text", "text": None}, {"text": 5}], ""),
        ("half a pair \ud800, NUL \0", "half a pair \ud800, NUL \0"),
    ],
)
def test_the_text_of_a_content(content: Any, text: str) -> None:
    assert Message(role="user", content=content).text == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
# Names that are no field and none of pydantic's own methods.
EXTRA = st.dictionaries(st.text("abcxyz_0", min_size=1).map("x_".__add__), JSON, max_size=3)
MESSAGES = st.builds(
    lambda given, extra: {**given, **extra},
    st.fixed_dictionaries(
        {"role": st.text()},
        optional={
            "content": st.text()
            | st.none()
            | st.lists(st.dictionaries(st.text(), JSON, max_size=2), max_size=2),
            "name": st.text() | st.none(),
            "tool_call_id": st.text(),
            "tool_calls": st.just([CALL]),
        },
    ),
    EXTRA,
)


@given(MESSAGES)
def test_a_message_survives_json_and_a_pickle(given_message: dict[str, Any]) -> None:
    message = Message(**given_message)
    assert message.to_dict() == given_message
    assert as_messages([json.loads(json.dumps(message.to_dict()))]) == [message]
    back = pickle.loads(pickle.dumps(message))
    assert (back, back.to_dict()) == (message, given_message)
    assert Message.model_validate_json(message.model_dump_json(exclude_unset=True)) == message


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "messages must be a list of messages such as .*, not NoneType"),
        ("hello", "not str"),
        (b"hello", "not bytes"),
        ({"role": "user", "content": ""}, "not dict"),
        (iter([]), "not list_iterator"),
        (5, "not int"),
        ([None], r"messages\[0\] must be an object with a role and a content, not NoneType"),
        (["hello"], r"messages\[0\] .* not str"),
        ([[{"role": "user"}]], r"messages\[0\] .* not list"),
        ([{"role": "user"}, {}], r"messages\[1\]\.role: Field required"),
        ([{"content": "x"}], r"messages\[0\]\.role: Field required"),
        ([{"role": None, "content": "x"}], r"messages\[0\]\.role: "),
        ([{"role": 5, "content": "x"}], r"messages\[0\]\.role: "),
        ([{"role": "user", "content": 5}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": b"x"}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": ["x"]}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": {"text": "x"}}], r"messages\[0\]\.content"),
        ([{"role": "user", "tool_calls": [{}]}], r"messages\[0\]\.tool_calls\[0\]\.function: Field required"),
        ([{5: "x", "role": "user"}], r"messages\[0\] has a key that is no string"),
    ],
)
def test_malformed_messages_are_one_line_with_index_and_field(value: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        as_messages(value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


# Numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.5, 0.5),
        (3, 3.0),
        (-3, -3.0),
        (True, 1.0),
        (2**1000, float(2**1000)),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (Scalar(0.75), 0.75),
        (-0.0, 0.0),
        (5e-324, 5e-324),
    ],
)
def test_numbers(value: Any, number: float) -> None:
    found = finite(value)
    assert (found, type(found)) == (number, float)
    assert EvaluateResult(value).score == MetricResult(value).score == number


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, 10**400, -(10**5000), 1j, "0.5", "nan", b"1", bytearray(b"1")),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Scalar(math.nan), Scalar(math.inf)),
        *(object(), [], [0.5], {}, {"score": 1}, float, len),
        *(Scalar(e) for e in (ValueError("v"), TypeError("t"), RuntimeError("r"), KeyError("k"))),
        *(Scalar(e) for e in (ZeroDivisionError("z"), OverflowError("o"), RecursionError("d"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_number_is_refused_in_one_short_line(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^the thing must be ") as caught:
        finite(value, "the thing")
    assert len(str(caught.value)) < 200
    for build in (
        EvaluateResult,
        MetricResult,
        lambda v: EvaluateResult(0.0, metrics={"m": MetricResult(v)}),
    ):
        with pytest.raises(ValidationError):
            build(value)


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


# Samples


def test_what_a_sample_offers() -> None:
    sample = Sample.from_row(
        {
            "messages": [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "x"},
                {"role": "user", "content": "second"},
                {"role": "assistant", "content": "answer"},
            ],
            "ground_truth": "g",
            "metadata": {"level": 1, "kind": "nested"},
            "kind": "own column",
            "id": 7,
        }
    )
    assert (sample.response, sample.prompt, len(sample.original_messages)) == ("answer", "second", 3)
    assert (sample.ground_truth, sample.answer, sample.id) == ("g", None, 7)
    assert sample.metadata == {"level": 1, "kind": "own column"}


def test_a_given_context_is_kept() -> None:
    system = [{"role": "system", "content": "s"}]
    sample = Sample(messages=[*system, {"role": "assistant", "content": "a"}], original_messages=system)
    assert (sample.prompt, sample.original_messages[0].role) == ("", "system")
    assert Sample(messages=[{"role": "user", "content": "q"}] * 2, original_messages=[]).prompt == ""


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (None, "a row must be an object with messages, not NoneType"),
        ([1], "not list"),
        ({}, r'the row has no "messages" \(its columns: none\)'),
        ({"prompt": "p", 5: 1}, r"its columns: 5, prompt\); map columns"),
        ({"messages": []}, '"messages" is empty'),
        ({"messages": None}, '"messages" is empty'),
        ({"messages": "text"}, "messages must be a list of messages"),
        ({"messages": [{}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user"}], "original_messages": "x"}, "original_messages must be a list"),
        ({"messages": [{"role": "user"}], "metadata": [1]}, '"metadata" must be an object, not list'),
        ({"messages": [{"role": "user"}], "id": 1.5}, '"id" must be a string or a whole number, not float'),
        ({"messages": [{"role": "user"}], "id": True}, "not bool"),
    ],
)
def test_malformed_rows(row: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Sample.from_row(row)


SAMPLES = st.builds(
    lambda messages, context, truth, answer, metadata, identity: Sample(
        messages=messages,
        original_messages=context,
        ground_truth=truth,
        answer=answer,
        metadata=metadata,
        id=identity,
    ),
    st.lists(MESSAGES, min_size=1, max_size=3),
    st.none() | st.lists(MESSAGES, max_size=2),
    JSON,
    JSON,
    st.dictionaries(st.text(), JSON, max_size=3),
    st.none() | st.text() | st.integers(),
)


@given(SAMPLES)
def test_a_sample_survives_its_row(sample: Sample) -> None:
    assert Sample.from_row(sample.to_row()) == sample
    assert Sample.from_row(json.loads(json.dumps(sample.to_row()))) == sample
    assert pickle.loads(pickle.dumps(sample)) == sample


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
