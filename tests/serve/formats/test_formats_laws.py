"""What holds for every wire format."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import Format, RefusedError, RewardInfo, Route, json_bytes
from guerdon.serve.formats.openenv import OpenEnvCodec, OpenEnvFormat
from guerdon.types import Sample
from support.format_work import FORMATS, JSON, SERVED, outcomes

TALK = [
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": [{"type": "text", "text": "4"}]},
]
ROLLOUT = {
    "responses_create_params": {"input": [{"role": "user", "content": "2 + 2?"}], "tools": [{"name": "add"}]},
    "response": {
        "output": [
            {"type": "reasoning", "summary": [{"text": "Add."}]},
            {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "1"},
            {"type": "function_call_output", "call_id": "1", "output": "4"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]},
        ],
        "usage": {"total_tokens": 7},
    },
    "expected_answer": "4",
    "id": 3,
}
EXAMPLES: dict[tuple[str, str], Any] = {
    ("v1", "score"): {"messages": TALK, "metadata": {"level": 1}, "id": "a", "ground_truth": "4"},
    ("v1", "batch_score"): {"samples": [{"messages": TALK, "metadata": {"level": 1}}, {"messages": TALK}]},
    ("v1", "frame"): {"n": 1, "sample": {"messages": TALK, "id": 2}},
    ("reward_kit", "evaluate"): {"messages": TALK, "ground_truth": "4", "kwargs": {"level": 1, "id": 4}},
    ("reward_kit", "reward"): {"messages": TALK, "ground_truth": TALK, "level": 1, "original_messages": TALK},
    ("openrlhf", "get_reward"): {"query": ["2 + 2?4", "a"], "prompts": ["2 + 2?", "a"], "labels": ["4", None]},
    ("slime", "reward"): {"prompt": TALK, "response": "4", "label": "4"},
    ("nemo_gym", "verify"): ROLLOUT,
    ("nemo_gym", "seed_session"): {
        "resources_session_id": "s",
        "episode_id": "e",
        "task_id": "t",
        "task_data": {},
    },
    ("nemo_gym", "aggregate_metrics"): {
        "verify_responses": [{**ROLLOUT, "reward": 1.0, "_ng_task_index": 0}, {"reward": 0, "right": True}]
    },
    ("openenv", "reset"): {"seed": 1, "episode_id": "e"},
    ("openenv", "step"): {"action": {"messages": TALK, "level": 1}, "timeout_s": 3, "request_id": "r"},
    ("openenv", "state"): {},
}  # fmt: skip
OPS = [pytest.param(f, op, id=f"{f.name}-{op}") for f in FORMATS for name, op in EXAMPLES if name == f.name]
ROUTES = [
    pytest.param(f, r, id=f"{f.name}-{op}")
    for f in FORMATS
    for op, r in {route.op: route for route in f.routes}.items()
]


class Level(BaseModel):
    """Metadata with something to get wrong."""

    level: int
    label: str


SCHEMED = RewardInfo("exact", "3f2a", {}, Level)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, item in inner for spot in spots(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of a value with something else at a path."""
    if not path:
        return new
    whole = copy.deepcopy(value)
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return whole


def holds(format: Format, op: str, body: bytes) -> None:
    """A body is refused with its problems, or is read as samples that an answer can be written for."""
    for served in (SERVED, SCHEMED):
        try:
            asked = format.read(op, body, served)
        except RefusedError as error:
            refused = error
        else:
            refused = None
        if refused is not None:
            assert 400 <= refused.status < 500
            assert json.loads(json_bytes(refused.detail))
            continue
        assert all(isinstance(sample, Sample) and sample.messages for sample in asked.samples)
        context = pickle.loads(pickle.dumps(asked.context))
        status, answer = format.write(op, context, [Outcome(1.0)] * len(asked.samples), served)
        assert status == 200
        json.loads(answer, parse_constant=pytest.fail)


@pytest.mark.parametrize(("format", "op"), OPS)
def test_the_examples_are_read(format: Format, op: str) -> None:
    example = EXAMPLES[format.name, op]
    asked = format.read(op, json.dumps(example).encode(), SERVED)
    assert isinstance(asked.samples, list)
    if op not in ("frame", "state", "reset"):
        assert format.claims(op, example)


@pytest.mark.parametrize(("format", "op"), OPS)
@given(body=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(format: Format, op: str, body: bytes) -> None:
    holds(format, op, body)


@pytest.mark.sample(5, seconds=1)
@pytest.mark.parametrize(("format", "op"), OPS)
@given(data=st.data())
def test_any_json_is_read_or_refused(format: Format, op: str, data: st.DataObject) -> None:
    example = EXAMPLES[format.name, op]
    changed = replaced(example, data.draw(st.sampled_from(spots(example))), data.draw(JSON))
    holds(format, op, json.dumps(changed).encode())


@pytest.mark.parametrize(("format", "op"), OPS)
@pytest.mark.parametrize(
    "body",
    [b'{"a": NaN}', b'{"a": 1e400}', b'{"a": "\\ud800"}', b'{"a":' + b"[" * 5000, b'{"a": ' + b"9" * 5000 + b"}", b""],
)  # fmt: skip
def test_odd_json_is_read_or_refused(format: Format, op: str, body: bytes) -> None:
    holds(format, op, body)


@pytest.mark.parametrize(("format", "op"), OPS)
@given(data=st.data())
def test_any_object_is_claimed_or_not(format: Format, op: str, data: st.DataObject) -> None:
    example = EXAMPLES[format.name, op]
    changed = replaced(example, data.draw(st.sampled_from(spots(example))), data.draw(JSON))
    if isinstance(changed, dict):
        assert format.claims(op, changed) in (True, False)


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize(("format", "route"), ROUTES)
@given(data=st.data())
def test_an_answer_is_as_it_is_documented(format: Format, route: Route, data: st.DataObject) -> None:
    body = json.dumps(EXAMPLES[format.name, route.op]).encode()
    asked = format.read(route.op, body, SERVED)
    found = [data.draw(outcomes()) for _ in asked.samples]
    status, answer = format.write(route.op, asked.context, found, SERVED)
    value = json.loads(answer, parse_constant=pytest.fail)
    if status == 200:
        route.response.model_validate_json(answer)
    elif format.name != "v1":
        assert (value["detail"], value["error"]["message"]) == (value["error"]["message"],) * 2
    scored = all(o.score is not None for o in found)
    assert scored is (status == 200) or format.name in ("v1", "openenv")


@pytest.mark.parametrize(("format", "route"), ROUTES)
@given(outcome=outcomes(st.sampled_from(["\ud800", "a\udfff"])))
def test_words_that_are_no_text_are_written(format: Format, route: Route, outcome: Outcome) -> None:
    asked = format.read(route.op, json.dumps(EXAMPLES[format.name, route.op]).encode(), SERVED)
    _, answer = format.write(route.op, asked.context, [outcome] * len(asked.samples), SERVED)
    json.loads(answer)


@pytest.mark.parametrize(("format", "route"), ROUTES)
def test_a_route_can_be_documented(format: Format, route: Route) -> None:
    for model in (route.request, route.response):
        schema = model.model_json_schema(mode="serialization" if model is route.response else "validation")
        assert schema.get("description") or issubclass(model, RootModel)
    assert route.summary
    assert route.path.startswith("/")


def test_where_two_formats_want_a_path_a_body_has_the_shape_of_one() -> None:
    """Below v1, which has paths of its own, a body is claimed by no format but its own."""
    shared = FORMATS[1:]
    for (name, op), example in EXAMPLES.items():
        if op in ("frame", "reset", "state", "seed_session", "aggregate_metrics") or name == "v1":
            continue
        claimed = {f.name for f in shared for r in f.routes if r.path == "/" and f.claims(r.op, example)}
        assert claimed == {name}


@given(text=st.text(max_size=60) | JSON.map(json.dumps))
def test_any_message_on_a_socket_is_understood_or_answered(text: str) -> None:
    turn = OpenEnvCodec().receive(text)
    assert turn.op in ("reset", "step", "state", "close", "error")
    if turn.op == "error":
        assert json.loads(turn.answer or b"")["type"] == "error"


MESSAGES = [
    {"type": "step", "data": {"response": "4"}},
    {"type": "reset", "data": {"seed": 1, "episode_id": "e"}},
]


@given(data=st.data())
def test_a_spoilt_message_is_understood_or_answered(data: st.DataObject) -> None:
    message = data.draw(st.sampled_from(MESSAGES))
    changed = replaced(message, data.draw(st.sampled_from(spots(message))), data.draw(JSON))
    session = OpenEnvCodec()
    turn = session.receive(json.dumps(changed))
    if turn.op == "step":
        try:
            OpenEnvFormat().read("step", turn.body, SERVED)
        except RefusedError as error:
            answer = session.answer(turn, 422, json_bytes({"detail": error.detail}))
            assert json.loads(answer)["data"]["code"] == "VALIDATION_ERROR"
