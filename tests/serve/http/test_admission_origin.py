"""A page that a browser shows must not use a server on its user's machine."""

from __future__ import annotations

import base64
import json
import os
import socket

import pytest

from support.command_work import PATIENCE, Serve, Server, sample

OPEN = [
    ("http://127.0.0.1:{port}", "127.0.0.1:{port}", True),
    ("http://localhost:{port}", "localhost:{port}", True),
    ("http://LOCALHOST:{port}", "localhost:{port}", True),
    (None, "127.0.0.1:{port}", True),
    (None, "server.example", False),  # a page whose own name leads here sends no Origin to read
    ("http://evil.example", "127.0.0.1:{port}", False),
    ("http://127.0.0.1:{port}", "localhost:{port}", False),
    ("http://127.0.0.1:1", "127.0.0.1:{port}", False),
    ("null", "127.0.0.1:{port}", False),
    ("", "127.0.0.1:{port}", False),
    # A name of the page's own that leads here.
    ("http://evil.example:{port}", "evil.example:{port}", False),
    ("http://localhost.evil.example:{port}", "localhost.evil.example:{port}", False),
]
WITH_KEY = [
    ("https://rewards.example", "rewards.example", True),
    ("https://evil.example", "rewards.example", False),
]


def status(server: Server, first: str, headers: dict[str, str | None], body: bytes = b"") -> int:
    """The status of a request that is written as it stands."""
    lines = [first, *(f"{name}: {value}" for name, value in headers.items() if value is not None)]
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        return int(connection.recv(1000).split()[1])


def statuses(server: Server, origin: str | None, host: str, key: str | None = None) -> set[int]:
    """What a page gets from the fast protocol, the application and the handshake."""
    port = server.address[1]
    headers = {
        "Host": host.format(port=port),
        "Origin": None if origin is None else origin.format(port=port),
        "X-Api-Key": key,
        "Connection": "close",
    }
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
    }
    body = json.dumps(sample("abc")).encode()
    return {
        status(server, "POST /v1/score HTTP/1.1", {**headers, "Content-Type": "application/json"}, body),
        status(
            server,
            "POST /v1/batch_score HTTP/1.1",
            {**headers, "Accept": "application/jsonl"},
            b'{"samples":[]}',
        ),
        status(server, "GET /info HTTP/1.1", headers),
        status(server, "GET /metrics HTTP/1.1", headers),
        status(server, "GET /v1/ws HTTP/1.1", {**headers, **upgrade}),
    }


def test_pages_of_other_hosts_are_refused(serve: Serve) -> None:
    server = serve("rewards.py::length")
    found = {(origin, host): statuses(server, origin, host) for origin, host, _ in OPEN}
    assert found == {(origin, host): {200, 101} if good else {403} for origin, host, good in OPEN}


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize(("origin", "host", "good"), WITH_KEY)
def test_with_a_key_a_page_of_the_same_name_is_let_in(
    serve: Serve, origin: str, host: str, good: bool
) -> None:
    server = serve("rewards.py::length", "--api-key", "s3cret")
    assert statuses(server, origin, host, "s3cret") == ({200, 101} if good else {403})
