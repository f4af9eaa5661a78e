"""Conversations over WebSockets: Adaptive's frames, those of our own format, OpenEnv's messages."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest
from pydantic import BaseModel, Field
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from guerdon import EvaluateResult, reward_function
from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import call, connected, in_background, row, turns


class Letter(BaseModel):
    scary_letter: str = Field(min_length=1, max_length=1)


def echo(response: str, metadata: dict[str, Any]) -> EvaluateResult:
    """A long reason, of as many characters as the metadata says."""
    return EvaluateResult(1.0, reason=metadata.get("text", "é") * int(metadata.get("times", 1)))


def scary(response: str, scary_letter: str) -> float:
    return float(scary_letter not in response)


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    checked = reward_function(metadata_schema=Letter)(scary)
    rewards = (serve_work.act, echo, checked, serve_work.act_async)
    with in_background(*rewards, workers=1, timeout=1, max_body=200_000) as running:
        yield running


def opened(server: BackgroundServer, path: str = "/ws", **more: Any) -> Any:
    return connect(server.url.replace("http", "ws", 1) + path, compression=None, **more)


def said(conversation: ClientConnection, frame: Any) -> Any:
    conversation.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))
    return json.loads(conversation.recv(timeout=20))


def response(conversation: ClientConnection, head: Any = None) -> tuple[int, Any]:
    """The id and the Response that the next frames hold, or the error frame's error."""
    head = head or json.loads(conversation.recv(timeout=20))
    if "error" in head:
        assert set(head) == {"id", "error"}
        return head["id"], head["error"]
    assert set(head) == {"id", "total_num_chunks"}
    chunks = []
    for _ in range(head["total_num_chunks"]):
        frame = json.loads(conversation.recv(timeout=20))
        assert set(frame) == {"id", "chunk"}
        assert frame["id"] == head["id"]
        assert len(frame["chunk"]) <= 10_240
        chunks.append(frame["chunk"])
    whole = json.loads("".join(chunks))
    assert whole["id"] == head["id"]
    return head["id"], whole


def test_a_conversation(server: BackgroundServer) -> None:
    with opened(server) as conversation:
        for n, text in enumerate(["", "ab", "é\u2028\n\r", "x" * 50_000, "\U0001f600"]):
            conversation.send(json.dumps(turns(text, id=n * 10**9)))
            identity, whole = response(conversation)
            assert (identity, whole["reward"]) == (n * 10**9, float(len(text)))


@pytest.mark.parametrize("text", ["a", "é", "漢", "\U0001f600", '"', "\\", "\n", "\u2028"])
@pytest.mark.parametrize("times", [10_000, 10_240, 20_480, 70_001])
def test_long_responses_come_in_chunks(server: BackgroundServer, text: str, times: int) -> None:
    with opened(server, "/rewards/echo/ws") as conversation:
        conversation.send(json.dumps(turns("x", id=5, metadata={"text": text, "times": times})))
        identity, whole = response(conversation)
    assert (identity, whole["metadata"]["reason"]) == (5, text * times)


@pytest.mark.parametrize(
    ("frame", "identity", "kind", "says"),
    [
        (turns("raise it", id=1), 1, "exception", "ValueError: it"),
        (turns("nan", id=2), 2, "invalid_result", "finite"),
        (turns("none", id=3), 3, "not_applicable", "not apply"),
        (turns("sleep 9", id=4), 4, "timeout", "overran"),
        (turns("segv", id=5), 5, "crash", "SIGSEGV"),
        (turns("a"), None, "input", "id"),
        (turns("a", id="x"), None, "input", "id"),
        (turns("a", id=None), None, "input", "id"),
        ({**turns("a", id=6), "foo": 1}, 6, "input", "foo"),
        ({"id": 7}, 7, "input", "turns"),
        ({"id": 8, "turns": []}, 8, "input", "turns is empty"),
        ({"id": 9, "turns": [{"role": "user"}]}, 9, "input", "turns.0.content"),
        ("{", None, "input", "JSON"),
        ("", None, "input", "JSON"),
        ("[1]", None, "input", ""),
        ("\x00", None, "input", "JSON"),
        ('{"id": 1e400, "turns": []}', None, "input", "id"),
    ],
)
def test_errors_are_frames(
    server: BackgroundServer, frame: Any, identity: int | None, kind: str, says: str
) -> None:
    with opened(server) as conversation:
        answer = said(conversation, frame)
        assert (answer["id"], answer["error"]["kind"]) == (identity, kind)
        assert says in answer["error"]["message"]
        assert response(conversation, said(conversation, turns("abc", id=99)))[1]["reward"] == 3.0


@pytest.mark.parametrize(
    ("metadata", "says"),
    [({"scary_letter": "ab"}, "at most 1 character"), ({}, "Field required"), (None, "Field required")],
)
def test_metadata_that_does_not_fit_is_told_under_its_number(
    server: BackgroundServer, metadata: Any, says: str
) -> None:
    with opened(server, "/rewards/scary/ws") as conversation:
        answer = said(conversation, turns("x", id=11, metadata=metadata))
    assert (answer["id"], answer["error"]["kind"]) == (11, "input")
    assert says in answer["error"]["message"]
    with opened(server, "/rewards/scary/v1/ws") as conversation:
        answer = said(conversation, {"n": 12, "sample": row("x", metadata=metadata)})
    assert (answer["n"], answer["error"]["kind"]) == (12, "input")


def test_the_sockets_of_our_own_format(server: BackgroundServer) -> None:
    with opened(server, "/v1/ws") as conversation:
        good = said(conversation, {"n": 3, "sample": row("abc", id="s")})
        assert (good["n"], good["result"]["score"], good["result"]["id"]) == (3, 3.0, "s")
        late = said(conversation, {"n": 4, "sample": row("sleep 9")})
        assert (late["n"], late["result"]["score"], late["result"]["error"]["kind"]) == (4, None, "timeout")
        for frame, n in (
            ({"n": 5}, 5),
            ({"n": 6, "sample": {"messages": []}}, 6),
            ({"n": "x"}, None),
            ("[", None),
        ):
            bad = said(conversation, frame)
            assert (bad["n"], bad["error"]["kind"]) == (n, "input")


def test_a_request_that_waited_too_long_is_told_under_its_number() -> None:
    with in_background(serve_work.act, workers=1, request_timeout=1, timeout=30) as running:
        for path, busy, late, name in (
            ("/ws", turns("sleep 3", id=1), turns("a", id=2), "id"),
            ("/v1/ws", {"n": 1, "sample": row("sleep 3")}, {"n": 2, "sample": row("a")}, "n"),
        ):
            with opened(running, path) as conversation:
                conversation.send(json.dumps(busy))
                conversation.send(json.dumps(late))
                answers = [json.loads(conversation.recv(timeout=10)) for _ in range(2)]
            assert sorted(answer[name] for answer in answers) == [1, 2]
            assert {answer["error"]["kind"] for answer in answers} == {"timeout"}


def test_ten_thousand_messages(server: BackgroundServer) -> None:
    """All sent before one answer is read: the server holds back, and answers every one once."""
    with connected(server.url) as raw:
        _shake(raw, "/ws")
        count = 10_000
        found: list[Any] = []
        frames = b"".join(_masked(json.dumps(turns("x" * (n % 70), id=n)).encode()) for n in range(count))
        reader = _Frames(raw)
        sent = 0
        raw.settimeout(20)
        while sent < len(frames):
            sent += raw.send(frames[sent : sent + 100_000])
            if sent > 700_000 and len(found) < 2 * count:
                found += reader.some()
        while len(found) < 2 * count:
            found += reader.some()
    heads = [frame["id"] for frame in found if "total_num_chunks" in frame]
    rewards = {frame["id"]: json.loads(frame["chunk"])["reward"] for frame in found if "chunk" in frame}
    assert sorted(heads) == list(range(count))
    assert rewards == {n: float(n % 70) for n in range(count)}


def test_a_client_that_does_not_read_is_waited_for() -> None:
    """Answers of 60 MB for a client that takes none: the server keeps a part of them and stays in reach."""
    with in_background(echo, workers=1) as running, connected(running.url) as raw:
        _shake(raw, "/ws")
        raw.settimeout(0.5)
        metadata = {"text": "x", "times": 20_000}
        asked = 0
        try:
            while asked < 3000:
                raw.sendall(
                    _masked(json.dumps(turns("x", id=asked, metadata=metadata)).encode() + b" " * 20_000)
                )
                asked += 1
        except TimeoutError:
            pass
        assert asked < 3000
        assert call(running.url, "/info").status == 200
        assert call(running.url, "/score", turns("x")).status == 200


def test_a_session_is_answered_from_memory(server: BackgroundServer) -> None:
    frame = json.dumps(turns("sleep 0.3", id=1))
    with opened(server, "/ws?session=s1") as conversation:
        conversation.send(frame)
        time.sleep(0.05)
    started = time.monotonic()
    with opened(server, "/ws?session=s1") as conversation:
        for _ in range(5):
            assert response(conversation, said(conversation, frame))[1]["reward"] == 9.0
    assert time.monotonic() - started < 0.9
    with opened(server, "/ws?session=s1") as conversation:
        assert response(conversation, said(conversation, turns("abc", id=1)))[1]["reward"] == 3.0


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda c: c.send(b"{}"), 1003),
        (lambda c: c.send("x" * 300_000), 1009),
        (lambda c: c.send(["x" * 150_000, "x" * 150_000]), 1009),
        (lambda c: c.close(1000), 1000),
    ],
)
def test_close_codes(server: BackgroundServer, act: Callable[[ClientConnection], None], code: int) -> None:
    with opened(server) as conversation:
        with contextlib.suppress(ConnectionClosed):  # it may be closed before all is sent
            act(conversation)
        with pytest.raises(ConnectionClosed) as closed:
            conversation.recv(timeout=5)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code
    assert call(server.url, "/score", turns("abc")).status == 200


def test_a_client_that_closes_leaves_nothing_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    with in_background(serve_work.act, workers=1) as running:
        for path, message in ("/ws", turns("abc", id=1)), ("/v1/ws", {"n": 1, "sample": row("abc")}):
            with opened(running, path) as conversation:
                said(conversation, message)
            with opened(running, path):
                pass
        assert call(running.url, "/score", turns("abc")).status == 200
    assert capfd.readouterr().err == ""


def test_pings(server: BackgroundServer) -> None:
    with opened(server) as conversation:
        assert conversation.ping(b"there?").wait(5)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/none/ws", {}, 404),
        ("/score", {}, 404),
        ("/ws", {"sec-websocket-version": "8"}, 426),
        ("/ws", {"sec-websocket-key": "short"}, 400),
    ],
)
def test_handshakes_that_are_refused(
    server: BackgroundServer, path: str, headers: dict[str, str], status: int
) -> None:
    known = {
        "host": "localhost", "upgrade": "websocket", "connection": "Upgrade",
        "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", **headers,
    }  # fmt: skip
    lines = "".join(f"{name}: {value}\r\n" for name, value in known.items())
    with connected(server.url) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        (reply,) = serve_work.replies(raw, 1)
    assert reply.status == status
    assert reply.headers["x-request-id"]
    assert reply.json["error"]["message"]


def test_a_socket_needs_a_key() -> None:
    with in_background(serve_work.act, workers=1, api_key="k") as running:
        with pytest.raises(InvalidStatus) as refused, opened(running):
            pass
        assert refused.value.response.status_code == 401
        with opened(running, additional_headers={"X-Api-Key": "k"}) as conversation:
            assert response(conversation, said(conversation, turns("ab", id=1)))[1]["reward"] == 2.0


def test_stopping_answers_what_is_in_flight_and_says_why() -> None:
    running = in_background(serve_work.act, workers=1, timeout=5)
    with opened(running) as conversation:
        for n in range(50):
            conversation.send(json.dumps(turns("sleep 0.02", id=n)))
        assert response(conversation)[0] == 0
        serve_work.in_thread(running.stop)
        found = [response(conversation)[0] for _ in range(49)]
        with pytest.raises(ConnectionClosed) as closed:
            conversation.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "the server is stopping")
    assert found == list(range(1, 50))


# OpenEnv.


class EnvClient:
    """OpenEnv's client as its package has it: one JSON message, then one is awaited."""

    def __init__(self, url: str) -> None:
        self._opened = connect(url.replace("http", "ws", 1) + "/ws", max_size=100 * 1024 * 1024)

    def __enter__(self) -> Self:
        self._socket = self._opened.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.send(json.dumps({"type": "close"}))
        self._opened.__exit__(None, None, None)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._socket.send(json.dumps(message))
        answer: dict[str, Any] = json.loads(self._socket.recv(timeout=20))
        if answer["type"] == "error":
            raise RuntimeError(f"{answer['data']['message']} (code: {answer['data']['code']})")
        return answer["data"]  # type: ignore[no-any-return]

    def reset(self, **options: Any) -> dict[str, Any]:
        return self.ask({"type": "reset", "data": options})

    def step(self, **action: Any) -> dict[str, Any]:
        return self.ask({"type": "step", "data": action})

    def state(self) -> dict[str, Any]:
        return self.ask({"type": "state"})


def test_an_environment(server: BackgroundServer) -> None:
    with EnvClient(server.url) as env:
        assert env.reset(episode_id="e1")["done"] is False
        assert env.state() == {"episode_id": "e1", "step_count": 0}
        seen = env.step(prompt="?", response="abc")
        assert (seen["reward"], seen["done"]) == (3.0, True)
        assert env.step(messages=row("ab")["messages"])["reward"] == 2.0
        assert env.state() == {"episode_id": "e1", "step_count": 2}
        assert env.reset()["reward"] is None
        assert env.state() == {"episode_id": None, "step_count": 0}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"type": "step", "data": {"response": "raise it"}}, r"ValueError: it .*EXECUTION_ERROR"),
        ({"type": "step", "data": {"response": "sleep 9"}}, r"overran .*EXECUTION_ERROR"),
        ({"type": "step", "data": {}}, r"needs messages.*VALIDATION_ERROR"),
        ({"type": "step"}, r"VALIDATION_ERROR"),
        ({"type": "mcp", "data": {}}, r"mcp.*UNKNOWN_TYPE"),
        ({"type": "reset", "data": {"seed": -1}}, r"VALIDATION_ERROR"),
    ],
)
def test_what_an_environment_refuses(server: BackgroundServer, message: dict[str, Any], says: str) -> None:
    with EnvClient(server.url) as env:
        with pytest.raises(RuntimeError, match=says):
            env.ask(message)
        assert env.step(response="abc")["reward"] == 3.0


def test_an_environment_answers_in_order(server: BackgroundServer) -> None:
    """Messages sent together: each is answered before the next begins, slow or not."""
    texts = ["sleep 0.1", "a", "sleep 0.05", "abc", ""]
    messages = [
        *({"type": "step", "data": {"response": text}} for text in texts),
        {"type": "state"},
        {"type": "nonsense"},
    ]
    with opened(server, "/rewards/act_async/ws") as conversation:
        for message in messages:
            conversation.send(json.dumps(message))
        answers = [json.loads(conversation.recv(timeout=10)) for _ in messages]
        assert [answer["data"]["reward"] for answer in answers[:5]] == [float(len(text)) for text in texts]
        assert answers[5] == {"type": "state", "data": {"episode_id": None, "step_count": 5}}
        assert answers[6]["data"]["code"] == "UNKNOWN_TYPE"
        conversation.send('{"type": "close"}')
        with pytest.raises(ConnectionClosed) as closed:
            conversation.recv(timeout=5)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1000


def test_words_in_a_turn_make_no_message_of_openenv(server: BackgroundServer) -> None:
    with opened(server) as conversation:
        text = '{"type":"step"}'
        conversation.send(json.dumps({"turns": [{"role": "assistant", "content": text}], "id": 1}))
        assert response(conversation)[1]["reward"] == float(len(text))
        assert said(conversation, {"type": "nonsense"})["error"]["kind"] == "input"


# Raw sockets.


def _shake(raw: socket.socket, path: str) -> None:
    raw.sendall(
        f"GET {path} HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += raw.recv(1)
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head


def _masked(payload: bytes) -> bytes:
    length = len(payload)
    head = bytes((0x81, 0x80 | length)) if length < 126 else b"\x81\xfe" + length.to_bytes(2, "big")
    return head + bytes(4) + payload


class _Frames:
    """Text frames of a server that are shorter than 65,536 bytes."""

    def __init__(self, raw: socket.socket) -> None:
        self._raw, self._buffer = raw, b""

    def some(self) -> list[Any]:
        self._buffer += self._raw.recv(1 << 18)
        found, start = [], 0
        while len(self._buffer) - start >= 4:
            length, head = self._buffer[start + 1], 2
            if length == 126:
                length, head = int.from_bytes(self._buffer[start + 2 : start + 4], "big"), 4
            if len(self._buffer) < start + head + length:
                break
            found.append(json.loads(self._buffer[start + head : start + head + length]))
            start += head + length
        self._buffer = self._buffer[start:]
        return found
