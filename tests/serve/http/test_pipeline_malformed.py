"""What a server is sent that holds no response, or a field of a wrong type, is refused in each format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from websockets.sync.client import connect

from guerdon import RewardFunction
from guerdon.reward.options import RewardOptions
from guerdon.serve.background import BackgroundServer
from guerdon.serve.formats import FORMATS
from support.serve_work import ActServer, call, in_background

ASKED = [{"role": "user", "content": "2 + 2?"}]
TALK = [*ASKED, {"role": "assistant", "content": "4"}]
RAW = {
    "NaN": b"NaN",
    "infinite": b"-Infinity",
    "half a pair": b'"\\ud83d"',
    "deep list": b"[" * 5000 + b"]" * 5000,
    "deep object": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "long number": b"9" * 5000,
    "torn": b'"',
}
"""JSON that is none, or that no reader should fail at."""
WRONG = [None, True, 0, -1.5, 10**30, [], {}, [None], [[]], {"a": 1}, [{"role": "user"}], [{"text": 4}]]
"""Values that are no text, and no messages with a response."""
TEXTS: dict[str, Sequence[tuple[Any, ...]]] = {
    "/score": [("turns",), ("turns", 1), ("turns", 1, "role"), ("turns", 1, "content")],
    "/v1/score": [("response",)],
    "/reward": [("messages",), ("messages", 1), ("messages", 1, "role")],
    "/get_reward": [("query",), ("query", 0)],
    "/verify": [
        ("response",),
        ("response", "output", 0, "content", 0, "text"),
        ("response", "output", 0, "role"),
    ],
    "/step": [("action",), ("action", "response")],
}
"""By path, the fields of its example without which there is nothing to score."""
EMPTY = [("/verify", ("response", "output"), []), ("/get_reward", ("query",), [])]
"""What is wrong elsewhere and not here: no output is an empty response, no query an empty batch."""


def exact(response: str, ground_truth: Any = None) -> bool:
    return bool(response == ground_truth)


def ending(messages: list[Any]) -> float:
    return float(len(messages))


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    wants = RewardFunction(ending, options=RewardOptions(allow_any_ending=True))
    with in_background(exact, wants, workers=1, quiet=True) as running:
        yield running


def put(value: Any, path: Sequence[Any], new: Any) -> Any:
    """A copy of a value with another one at a path."""
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], new)}
    return [put(item, path[1:], new) if i == path[0] else item for i, item in enumerate(value)]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that a value holds."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from places(item, (*path, name))


EXAMPLES = [f.example("2 + 2?", "4", {"ground_truth": "4", "level": 1}) for f in FORMATS]


@pytest.mark.parametrize(("path", "body"), EXAMPLES, ids=[path for path, _ in EXAMPLES])
def test_a_wrong_type_is_refused(server: BackgroundServer, path: str, body: Any) -> None:
    if (path, body) in [e for e in EXAMPLES if "label" in e[1]]:
        fields: Sequence[tuple[Any, ...]] = [("response",)]
    else:
        fields = TEXTS[path]
    for field in fields:
        for value in WRONG:
            if (path, field, value) not in EMPTY:
                reply = call(server.url, path, put(body, field, value))
                assert 400 <= reply.status < 500, (field, value, reply)
                assert reply.json["error"]["message"]


MORE = [
    (
        "/v1/score",
        {"messages": TALK, "original_messages": ASKED, "ground_truth": "4", "metadata": {"level": 1}},
    ),
    ("/v1/batch_score", {"samples": [{"messages": TALK, "id": 1}, {"prompt": "?", "response": "4"}]}),
    ("/batch_score", {"requests": [{"turns": TALK, "metadata": {"ground_truth": "4"}, "id": 1}]}),
    ("/evaluate", {"messages": TALK, "ground_truth": "4", "kwargs": {"level": 1}}),
    ("/aggregate_metrics", {"verify_responses": [{"_ng_task_index": 0, "reward": 1.0}]}),
    ("/reset", {"seed": 1, "episode_id": "a"}),
]


@pytest.mark.parametrize(("path", "body"), [*EXAMPLES, *MORE], ids=[path for path, _ in [*EXAMPLES, *MORE]])
def test_odd_json_anywhere_is_no_error_of_the_server(server: BackgroundServer, path: str, body: Any) -> None:
    for place in places(body):
        for name, raw in RAW.items():
            sent = json.dumps(put(body, place, "@@")).encode().replace(b'"@@"', raw)
            reply = call(server.url, path, sent)
            assert reply.status in (200, 422), (place, name, reply)
            if name in ("NaN", "infinite", "torn"):
                assert reply.status == 422, (place, name)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/score", {"turns": ASKED}),
        ("/", {"turns": ASKED}),
        ("/v1/score", {"messages": ASKED}),
        ("/v1/score", {"messages": [*TALK, *ASKED]}),
        ("/v1/score", {"messages": [*ASKED, {"role": "assistant"}]}),
        ("/v1/score", {"prompt": "2 + 2?", "response": ASKED}),
        ("/reward", {"messages": ASKED}),
        ("/evaluate", {"messages": ASKED}),
        ("/step", {"action": {"messages": ASKED}}),
        ("/v1/score", {"messages": [*ASKED, {"role": "assistant", "content": [{"type": "text"}]}]}),
        ("/v1/score", {"messages": [*ASKED, {"role": "Assistant", "content": "4"}]}),
    ],
)
def test_what_has_no_response_is_refused(server: BackgroundServer, path: str, body: dict[str, Any]) -> None:
    reply = call(server.url, path, body)
    status, kind, message = reply.error
    assert (status, kind) == (422, "input")
    assert any(part in message for part in ("the last one must be the assistant's", "content", "part"))
    if "messages" in body and body["messages"] == ASKED:
        assert call(server.url, f"/rewards/ending{path}", body).status == 200


@pytest.mark.parametrize(
    ("path", "body", "results"),
    [
        ("/v1/batch_score", {"samples": [{"messages": TALK}, {"messages": ASKED}]}, "results"),
        ("/batch_score", {"requests": [{"turns": TALK}, {"turns": ASKED}]}, "responses"),
    ],
)
def test_in_a_batch_it_is_the_samples_failure(
    server: BackgroundServer, path: str, body: dict[str, Any], results: str
) -> None:
    good, bad = call(server.url, path, body).json[results]
    assert good.get("error") is None
    assert bad["error"]["kind"] == "input"
    assert bad.get("score", bad.get("reward")) is None


@pytest.mark.parametrize(
    ("path", "frame"),
    [
        ("/v1/ws", {"n": 1, "sample": {"messages": ASKED}}),
        ("/v1/ws", {"n": 1, "sample": {"promt": "?", "response": "4"}}),
        ("/ws", {"id": 1, "turns": ASKED}),
        ("/ws", {"type": "step", "data": {"messages": ASKED}}),
    ],
)
def test_over_a_socket_it_is_an_error(server: BackgroundServer, path: str, frame: dict[str, Any]) -> None:
    with connect(server.url.replace("http", "ws", 1) + path, compression=None) as socket:
        socket.send(json.dumps(frame))
        answer = json.loads(socket.recv(timeout=20))
    error = answer.get("result", answer).get("error") or answer["data"]
    assert error["message"]
    assert "assistant" in error["message"] or "promt" in error["message"]
    assert answer.get("result", {}).get("score") is None


def test_a_message_that_calls_a_tool_is_a_response(server: BackgroundServer) -> None:
    used = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "add", "arguments": "{}"}}],
    }
    for message in (used, {**used, "content": ""}, {"role": "assistant", "content": ""}):
        assert call(server.url, "/v1/score", {"messages": [*ASKED, message]}).status == 200


def test_an_output_that_ends_at_a_tool_is_an_empty_response(server: BackgroundServer) -> None:
    tool = {"type": "function_call_output", "call_id": "a", "output": "4"}
    for output in ([], [tool]):
        rollout = {"responses_create_params": {"input": "2 + 2?"}, "response": {"output": output}}
        assert call(server.url, "/verify", {**rollout, "ground_truth": ""}).json["reward"] == 1.0


class AnyEndingServer(ActServer):
    allow_any_ending = True


def test_a_reward_server_scores_no_prompt() -> None:
    with ActServer(port=0, blocking=False) as running, AnyEndingServer(port=0, blocking=False) as other:
        assert running.url
        assert other.url
        assert call(running.url, "/score", {"turns": TALK}).json["reward"] == 1.0
        assert call(running.url, "/score", {"turns": ASKED}).error[:2] == (422, "input")
        reply = call(running.url, "/batch_score", {"requests": [{"turns": TALK}, {"turns": ASKED}]})
        assert reply.json["detail"][0]["loc"] == ["body", "requests", 1, "turns"]
        assert call(running.url, "/score", b'{"turns": [], "metadata": {"a": NaN}}').status == 422
        for path in ("/score", "/v1/score"):
            body = {"turns": ASKED} if path == "/score" else {"messages": ASKED}
            assert call(other.url, path, body).status == 200
