"""What the server refuses and how it says so; requests that are repeated under one key."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import Reply, call, connected, in_background, raw, replies, row, turns

KEY = "s3cret-key"
BEARER = {"Authorization": f"Bearer {KEY}"}
MAX_BODY = 50_000


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    with in_background(
        serve_work.act, serve_work.act_async, workers=1, timeout=20, max_body=MAX_BODY
    ) as running:
        yield running


@pytest.fixture(scope="module")
def locked() -> Iterator[BackgroundServer]:
    with in_background(serve_work.act, api_key=[KEY, "another"], workers=1) as running:
        yield running


def body(text: str, **more: Any) -> bytes:
    return json.dumps(turns(text, **more)).encode()


# Keys.


@pytest.mark.parametrize(
    "path", ["/score", "/v1/score", "/rewards/act/score", "/sc%6Fre", "/rewards/none/score"]
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Basic czNjcmV0"}, 401),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"X-Api-Key": KEY + "x"}, 403),
    ],
)
def test_no_key_no_answer(locked: BackgroundServer, path: str, headers: dict[str, str], status: int) -> None:
    reply = call(locked.url, path, turns("abc"), headers)
    assert reply.error[:2] == (status, "key")
    assert ("www-authenticate" in reply.headers) is (status == 401)
    assert KEY not in reply.body.decode()
    assert "act" not in reply.error[2].split()


@pytest.mark.parametrize("headers", [BEARER, {"X-Api-Key": "another"}, {"authorization": f"bearer  {KEY} "}])
def test_each_key_opens(locked: BackgroundServer, headers: dict[str, str]) -> None:
    assert call(locked.url, "/score", turns("abc"), headers).json["reward"] == 3.0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 200) for path in ("/health", "/health/live", "/health/ready", "/info", "/rewards/act/info")),
        *(
            (path, 401)
            for path in ("/metrics", "/rewards", "/metadata_schema", "/v1/info", "/v1/schema", "/state")
        ),
        ("/rewards/none/info", 401),
    ],
)
def test_what_is_open_without_a_key(locked: BackgroundServer, path: str, status: int) -> None:
    assert call(locked.url, path).status == status
    assert call(locked.url, path, headers=BEARER).status in (200, 404)


def test_a_server_that_others_reach_insists_on_a_key() -> None:
    with pytest.raises(InputError, match="allow-anonymous"):
        in_background(serve_work.act, host="0.0.0.0")


# Refusals.


@pytest.mark.parametrize(
    ("path", "given", "headers", "status", "kind", "says"),
    [
        ("/none", turns("a"), {}, 404, "not_found", "/none"),
        ("/rewards/none/score", turns("a"), {}, 404, "not_found", "there are: act, act_async"),
        ("/score", body("x" * MAX_BODY), {}, 413, "input", "50,000 bytes"),
        ("/score", body("x" * 5_000_000), {}, 413, "input", "50,000 bytes"),
        ("/sc%6Fre", body("x" * 5_000_000), {}, 413, "input", "50,000 bytes"),
        ("/score", turns("a"), {"content-type": "text/plain"}, 415, "input", "text/plain"),
        ("/score", turns("a"), {"content-type": "multipart/form-data; boundary=x"}, 415, "input", "multipart"),
        ("/score", b"", {}, 422, "input", "JSON"),
        ("/score", b"{", {}, 422, "input", "JSON"),
        ("/score", b"[]", {}, 422, "input", "object"),
        ("/score", b"\xff\xfe", {}, 422, "input", "JSON"),
        ("/score", b'{"turns": ' + b"[" * 9000, {}, 422, "input", "JSON"),
        ("/score", {"turns": []}, {}, 422, "input", "turns is empty"),
        ("/score", {**turns("a"), "foo": 1, "bar": 2}, {}, 422, "input", "foo"),
        ("/batch_score", {"requests": [turns("a"), {"turns": 1}, {}]}, {}, 422, "input", "requests.1.turns"),
        ("/v1/score", {**row("a"), "level": 3}, {}, 422, "input", "level"),
        ("/v1/batch_score", {"samples": [row("a"), {"messages": []}]}, {}, 422, "input", "samples.1.messages"),
        ("/", {"question": 1}, {}, 422, "input", "its fields: question"),
    ],
)  # fmt: skip
def test_refusals(
    server: BackgroundServer,
    path: str,
    given: Any,
    headers: dict[str, str],
    status: int,
    kind: str,
    says: str,
) -> None:
    reply = call(server.url, path, given, headers)
    assert reply.error[:2] == (status, kind), reply
    assert says in reply.error[2]
    assert reply.headers["content-type"] == "application/json"
    detail = reply.json["detail"]
    if isinstance(detail, list):
        assert all({"type", "loc", "msg", "input"} <= set(problem) for problem in detail)
        assert all(problem["loc"][0] == "body" for problem in detail)
    else:
        assert detail == reply.error[2]
    assert reply.headers["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/score", 405),
        ("PUT", "/score", 405),
        ("DELETE", "/v1/score", 405),
        ("OPTIONS", "/score", 405),
        ("HEAD", "/score", 405),
        ("POST", "/info", 405),
        ("POST", "/health/live", 405),
        ("PUT", "/", 405),
    ],
)
def test_methods(server: BackgroundServer, method: str, path: str, status: int) -> None:
    reply = call(server.url, path, method=method)
    assert reply.status == status
    assert set(reply.headers["allow"].split(", ")) <= {"GET", "HEAD", "POST"}
    assert reply.headers["x-request-id"]
    if method != "HEAD":
        assert reply.error[1] == "method"


def test_every_unknown_field_is_named(server: BackgroundServer) -> None:
    reply = call(
        server.url, "/batch_score", {"requests": [{**turns("a"), "foo": 1}, {**turns("b"), "bar": 2}]}
    )
    assert [problem["loc"] for problem in reply.json["detail"]] == [
        ["body", "requests", 0, "foo"],
        ["body", "requests", 1, "bar"],
    ]


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1.2:3", True), ("x" * 400, False), ("a b", False), ("", False)]
)
def test_request_ids(server: BackgroundServer, given: str, kept: bool) -> None:
    for path, asked in (("/score", turns("abc")), ("/info", None), ("/none", None), ("/score", b"{")):
        reply = call(server.url, path, asked, {"X-Request-Id": given})
        assert (reply.headers["x-request-id"] == given) is kept
        assert reply.headers["x-request-id"]


def test_a_full_queue_says_when_to_come_again() -> None:
    with in_background(serve_work.act, workers=1, max_queue=3) as running:
        asked = [
            threading.Thread(target=call, args=(running.url, "/score", turns("sleep 1"))) for _ in range(3)
        ]
        for thread in asked:
            thread.start()
        time.sleep(0.3)
        reply = call(running.url, "/score", turns("abc"))
        assert reply.error[:2] == (429, "busy")
        assert int(reply.headers["retry-after"]) >= 1
        assert call(running.url, "/info").status == 200
        for thread in asked:
            thread.join()
        assert call(running.url, "/score", turns("abc")).json["reward"] == 3.0


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
def test_a_request_that_waits_too_long_is_told_with_its_id(path: str) -> None:
    with in_background(serve_work.act, workers=1, request_timeout=1, timeout=30) as running:
        busy = threading.Thread(target=call, args=(running.url, "/score", turns("sleep 3")))
        busy.start()
        time.sleep(0.1)
        reply = call(running.url, path, turns("abc", id=41))
        busy.join()
    assert reply.error[:2] == (504, "timeout")
    assert "sample 41" in reply.error[2]


def test_draining() -> None:
    """What is in flight is finished, what comes on an open connection is refused, then nothing listens."""
    running = in_background(serve_work.act, workers=1, drain=20)
    found: list[Reply] = []
    busy = threading.Thread(target=lambda: found.append(call(running.url, "/score", turns("sleep 1"))))
    with connected(running.url) as late:
        late.sendall(raw("/score", body("ab")))
        assert replies(late, 1)[0].status == 200
        busy.start()
        time.sleep(0.2)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        time.sleep(0.2)
        late.sendall(raw("/score", body("ab")))
        (refused,) = replies(late, 1)
    busy.join()
    stopping.join()
    assert refused.error[:2] == (503, "draining")
    assert refused.headers["retry-after"]
    assert (found[0].status, found[0].json["reward"]) == (200, 7.0)
    with pytest.raises(OSError):
        connected(running.url)


def test_more_connections_than_the_server_takes() -> None:
    """Idle connections make room; a caller that waits for its answer keeps its connection."""
    with in_background(serve_work.act, workers=1, max_connections=2) as running:
        with connected(running.url) as first, connected(running.url) as second:
            time.sleep(0.1)
            assert call(running.url, "/score", turns("abc")).json["reward"] == 3.0
            for waiting in (first, second):
                waiting.close()
        with connected(running.url) as first, connected(running.url) as second:
            for waiting in (first, second):
                waiting.sendall(raw("/score", body("sleep 0.5")))
            time.sleep(0.1)
            assert call(running.url, "/score", turns("abc")).error[:2] == (503, "busy")
            assert call(running.url, "/health/live").status == 200
            assert [replies(waiting, 1)[0].json["reward"] for waiting in (first, second)] == [9.0, 9.0]
        assert call(running.url, "/score", turns("abc")).status == 200


# Idempotency.


def test_a_repeated_key_is_answered_from_memory(server: BackgroundServer) -> None:
    key = {"Idempotency-Key": "once"}
    first = call(server.url, "/score", turns("abc", id=1), key)
    again = call(server.url, "/score", turns("abc", id=1), key)
    assert (first.status, first.body) == (again.status, again.body)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = call(server.url, "/score", turns("abcd", id=1), key)
    assert other.error[:2] == (422, "input")
    assert call(server.url, "/v1/score", row("abcd"), key).status == 200  # another path, another key


def test_a_failure_is_remembered_too(server: BackgroundServer) -> None:
    key = {"Idempotency-Key": "fails"}
    first, again = (call(server.url, "/score", turns("raise it"), key) for _ in range(2))
    assert first.error == again.error
    assert again.headers["idempotency-replayed"] == "true"


def test_the_same_key_in_flight_is_scored_once(server: BackgroundServer, tmp_path: Path) -> None:
    found: list[Reply] = []
    ask = lambda: found.append(call(server.url, "/score", turns("sleep 0.5"), {"Idempotency-Key": "both"}))  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(4)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < 1.4  # four times half a second, had each been scored
    assert {reply.body for reply in found} == {found[0].body}
    assert sorted("idempotency-replayed" in reply.headers for reply in found) == [False, True, True, True]


def test_a_caller_that_leaves_and_comes_again_finds_its_answer(server: BackgroundServer) -> None:
    with connected(server.url) as connection:
        connection.sendall(raw("/score", body("sleep 0.4"), "idempotency-key: left"))
        time.sleep(0.1)
    reply = call(server.url, "/score", body("sleep 0.4"), {"Idempotency-Key": "left"})
    assert (reply.status, reply.headers.get("idempotency-replayed")) == (200, "true")
