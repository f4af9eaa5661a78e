"""Requests of one connection: what is ambiguous is refused, and nothing overtakes a response."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest

from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import call, connected, in_background, raw, replies, turns

MAX_BODY = 50_000
KEY = base64.b64encode(b"0123456789abcdef").decode()
SOCKET = (
    "upgrade: websocket",
    "connection: Upgrade",
    f"sec-websocket-key: {KEY}",
    "sec-websocket-version: 13",
)


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    with in_background(serve_work.act, workers=1, timeout=20, max_body=MAX_BODY) as running:
        yield running


def post(text: str, *headers: str, path: str = "/score") -> bytes:
    return raw(path, json.dumps(turns(text)).encode(), *headers)


def upgrade(path: str, *headers: str) -> bytes:
    return raw(path, b"", *(headers or SOCKET), method="GET")


# Upgrades.


@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
@pytest.mark.parametrize("order", ["abc", "sleep 0.1"])
def test_a_refused_upgrade_waits_for_the_response_before_it(
    server: BackgroundServer, order: str, path: str
) -> None:
    with connected(server.url) as connection:
        connection.sendall(post(order, path=path) + upgrade("/nowhere"))
        first, second = replies(connection, 2)
        assert (first.status, first.json["reward"]) == (200, float(len(order)))
        assert second.status == 404
        assert connection.recv(1) == b""


def test_two_hundred_pairs_keep_nobody_from_an_answer(server: BackgroundServer) -> None:
    for _ in range(200):
        with connected(server.url) as connection:
            connection.sendall(post("abc") + upgrade("/nowhere", *SOCKET[:2]))
    assert call(server.url, "/score", turns("abc")).json["reward"] == 3.0
    assert call(server.url, "/health/ready").status == 200


@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
def test_an_upgrade_is_answered_in_its_turn_and_frames_behind_it_are_read(
    server: BackgroundServer, path: str
) -> None:
    text = json.dumps(turns("abcd", id=1)).encode()
    assert len(text) < 126
    frame = bytes((0x81, 0x80 | len(text))) + bytes(4) + text
    with connected(server.url) as connection:
        connection.sendall(post("sleep 0.1", path=path) + upgrade("/ws") + frame)
        file = connection.makefile("rb")
        length = 0
        assert file.readline() == b"HTTP/1.1 200 OK\r\n"
        while (line := file.readline()) != b"\r\n":
            length = int(line.split()[1]) if line.startswith(b"content-length") else length
        assert json.loads(file.read(length))["reward"] == 9.0
        assert file.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
        while file.readline() != b"\r\n":
            pass
        assert file.read(2)[0] == 0x81
        assert b'"id":1' in file.read1(500)


@pytest.mark.parametrize("protocol", ["h2c", "foo", "TLS/1.0", "websocket"])
@pytest.mark.parametrize("path", ["/score", "/sc%6Fre"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_of_a_request_that_asks_for_another_protocol_is_its_body(
    server: BackgroundServer, protocol: str, path: str, chunked: bool
) -> None:
    """It is not read as the next request: nothing can be smuggled in it."""
    inner = post("smuggled")
    wishes = (f"upgrade: {protocol}", "connection: upgrade")
    if chunked:
        sent = raw(path, b"", "transfer-encoding: chunked", *wishes) + b"%x\r\n%s\r\n0\r\n\r\n" % (
            len(inner),
            inner,
        )
    else:
        sent = raw(path, inner, *wishes)
    with connected(server.url) as connection:
        connection.sendall(sent + post("abc"))
        first, second = replies(connection, 2)
        assert (first.status, second.json["reward"]) == (422, 3.0)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_a_handshake_has_no_body(server: BackgroundServer) -> None:
    with connected(server.url) as connection:
        connection.sendall(upgrade("/ws", *SOCKET, "content-length: 40") + post("smuggled")[:40])
        (reply,) = replies(connection, 2)
        assert reply.status == 400


# What is no request.

POST = "POST /score HTTP/1.1\r\nhost: localhost\r\n"
CHUNKED = POST + "transfer-encoding: chunked\r\n\r\n"
AMBIGUOUS = {
    "both lengths": (POST + "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "two lengths": (POST + "content-length: 2\r\ncontent-length: 2\r\n\r\n{}", 400),
    "a list of lengths": (POST + "content-length: 2, 2\r\n\r\n{}", 400),
    "a signed length": (POST + "content-length: +2\r\n\r\n{}", 400),
    "gzip": (POST + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunked twice": (
        POST + "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunked in 1.0": ("POST /score HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    "a folded line": (POST + "a: b\r\n c\r\n\r\n", 400),
    "a bare line feed": (POST + "a: b\nc: d\r\n\r\n", 400),
    "a space before the colon": (POST + "content-length : 2\r\n\r\n{}", 400),
    "a NUL": (POST + "a: b\0c\r\n\r\n", 400),
    "no host": ("POST /score HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", 400),
    "two hosts": (POST + "host: y\r\ncontent-length: 2\r\n\r\n{}", 400),
    "another host in the target": ("POST http://y/score HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
    "no path": ("POST score HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
    "HTTP/2": ("POST /score HTTP/2.0\r\nhost: localhost\r\n\r\n", 505),
    "HTTP/0.9": ("GET /info\r\n\r\n", 505),
    "CONNECT": ("CONNECT x:1 HTTP/1.1\r\nhost: localhost\r\n\r\nPOST /score", 400),
    "CONNECT with a path": ("CONNECT / HTTP/1.1\r\nhost: localhost\r\n\r\nPOST /score", 405),
    "a chunk's size with 0x": (CHUNKED + "0x2\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk's size beyond all": (CHUNKED + "f" * 20 + "\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk longer than it says": (CHUNKED + "2\r\n{}}\r\n0\r\n\r\n", 400),
    "a chunk with a bare line feed": (CHUNKED + "2\n{}\n0\n\n", 400),
    **{
        f"{name} twice": (POST + f"{name}: a\r\n{name}: b\r\ncontent-length: 2\r\n\r\n{{}}", 400)
        for name in ("origin", "authorization", "x-api-key", "content-type", "idempotency-key", "expect")
    },
}


@pytest.mark.parametrize("name", AMBIGUOUS)
@pytest.mark.parametrize("piece", [1 << 16, 1])
def test_what_could_be_understood_in_two_ways_is_refused(
    server: BackgroundServer, name: str, piece: int
) -> None:
    text, status = AMBIGUOUS[name]
    sent = post("sleep 0.01") + text.encode() + post("never scored")
    with connected(server.url) as connection:
        try:
            for position in range(0, len(sent), piece):
                connection.sendall(sent[position : position + piece])
        except OSError:
            assert piece == 1  # it is closed by then
        found = replies(connection, 3)
    assert [reply.status for reply in found] == [200, status]
    assert found[1].headers["connection"] == "close"


def test_headers_behind_the_body_count_for_nothing(server: BackgroundServer) -> None:
    """A trailer is no header: what lets a request in is read before its body."""
    body = json.dumps(turns("abc")).encode()
    chunks = b"%x\r\n%s\r\n0\r\norigin: http://evil.example\r\nx-batch-errors: fail\r\n\r\n" % (
        len(body),
        body,
    )
    with connected(server.url) as connection:
        connection.sendall(raw("/score", b"", "transfer-encoding: chunked") + chunks + post("ab"))
        assert [reply.json["reward"] for reply in replies(connection, 2)] == [3.0, 2.0]


def test_go_on_is_said_in_its_turn(server: BackgroundServer) -> None:
    head, _, body = post("abc", "expect: 100-continue").partition(b"\r\n\r\n")
    with connected(server.url) as connection:
        connection.sendall(post("sleep 0.2") + head + b"\r\n\r\n")
        assert [reply.status for reply in replies(connection, 2)] == [200, 100]
        connection.sendall(body)
        assert replies(connection, 1)[0].json["reward"] == 3.0


@pytest.mark.parametrize("path", ["/score", "/sc%6Fre", "/info"])
def test_a_body_that_breaks_off_into_garbage_is_refused(server: BackgroundServer, path: str) -> None:
    head = raw(path, b"", "transfer-encoding: chunked", method="GET" if path == "/info" else "POST")
    with connected(server.url) as connection:
        connection.sendall(post("sleep 0.05") + head + b"2\r\n{}\r\nzz\r\n")
        assert [reply.status for reply in replies(connection, 3)] == [200, 400]
    assert call(server.url, "/score", turns("abc")).status == 200


# Sizes.


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 1_000_000, 414),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", 414),
        (b"A" * 1_000_000, 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\na: " + b"b" * 1_000_000, 431),
        (
            b"GET / HTTP/1.1\r\nhost: localhost\r\n"
            + b"".join(b"a%d: b\r\n" % n for n in range(200))
            + b"\r\n",
            431,
        ),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"".join(b"a%d: b\r\n" % n for n in range(99_000)), 431),
        (CHUNKED.encode() + b"2;" + b"a" * 1_000_000, 400),
        (CHUNKED.encode() + b"2\r\n{}\r\n0\r\na: " + b"b" * 1_000_000, 400),
        (CHUNKED.encode() + b"2;a=b\r\n{}\r\n" * 9_000, 422),
        (CHUNKED.encode() + (b"1;" + b"a" * 100 + b"\r\n{\r\n") * 9_000, 400),
    ],
)
def test_no_part_of_a_request_is_without_a_bound(server: BackgroundServer, head: bytes, status: int) -> None:
    with connected(server.url) as connection:
        try:
            connection.sendall(head)
            if status == 422:
                connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # it is closed by then
        assert [reply.status for reply in replies(connection, 1 if status == 422 else 2)] == [status]
