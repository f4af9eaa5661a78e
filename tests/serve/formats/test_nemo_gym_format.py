"""NeMo Gym's resources servers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from guerdon import weighted
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RewardInfo
from guerdon.serve.formats.nemo_gym import NemoGymFormat, aggregate, reward_components
from guerdon.types import Sample
from support.format_work import FAILURES, SERVED, answer, read, refusal, roles, said, sample_in, write

GYM = NemoGymFormat()


def text(words: str) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": words, "annotations": []}],
    }


def rollout(*output: dict[str, Any], input: Any = "2 + 2?", **row: Any) -> dict[str, Any]:
    params = {"input": input, "tools": [], "parallel_tool_calls": True}
    return {"responses_create_params": params, "response": {"id": "r", "output": list(output)}, **row}


def part(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


CALL = {"type": "function_call", "name": "add", "arguments": '{"a": 2}', "call_id": "c1"}
CALLED = {
    "id": "c1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a": 2}'},
}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}


@pytest.mark.parametrize(
    ("body", "conversation", "context"),
    [
        (rollout(text("4")), [("user", "2 + 2?"), ("assistant", "4")], 1),
        (
            rollout(
                text("4"),
                input=[
                    {"role": "developer", "content": "Be brief."},
                    {"role": "user", "content": [part("2 + "), part("2?")]},
                ],
            ),
            [("developer", "Be brief."), ("user", "2 + 2?"), ("assistant", "4")],
            2,
        ),
        (
            {"responses_create_params": {"input": [], "instructions": "Count."}, "response": {"output": [text("4")]}},
            [("system", "Count."), ("assistant", "4")],
            1,
        ),
        (
            rollout(CALL, OUTPUT, text("4")),
            [("user", "2 + 2?"), ("assistant", ""), ("tool", "4"), ("assistant", "4")],
            1,
        ),
        (rollout(CALL, OUTPUT), [("user", "2 + 2?"), ("assistant", ""), ("tool", "4"), ("assistant", "")], 1),
        (rollout(), [("user", "2 + 2?"), ("assistant", "")], 1),
        (
            rollout({"type": "web_search_call", "id": "w", "status": "completed"}, text("4"), text("5")),
            [("user", "2 + 2?"), ("assistant", "4"), ("assistant", "5")],
            1,
        ),
        (
            rollout({**text(""), "content": [{"type": "refusal", "refusal": "No."}]}),
            [("user", "2 + 2?"), ("assistant", "No.")],
            1,
        ),
        (
            rollout(text("4"), input=[{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]),
            [("user", [{"type": "input_image", "image_url": "x"}]), ("assistant", "4")],
            1,
        ),
    ],
)  # fmt: skip
def test_a_rollout_is_a_conversation(body: Any, conversation: Any, context: int) -> None:
    sample = sample_in(GYM, "verify", body)
    assert roles(sample) == conversation
    assert sample.original_messages == sample.messages[:context]


def test_one_turn_is_one_message() -> None:
    thought = {"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "Add."}]}
    whole = {**thought, "content": [{"type": "reasoning_text", "text": "2 and 2 make 4."}]}
    body = rollout(
        thought, text("I add."), CALL, {**CALL, "call_id": "c2"}, OUTPUT, whole, CALL, thought, whole
    )
    messages = [m.to_dict() for m in sample_in(GYM, "verify", body).messages[1:]]
    assert messages == [
        {
            "role": "assistant",
            "content": "I add.",
            "reasoning_content": "Add.",
            "tool_calls": [CALLED, {**CALLED, "id": "c2"}],
        },
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "2 and 2 make 4.",
            "tool_calls": [CALLED],
        },
        {"role": "assistant", "content": "", "reasoning_content": "Add.\n2 and 2 make 4."},
    ]


def test_the_fields_of_the_row_are_columns() -> None:
    body = rollout(
        text("4"), expected_answer="4", level=3, verifier_metadata={"a": 1}, agent_ref={"name": "x"}, _ng_task_index=2
    )  # fmt: skip
    body["responses_create_params"]["tools"] = [{"name": "add"}]
    sample = sample_in(GYM, "verify", body)
    assert sample.metadata == {
        "expected_answer": "4",
        "level": 3,
        "verifier_metadata": {"a": 1},
        "tools": [{"name": "add"}],
    }
    assert (sample.ground_truth, sample.answer, sample.id) == ("4", None, None)


def test_names_of_samples_are_what_they_are_in_rows() -> None:
    body = rollout(
        text("4"), expected_answer="5", ground_truth="4", answer="four", id="a", prompt="p", tools=1
    )
    sample = sample_in(GYM, "verify", body)
    assert (sample.ground_truth, sample.answer, sample.id) == ("4", "four", "a")
    assert sample.metadata == {"expected_answer": "5", "prompt": "p", "tools": 1}
    assert sample_in(GYM, "verify", rollout(text("4"), id=[1])).metadata == {"id": [1]}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            {"input": 1},
            [(["responses_create_params"], "Field required"), (["response"], "Field required")],
        ),
        (
            {"responses_create_params": {}, "response": {"output": "4"}},
            [
                (["responses_create_params", "input"], "Field required"),
                (["response", "output"], "Input should be a valid list"),
            ],
        ),
        (rollout({"content": "4"}), [(["response", "output"], "item 0 has neither a type nor a role")]),
        (
            rollout(text("4"), {"type": "message", "content": "4"}),
            [(["response", "output"], "item 1: a message needs a role")],
        ),
        (
            rollout({"type": "function_call"}),
            [(["response", "output"], "item 0: a function_call needs a name")],
        ),
        (
            rollout({**CALL, "arguments": [1]}),
            [(["response", "output"], "item 0: arguments must be text, not list")],
        ),
        (
            rollout({**OUTPUT, "call_id": 1}),
            [(["response", "output"], "item 0: call_id must be text, not int")],
        ),
        (
            rollout(input=[{"role": "user", "content": 4}]),
            [
                (
                    ["responses_create_params", "input"],
                    "item 0: content must be text or a list of parts, not int",
                )
            ],
        ),
        (b'{"reward": NaN}', [([], "the body is not JSON: expected value at line 1 column 12")]),
        (b"[]", [([], "the body must be a JSON object, not a list")]),
    ],
)
def test_everything_wrong_with_a_body_is_named(body: Any, found: list[tuple[list[str], str]]) -> None:
    assert refusal(GYM, "verify", body) == [(["body", *place], message) for place, message in found]


class Level(BaseModel):
    """Metadata with something to get wrong."""

    level: int
    answer: str


def test_columns_are_held_against_the_rewards_class() -> None:
    served = RewardInfo("exact", "1", {}, Level)
    body = rollout(text("4"), level="high")
    assert [place for place, _ in refusal(GYM, "verify", body, served)] == [
        ["body", "level"],
        ["body", "answer"],
    ]
    assert sample_in(GYM, "verify", {**body, "level": 1, "answer": "4"}, served).answer == "4"


def test_the_answer_is_the_request_with_its_reward() -> None:
    body = rollout(text("4"), level=3, reward=9, reward_components={"old": 9}, words=1, _ng_task_index=2)
    metrics = {
        "right": (1.0, True, "equal", 0.75),
        "brief": (0.2, None, None, 0.25),
        "brief/cut": (9.0, None, None, 5.0),
        "words": (12.0, None, None, None),
        "response": (0.5, None, None, None),
        "_ng_task_index": (0.25, None, None, None),
    }
    outcome = Outcome(0.8, "mostly", metrics)
    assert write(GYM, "verify", [outcome], read(GYM, "verify", body).context) == (
        200,
        {
            **body,
            "reward": 0.8,
            "right": 1.0,
            "brief": 0.2,
            "brief/cut": 9.0,
            "words": 12.0,
            "metric_response": 0.5,
            "metric__ng_task_index": 0.25,
            "reward_components": {"right": 0.75, "brief": 0.05},
        },
    )
    assert write(GYM, "verify", [Outcome(1.0)], rollout(text("4"))) == (
        200,
        {**rollout(text("4")), "reward": 1.0},
    )


@pytest.mark.parametrize(
    ("reward", "metrics", "components"),
    [
        (0.5, {}, None),
        (1.0, {"a": (1.0, None, None, None)}, None),
        (0.5, {"a": (1.0, None, None, 0.5)}, {"a": 0.5}),
        (0.6, {"a": (1.0, None, None, 0.5)}, None),
        (-0.1, {"a": (1.0, None, None, 0.1), "b": (2.0, None, None, -0.1)}, {"a": 0.1, "b": -0.2}),
        (0.0, {"a": (1e300, None, None, 1e300), "b": (-1e300, None, None, 1e300)}, None),
        (0.5, {"a": (1.0, None, None, 0.5), "a/x": (1.0, None, None, 0.5)}, {"a": 0.5}),
    ],
)
def test_components_are_given_where_they_sum_to_the_reward(
    reward: float, metrics: Any, components: Any
) -> None:
    assert reward_components(reward, metrics) == components


@pytest.mark.parametrize(("outcome", "status", "kind", "message"), FAILURES)
def test_a_failure_is_a_status(outcome: Outcome, status: int, kind: str, message: str) -> None:
    given, body = write(GYM, "verify", [outcome], rollout(text("4")))
    assert (given, *said(body)) == (status, kind, message)
    assert "reward" not in body


def right(response: str, expected_answer: str) -> bool:
    return response == expected_answer


def brief(response: str, level: int = 1) -> float:
    return level / len(response)


def test_a_composition_answers() -> None:
    reward = weighted(right, brief, weights=[0.5, 0.25])
    status, body = answer(GYM, "verify", rollout(text("42"), expected_answer="42", level=1), reward)
    assert (status, body["reward"]) == (200, 0.625)
    assert (body["right"], body["brief"]) == (1.0, 0.5)
    assert body["reward_components"] == {"right": 0.5, "brief": 0.125}


SEED = {"resources_session_id": "s1", "episode_id": "e", "task_id": "t", "task_data": {"level": 1}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {}),
        ({"responses_create_params": {"input": "2 + 2?"}, "expected_answer": "4"}, {}),
        (SEED, {"resources_session_id": "s1", "resources_tools": None, "sandbox_access": None}),
        ({**SEED, "resources_session_id": ""}, {}),
        ({**SEED, "more": 1}, {}),
    ],
)
def test_a_session_needs_no_state(body: Any, expected: Any) -> None:
    asked = read(GYM, "seed_session", body)
    assert asked.samples == []
    assert write(GYM, "seed_session", [], asked.context) == (200, expected)


def test_metrics_are_those_of_the_profiler() -> None:
    body = {
        "verify_responses": [
            {"_ng_task_index": 1, "_ng_rollout_index": 0, "reward": 1.0, "right": True, "note": "x"},
            {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 0, "response": {"usage": {"tokens": 10}}},
            {"_ng_task_index": 1, "_ng_rollout_index": 1, "reward": 0.0, "right": False},
        ]
    }
    sample = {"sample": {"agent_ref": {"name": "agent"}}}
    status, result = write(GYM, "aggregate_metrics", [], read(GYM, "aggregate_metrics", body).context)
    assert status == 200
    assert result["group_level_metrics"] == [
        {
            **{f"{s}/reward": 0.0 for s in ("mean", "max", "min", "median", "std")},
            **{f"{s}/tokens": 10.0 for s in ("mean", "max", "min", "median")},
            "std/tokens": 0.0,
            **sample,
            "_ng_task_index": 0,
        },
        {
            "mean/reward": 0.5, "max/reward": 1.0, "min/reward": 0.0, "median/reward": 0.5,
            "std/reward": pytest.approx(0.5**0.5),
            "mean/right": 0.5, "max/right": 1.0, "min/right": 0.0, "median/right": 0.5,
            "std/right": pytest.approx(0.5**0.5),
            **sample, "_ng_task_index": 1,
        },
    ]  # fmt: skip
    overall = result["agent_metrics"]
    assert overall["mean/reward"] == pytest.approx(1 / 3)
    assert overall["std/reward"] == pytest.approx((1 / 3) ** 0.5)
    assert overall["median/tokens"] == 10.0
    assert "std/tokens" not in overall  # of one value among others there is none
    assert result["key_metrics"] == {
        "mean/reward": pytest.approx(1 / 3),
        "mean/right": 0.5,
        "mean/tokens": 10.0,
    }
    assert aggregate([]) == {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, (["body", "verify_responses"], "Field required")),
        (
            {"verify_responses": [{}, {"_ng_task_index": "a"}]},
            (["body", "verify_responses", 1, "_ng_task_index"], "must be a whole number"),
        ),
        (
            b'{"verify_responses": [{"reward": 1e400}]}',
            (["body", "verify_responses", 0, "reward"], "must be a number of at most 1e+150"),
        ),
    ],
)
def test_what_cannot_be_summarised_is_named(body: Any, found: Any) -> None:
    assert refusal(GYM, "aggregate_metrics", body) == [found]


@pytest.mark.parametrize(
    ("op", "body", "mine"),
    [
        ("verify", rollout(), True),
        ("verify", {"response": "4", "label": "4"}, False),
        ("seed_session", {}, True),
        ("aggregate_metrics", {"verify_responses": []}, True),
    ],
)
def test_bodies_are_known_by_their_shape(op: str, body: dict[str, Any], mine: bool) -> None:
    assert GYM.claims(op, body) is mine


def test_what_was_read_is_not_changed_by_the_answer() -> None:
    asked = read(GYM, "verify", rollout(text("4"), level=3))
    write(GYM, "verify", [Outcome(1.0, None, {"level": (0.0, None, None, None)})], asked.context, SERVED)
    assert isinstance(asked.samples[0], Sample)
    assert asked.context["level"] == 3
