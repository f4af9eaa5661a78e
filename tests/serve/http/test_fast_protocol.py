"""HTTP as clients really speak it: pipelined, chunked, slow, broken off, and garbage."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import call, connected, in_background, raw, replies, row, turns

MAX_BODY = 50_000


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    with in_background(
        serve_work.act, serve_work.act_async, workers=1, timeout=20, max_body=MAX_BODY
    ) as running:
        yield running


def body(text: str) -> bytes:
    return json.dumps(turns(text)).encode()


def test_expect_100_continue(server: BackgroundServer) -> None:
    asked = raw("/score", body("abc"), "expect: 100-continue")
    head, _, rest = asked.partition(b"\r\n\r\n")
    with connected(server.url) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(rest)
        assert replies(connection, 1)[0].json["reward"] == 3.0


def test_expect_100_continue_is_refused_before_the_body(server: BackgroundServer) -> None:
    head = raw("/score", b"", "expect: 100-continue", "content-length: 9999999")
    with connected(server.url) as connection:
        connection.sendall(head)
        (reply,) = replies(connection, 1)
    assert reply.status == 413


@pytest.mark.parametrize(
    ("version", "header", "stays"),
    [("1.0", "x: y", False), ("1.1", "x: y", True), ("1.1", "connection: close", False)],
)
def test_keep_alive(server: BackgroundServer, version: str, header: str, stays: bool) -> None:
    with connected(server.url) as connection:
        for _ in range(3 if stays else 1):
            connection.sendall(raw("/score", body("abc"), header, version=version))
            (reply,) = replies(connection, 1)
            assert reply.json["reward"] == 3.0
        if not stays:
            assert connection.recv(1) == b""


PIPELINED = [
    ("POST", raw("/score", body("abc")), 200),
    ("GET", raw("/info", b"", method="GET"), 200),
    ("POST", raw("/score", body("sleep 0.2")), 200),
    ("POST", raw("/rewards/act_async/score", body("ab")), 200),
    ("GET", raw("/none", b"", method="GET"), 404),
    ("POST", raw("/score", b"{"), 422),
    ("POST", raw("/score", body("abc"), "content-type: text/plain"), 415),
    ("HEAD", raw("/info", b"", method="HEAD"), 405),
    ("POST", raw("/sc%6Fre", body("abcd")), 200),
    ("POST", raw("/v1/score", json.dumps(row("abcde")).encode()), 200),
]


@pytest.mark.parametrize("piece", [1 << 20, 300, 7])
@pytest.mark.parametrize("start", [0, 2, 3])
def test_pipelined_requests_are_answered_in_order(server: BackgroundServer, start: int, piece: int) -> None:
    asked = PIPELINED[start:] + PIPELINED[:start]
    data = b"".join(request for _, request, _ in asked)
    with connected(server.url) as connection:
        for position in range(0, len(data), piece):
            connection.sendall(data[position : position + piece])
        found = replies(connection, len(asked), [method for method, _, _ in asked])
    assert [reply.status for reply in found] == [status for _, _, status in asked]


def test_pipelined_body_that_is_too_large_waits_its_turn(server: BackgroundServer) -> None:
    chunk = b"%x\r\n" % MAX_BODY + b"x" * MAX_BODY + b"\r\n"
    large = raw("/score", b"", "transfer-encoding: chunked") + chunk * 3 + b"0\r\n\r\n"
    with connected(server.url) as connection:
        connection.sendall(raw("/score", body("sleep 0.3")) + large)
        first, second = replies(connection, 2)
    assert (first.status, first.json["reward"], second.status) == (200, 9.0, 413)


@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
def test_chunked_bodies(server: BackgroundServer, path: str, size: int) -> None:
    data = body("abc")
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    sent = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    with connected(server.url) as connection:
        connection.sendall(raw(path, b"", "transfer-encoding: chunked") + sent)
        assert replies(connection, 1)[0].json["reward"] == 3.0


@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_too_large_is_refused_while_it_comes(
    server: BackgroundServer, path: str, announced: bool
) -> None:
    """The sender reads the answer although it is still sending; the whole body is never kept."""
    size = 8_000_000
    if announced:
        sent = raw(path, b"", f"content-length: {size}") + b"x" * size
    else:
        chunk = b"%x\r\n" % 40_000 + b"x" * 40_000 + b"\r\n"
        sent = raw(path, b"", "transfer-encoding: chunked") + chunk * 200 + b"0\r\n\r\n"
    with connected(server.url) as connection:
        connection.sendall(sent)
        assert replies(connection, 1)[0].status == 413


def test_a_slow_body(server: BackgroundServer) -> None:
    asked = raw("/score", body("abc"))
    with connected(server.url) as connection:
        for position in range(0, len(asked), 20):
            connection.sendall(asked[position : position + 20])
            time.sleep(0.02)
        assert replies(connection, 1)[0].json["reward"] == 3.0


@pytest.mark.parametrize("path", ["/score", "/sc%6Fre", "/info", "/v1/batch_score"])
@pytest.mark.parametrize("part", [0.2, 0.6, 0.95, 1.0])
def test_a_client_that_goes_away(server: BackgroundServer, path: str, part: float) -> None:
    asked = raw(path, body("sleep 0.05"), "accept: application/jsonl")
    for _ in range(5):
        with connected(server.url) as connection:
            connection.sendall(asked[: int(len(asked) * part)])
    assert call(server.url, "/score", turns("abc")).json["reward"] == 3.0
    assert call(server.url, "/health/ready").status == 200


def test_what_callers_left_behind_does_not_keep_the_worker_busy() -> None:
    with in_background(serve_work.act, workers=1, timeout=30) as running:
        for _ in range(20):
            with connected(running.url) as connection:
                connection.sendall(raw("/score", body("sleep 1")))
                time.sleep(0.01)
        started = time.monotonic()
        assert call(running.url, "/score", turns("abc")).json["reward"] == 3.0
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("target", "score"),
    [
        ("http://localhost/score", 3.0),
        ("/score?x=1", 3.0),
        ("/score/", 3.0),
        ("/%73core", 3.0),
        ("/rewards/act/score", 3.0),
        ("/rewards/act%5Fasync/score", 3.0),
        ("/rewards/act_async/score/", 3.0),
        ("/", 3.0),
        ("/rewards/act", 3.0),
        ("/rewards/act_async/", 3.0),
    ],
)
def test_targets(server: BackgroundServer, target: str, score: float) -> None:
    with connected(server.url) as connection:
        connection.sendall(raw(target, body("abc")))
        (reply,) = replies(connection, 1)
    assert (reply.status, reply.json.get("reward")) == (200, score)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /score HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /score HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"POST /score HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /score HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"A" * 100_000,
        b"GET /info HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"GET /info HTTP/1.1\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
        b"POST /score HTTP/1.1\r\nupgrade: h2c\r\nconnection: upgrade\r\ncontent-length: 2\r\n\r\n{}",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT host:1 HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n",
        b"GET /%ff%fe HTTP/1.1\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"POST http://[ HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_garbage_harms_nobody(server: BackgroundServer, garbage: bytes) -> None:
    with connected(server.url, timeout=3) as connection:
        try:
            connection.sendall(garbage)
            connection.shutdown(1)
            answer = connection.recv(4096)
        except OSError:
            answer = b""
    assert b" 500 " not in answer[:20]
    assert call(server.url, "/score", turns("abc")).json["reward"] == 3.0
