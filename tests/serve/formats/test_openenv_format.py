"""OpenEnv's environments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import RefusedError, RewardInfo, json_bytes
from guerdon.serve.formats.openenv import OpenEnvCodec, OpenEnvFormat
from support.format_work import FAILURES, NOT_APPLICABLE, answer, read, refusal, roles, said, sample_in, write

ENV = OpenEnvFormat()
TALK = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
MADE_BY = {"reward": "exact", "version": "3f2a"}


@pytest.mark.parametrize(
    ("action", "conversation", "metadata"),
    [
        ({"messages": TALK, "level": 3}, [("user", "2 + 2?"), ("assistant", "4")], {"level": 3}),
        (
            {"messages": TALK, "prompt": "p", "metadata": {"level": 3}},
            [("user", "2 + 2?"), ("assistant", "4")],
            {"prompt": "p", "level": 3},
        ),
        ({"prompt": "2 + 2?", "response": "4"}, [("user", "2 + 2?"), ("assistant", "4")], {}),
        ({"response": "", "messages": None, "metadata": {}}, [("assistant", "")], {}),
    ],
)
def test_an_action_is_a_row(action: Any, conversation: Any, metadata: Any) -> None:
    sample = sample_in(ENV, "step", {"action": {**action, "ground_truth": "4", "id": 7}})
    assert roles(sample) == conversation
    assert (sample.ground_truth, sample.metadata, sample.id) == ("4", metadata, 7)


def test_a_step_may_say_a_deadline_which_is_the_servers_to_set() -> None:
    step = {"action": {"response": "4"}, "timeout_s": 2.5, "request_id": "r", "render": True}
    assert len(read(ENV, "step", step).samples) == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, [(["action"], "Field required")]),
        (b"", [([], "the body is not JSON: EOF while parsing a value at line 1 column 0")]),
        ({"action": {}}, [(["action"], "an action needs messages, or a response")]),
        ({"action": {"message": "4"}}, [(["action"], "an action needs messages, or a response")]),
        (
            {"action": {"messages": TALK, "response": "4"}},
            [(["action", "response"], "give messages or a response, not both")],
        ),
        (
            {"action": {"response": "4", "id": [1]}},
            [(["action"], '"id" must be a string or a whole number, not list')],
        ),
        (
            {"action": {"messages": [], "metadata": 1}, "timeout_s": 0},
            [
                (["action", "messages"], "List should have at least 1 item after validation, not 0"),
                (["action", "metadata"], "Input should be a valid dictionary"),
                (["timeout_s"], "Input should be greater than 0"),
            ],
        ),
    ],
)
def test_everything_wrong_with_a_step_is_named(body: Any, found: list[tuple[list[str], str]]) -> None:
    assert refusal(ENV, "step", body) == [(["body", *place], message) for place, message in found]


class Level(BaseModel):
    """Metadata with something to get wrong."""

    level: int
    topic: str


def test_columns_are_held_against_the_rewards_class() -> None:
    body = {"action": {"response": "4", "level": "x"}}
    assert [place for place, _ in refusal(ENV, "step", body, RewardInfo("exact", "1", {}, Level))] == [
        ["body", "action", "level"],
        ["body", "action", "topic"],
    ]


@pytest.mark.parametrize(
    ("outcome", "reward", "observation"),
    [
        (Outcome(0.5), 0.5, {"reason": None, "metrics": {}}),
        (
            Outcome(1.0, "equal", {"right": (1.0, True, None, None)}),
            1.0,
            {"reason": "equal", "metrics": {"right": {"score": 1.0, "success": True}}},
        ),
        (NOT_APPLICABLE, None, {"reason": "no code in the response", "metrics": {}}),
    ],
)
def test_a_step_ends_the_episode(outcome: Outcome, reward: float | None, observation: Any) -> None:
    assert write(ENV, "step", [outcome]) == (
        200,
        {
            "observation": {**observation, "metadata": MADE_BY},
            "reward": reward,
            "done": True,
            "metadata": MADE_BY,
        },
    )


@pytest.mark.parametrize(("outcome", "status", "kind", "message"), [f for f in FAILURES if f[0].error])
def test_a_failure_is_a_status(outcome: Outcome, status: int, kind: str, message: str) -> None:
    given, body = write(ENV, "step", [outcome])
    assert (given, *said(body)) == (status, kind, message)


@pytest.mark.parametrize("body", [b"", b" ", b"{}", {"seed": 3, "episode_id": "e", "difficulty": 2}])
def test_a_reset_has_no_reward(body: Any) -> None:
    assert read(ENV, "reset", body).samples == []
    assert write(ENV, "reset", []) == (
        200,
        {"observation": {"metadata": MADE_BY}, "reward": None, "done": False, "metadata": MADE_BY},
    )


@pytest.mark.parametrize(
    ("op", "body", "places"),
    [("reset", {"seed": -1, "episode_id": 5}, ["seed", "episode_id"]), ("state", {"a": 1}, ["a"])],
)
def test_what_is_wrong_with_the_rest_is_named(op: str, body: Any, places: list[str]) -> None:
    assert [place for place, _ in refusal(ENV, op, body)] == [["body", place] for place in places]


def test_over_http_the_state_is_that_of_a_fresh_environment() -> None:
    assert read(ENV, "state", b"").samples == []
    assert write(ENV, "state", []) == (200, {"episode_id": None, "step_count": 0})


def talk(session: OpenEnvCodec, message: Any, reward: Any) -> Any:
    """What a client gets for a message, each turn answered by the format with a real reward."""
    turn = session.receive(message if isinstance(message, str) else json.dumps(message))
    if turn.answer is not None:
        return json.loads(turn.answer)
    try:
        status, body = answer(ENV, turn.op, turn.body, reward)
    except RefusedError as error:
        status, body = error.status, {"detail": error.detail}
    return json.loads(session.answer(turn, status, json_bytes(body)))


def exact(response: str, ground_truth: str) -> float:
    if response == "?":
        raise LookupError("no such answer")
    return float(response == ground_truth)


def test_a_conversation_over_the_socket() -> None:
    session = OpenEnvCodec()
    reset = talk(session, {"type": "reset", "data": {"seed": 1, "episode_id": "e"}}, exact)
    assert (reset["type"], reset["data"]["done"], reset["data"]["reward"]) == ("observation", False, None)
    step = talk(
        session, {"type": "step", "data": {"response": "4", "ground_truth": "4", "metadata": {}}}, exact
    )
    assert (step["type"], step["data"]["done"], step["data"]["reward"]) == ("observation", True, 1.0)
    assert step["data"]["observation"]["metadata"] == step["data"]["metadata"]
    assert talk(session, {"type": "state"}, exact) == {
        "type": "state",
        "data": {"episode_id": "e", "step_count": 1},
    }
    failed = talk(session, {"type": "step", "data": {"response": "?", "ground_truth": "4"}}, exact)
    assert (failed["type"], failed["data"]["code"]) == ("error", "EXECUTION_ERROR")
    assert failed["data"]["message"].startswith("LookupError: no such answer")
    assert talk(session, {"type": "state"}, exact)["data"]["step_count"] == 1
    talk(session, {"type": "reset"}, exact)
    assert talk(session, {"type": "state"}, exact)["data"] == {"episode_id": None, "step_count": 0}
    assert session.receive('{"type": "close"}').op == "close"


@pytest.mark.parametrize(
    ("message", "code", "says"),
    [
        ("{", "INVALID_JSON", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ('{"type": "step", "data": {"x": NaN}}', "INVALID_JSON", "Invalid JSON: expected value"),
        ([], "UNKNOWN_TYPE", "Unknown message type: None"),
        ({"type": "mcp", "data": {}}, "UNKNOWN_TYPE", "Unknown message type: mcp"),
        ({"type": ["step"]}, "UNKNOWN_TYPE", "Unknown message type: ['step']"),
        ({"type": "step"}, "VALIDATION_ERROR", "Invalid message"),
        ({"type": "state", "data": {}}, "VALIDATION_ERROR", "Invalid message"),
        ({"type": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR", "Invalid message"),
        (
            {"type": "step", "data": {"text": "4"}},
            "VALIDATION_ERROR",
            "Invalid message: body.action: an action needs messages, or a response",
        ),
    ],
)
def test_a_malformed_message_is_answered(message: Any, code: str, says: str) -> None:
    session = OpenEnvCodec("e", 2)
    told = talk(session, message, exact)
    assert told["type"] == "error"
    assert told["data"]["code"] == code
    assert told["data"]["message"].startswith(says)
    assert (session.episode_id, session.step_count) == ("e", 2)


def test_an_action_is_known_by_its_name() -> None:
    assert ENV.claims("step", {"action": {}})
    assert not ENV.claims("step", {"response": "4"})
    assert ENV.claims("reset", {})
