"""Guerdon's own format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel, ConfigDict, field_validator

from guerdon import MetricResult, RewardFunction
from guerdon.errors import RemoteError
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RefusedError, RewardInfo
from guerdon.serve.formats.v1 import V1Format, outcome_of_result, result_of
from guerdon.types import EvaluateResult, Sample
from support.format_work import (
    NOT_APPLICABLE,
    SERVED,
    TIMEOUT,
    answer,
    outcomes,
    read,
    refusal,
    roles,
    sample_in,
    write,
)

V1 = V1Format()
TALK = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4", "mood": "sure"}]
MADE_BY = {"reward": "exact", "version": "3f2a", "parameters": {"strict": True}}
METRICS = {"length": (0.5, None, "12 words", None), "right": (1.0, True, None, 0.7)}
STEPS = [{"step_index": 1, "base_reward": 0.25, "metrics": {}}]


def test_a_sample_is_a_row() -> None:
    body = {
        "messages": TALK,
        "original_messages": [],
        "ground_truth": 4,
        "answer": "four",
        "metadata": {"level": [1, 2]},
        "id": "a",
    }
    sample = sample_in(V1, "score", body)
    assert roles(sample) == [("user", "2 + 2?"), ("assistant", "4")]
    assert sample.messages[1]["mood"] == "sure"
    assert (sample.original_messages, sample.ground_truth, sample.answer) == ([], 4, "four")
    assert (sample.metadata, sample.id) == ({"level": [1, 2]}, "a")


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}])
def test_no_metadata_is_empty_metadata(metadata: dict[str, Any]) -> None:
    sample = sample_in(V1, "score", {"messages": TALK, **metadata})
    assert (sample.metadata, sample.id, sample.ground_truth) == ({}, None, None)
    assert sample.original_messages == sample.messages[:1]


def test_a_batch_keeps_its_order_and_its_ids() -> None:
    asked = read(V1, "batch_score", {"samples": [{"messages": TALK, "id": i} for i in (3, "b")]})
    assert [s.id for s in asked.samples if isinstance(s, Sample)] == [3, "b"] == asked.context
    assert read(V1, "batch_score", {"samples": []}).samples == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, [(["body", "messages"], "Field required")]),
        ({"messages": []}, [(["body", "messages"], "List should have at least 1 item")]),
        (
            {"messages": TALK, "level": 1, "turns": []},
            [
                (["body", "level"], "Extra inputs are not permitted"),
                (["body", "turns"], "Extra inputs are not permitted"),
            ],
        ),
        (
            {"messages": [{"content": "4"}, "5"], "metadata": [], "id": True},
            [
                (["body", "messages", 0, "role"], "Field required"),
                (["body", "messages", 1], "Input should be"),
                (["body", "metadata"], "Input should be"),
                (["body", "id", "str"], "Input should be"),
                (["body", "id", "int"], "Input should be"),
            ],
        ),
        ([], [(["body"], "Input should be an object")]),
        (b"{", [(["body"], "Invalid JSON: EOF")]),
        (b"\xff", [(["body"], "Invalid JSON")]),
    ],
)
def test_everything_wrong_with_a_sample_is_named(body: Any, found: list[Any]) -> None:
    problems = refusal(V1, "score", body)
    assert [place for place, _ in problems] == [place for place, _ in found]
    assert all(message.startswith(start) for (_, message), (_, start) in zip(problems, found, strict=True))


def test_everything_wrong_with_a_batch_is_named() -> None:
    body = {"samples": [{"messages": TALK}, {"messages": 1}, {"messages": TALK, "prompt": "2 + 2?"}]}
    assert [place for place, _ in refusal(V1, "batch_score", body)] == [
        ["body", "samples", 1, "messages"],
        ["body", "samples", 2, "prompt"],
    ]


class Level(BaseModel):
    """Metadata with something to get wrong."""

    model_config = ConfigDict(extra="forbid")

    level: int
    topic: str = "sums"
    ground_truth: str | None = None


class Broken(BaseModel):
    """Metadata whose validator has a fault of its own."""

    level: int

    @field_validator("level")
    @classmethod
    def look_up(cls, value: int) -> int:
        raise KeyError(value)


def test_metadata_is_held_against_the_rewards_class() -> None:
    served = RewardInfo("exact", "1", {}, Level)
    good = {"messages": TALK, "metadata": {"level": 3}, "ground_truth": "4"}
    assert sample_in(V1, "score", good, served).metadata == {"level": 3}
    bad = {"messages": TALK, "metadata": {"level": "high", "hue": 1}}
    assert refusal(V1, "score", bad, served) == [
        (
            ["body", "metadata", "level"],
            "Input should be a valid integer, unable to parse string as an integer",
        ),
        (["body", "metadata", "hue"], "Extra inputs are not permitted"),
    ]
    batch = {"samples": [bad, good, {"messages": TALK}]}
    assert [place for place, _ in refusal(V1, "batch_score", batch, served)] == [
        ["body", "samples", 0, "metadata", "level"],
        ["body", "samples", 0, "metadata", "hue"],
        ["body", "samples", 2, "metadata", "level"],
    ]


def test_of_very_many_problems_a_hundred_are_listed() -> None:
    problems = refusal(
        V1, "batch_score", {"samples": [{"messages": TALK}] * 150}, RewardInfo("exact", "1", {}, Level)
    )
    assert (len(problems), problems[-1]) == (101, (["body"], "and 50 more problems"))


def test_a_fault_in_the_rewards_own_class_is_told_where_the_sample_is_scored() -> None:
    served = RewardInfo("exact", "1", {}, Broken)
    assert sample_in(V1, "score", {"messages": TALK, "metadata": {"level": 3}}, served).metadata == {
        "level": 3
    }


@pytest.mark.parametrize(
    ("outcome", "status", "result"),
    [
        (Outcome(0.5), 200, {"score": 0.5, "reason": None, "metrics": {}, "error": None}),
        (
            Outcome(-2.0, "too long", METRICS, STEPS),
            200,
            {
                "score": -2.0,
                "reason": "too long",
                "metrics": {
                    "length": {"score": 0.5, "reason": "12 words"},
                    "right": {"score": 1.0, "success": True, "weight": 0.7},
                },
                "step_outputs": STEPS,
                "error": None,
            },
        ),
        (
            NOT_APPLICABLE,
            200,
            {"score": None, "reason": "no code in the response", "metrics": {}, "error": None},
        ),
        (
            TIMEOUT,
            504,
            {
                "score": None,
                "reason": None,
                "metrics": {},
                "error": {"kind": "timeout", "message": "over 10 s"},
            },
        ),
        (
            Outcome(None, "half", METRICS, None, "ValueError: x", "exception"),
            500,
            {
                "score": None,
                "reason": "half",
                "metrics": {
                    "length": {"score": 0.5, "reason": "12 words"},
                    "right": {"score": 1.0, "success": True, "weight": 0.7},
                },
                "error": {"kind": "exception", "message": "ValueError: x"},
            },
        ),
    ],
)
def test_a_result_goes_out_whole_and_comes_back(outcome: Outcome, status: int, result: Any) -> None:
    told = {"id": 7, **result, **MADE_BY}
    assert write(V1, "score", [outcome], [7]) == (status, told)
    assert write(V1, "batch_score", [outcome], [7]) == (200, {"results": [told]})
    assert write(V1, "frame", [outcome], (12, 7)) == (200, {"n": 12, "result": told})
    assert outcome_of_result(told) == outcome


def test_what_json_has_no_word_for_is_written_as_text() -> None:
    served = RewardInfo("exact", "1", {"limit": float("inf"), "check": test_a_sample_is_a_row})
    _, result = write(V1, "score", [Outcome(1.0)], [None], served)
    assert result["parameters"]["limit"] == "Infinity"
    assert "test_a_sample_is_a_row" in result["parameters"]["check"]


@given(outcomes())
def test_any_outcome_survives_the_way_there_and_back(outcome: Outcome) -> None:
    status, body = V1.write("score", ["x"], [outcome], SERVED)
    assert (status == 200) == (outcome.error is None)
    assert outcome_of_result(json.loads(body)) == outcome


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, "score: Field required"),
        ({"score": "0.5"}, "score: Input should be a valid number"),
        ({"score": True}, "score: Input should be a valid number"),
        ({"score": float("nan")}, "score: Input should be a finite number"),
        ({"score": 1.0, "metrics": {"a": {"score": float("inf")}}}, r"metrics\.a\.score"),
        ({"score": 1.0, "metrics": []}, "metrics"),
        ({"score": None, "error": "boom"}, "error"),
        ({"score": 1.0, "step_outputs": [{"base_reward": 1.0}]}, "step_index"),
        ([], "valid dictionary"),
        (None, "valid dictionary"),
    ],
)
def test_what_is_no_result_is_not_taken_for_one(result: Any, says: str) -> None:
    with pytest.raises(RemoteError, match=f"the server gave no result: .*{says}"):
        outcome_of_result(result)


def test_a_result_of_a_newer_server_is_read() -> None:
    result = {"score": 1, "metrics": {"a": {"score": 2, "unit": "s"}}, "colour": "red", "error": None}
    assert outcome_of_result(result) == Outcome(1.0, None, {"a": (2.0, None, None, None)})


def test_a_frame_is_answered_under_its_number() -> None:
    asked = read(V1, "frame", {"n": 12, "sample": {"messages": TALK, "id": "a"}})
    assert asked.context == (12, "a")
    assert isinstance(asked.samples[0], Sample)
    assert json.loads(V1Format().refused_frame(None, "input", "no")) == {
        "n": None,
        "error": {"kind": "input", "message": "no"},
    }


@pytest.mark.parametrize(
    ("frame", "number", "places"),
    [
        ({"n": 12, "sample": {}}, 12, [["body", "sample", "messages"]]),
        ({"n": 12, "sample": {"messages": TALK}, "x": 1}, 12, [["body", "x"]]),
        ({"n": 12, "sample": {"messages": TALK, "metadata": {}}}, 12, [["body", "sample", "metadata", "level"]]),
        ({"n": True, "sample": {"messages": TALK}}, None, [["body", "n"]]),
        ({"sample": {"messages": TALK}}, None, [["body", "n"]]),
        (b"nonsense", None, [["body"]]),
    ],
)  # fmt: skip
def test_a_malformed_frame_is_refused_under_its_number(frame: Any, number: Any, places: Any) -> None:
    served = RewardInfo("exact", "1", {}, Level)
    assert [place for place, _ in refusal(V1, "frame", frame, served)] == places
    with pytest.raises(RefusedError) as caught:
        read(V1, "frame", frame, served)
    assert caught.value.id == number


def test_a_reward_answers() -> None:
    def near(response: str, answer: int, level: int = 1) -> Any:
        if response == "":
            return None
        return EvaluateResult(1 / level, "near", {"off": MetricResult(int(response) - answer)})

    texts = ["4", "", "x"]
    samples = [
        {"messages": [{"role": "assistant", "content": t}], "answer": 4, "metadata": {"level": 2}} for t in texts
    ]  # fmt: skip
    status, body = answer(V1, "batch_score", {"samples": samples}, near)
    scored, skipped, failed = body["results"]
    assert status == 200
    assert (scored["score"], scored["metrics"]) == (0.5, {"off": {"score": 0.0}})
    assert (skipped["score"], skipped["error"]) == (None, None)
    assert failed["error"]["kind"] == "exception"
    assert failed["error"]["message"].startswith("ValueError: invalid literal for int()")
    assert {result["reward"] for result in body["results"]} == {"near"}
    assert scored["version"] == RewardFunction(near).version


@pytest.mark.parametrize(
    ("op", "body", "mine"),
    [
        ("score", {"messages": []}, True),
        ("score", {"samples": []}, False),
        ("batch_score", {"samples": []}, True),
        ("frame", {"n": 1, "sample": {}}, True),
        ("frame", {"id": 1, "turns": []}, False),
    ],
)
def test_bodies_are_known_by_their_shape(op: str, body: dict[str, Any], mine: bool) -> None:
    assert V1.claims(op, body) is mine


def test_a_result_names_what_made_it() -> None:
    assert result_of(Outcome(1.0), None, SERVED) == {
        "id": None,
        "score": 1.0,
        "reason": None,
        "metrics": {},
        "error": None,
        **MADE_BY,
    }
