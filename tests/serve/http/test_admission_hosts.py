"""A name that a page's owner makes lead to this machine reads nothing here (DNS rebinding)."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import ApiKeys
from guerdon.serve.options import ServeOptions
from support import serve_work
from support.serve_work import connected, in_background, raw, replies, row

OWN = [
    *(b"localhost", b"localhost:8000", b"LocalHost:1", b"localhost.", b"localhost.:8000", b"127.0.0.1"),
    *(b"127.0.0.1:8000", b"127.8.8.8:80", b"[::1]", b"[::1]:8000", b""),
]
OTHERS = [
    *(
        b"evil.example",
        b"evil.example:8000",
        b"localhost.evil.example",
        b"127.0.0.1.evil.example",
        b"10.0.0.1",
    ),
    *(
        b"evil.example:127.0.0.1",
        b"localhost@evil.example",
        b"[evil.example]",
        b"0.0.0.0",
        b"[::]",
        b"x localhost",
    ),
    *(b"evil.example, localhost", b"\xff", b":8000", b"."),
]


def refused(admission: AdmissionControl, *headers: tuple[bytes, bytes]) -> int | None:
    reply = admission.refusal(headers, None)
    return None if reply is None else reply.status


def admission(
    local: bool = True, hosts: tuple[str, ...] = (), keys: tuple[str, ...] = ()
) -> AdmissionControl:
    given = ServeOptions(allowed_host=hosts).allowed_hosts
    return AdmissionControl(ApiKeys(keys), max_body=100, local=local, hosts=given)


@pytest.mark.parametrize("host", OWN)
def test_names_of_this_machine(host: bytes) -> None:
    assert refused(admission(), (b"host", host)) is None


@pytest.mark.parametrize("host", OTHERS)
def test_names_of_others(host: bytes) -> None:
    control = admission()
    for _ in range(2):
        assert refused(control, (b"host", host)) == 403


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("rewards.example", b"rewards.example"),
        ("rewards.example", b"Rewards.Example:443"),
        ("rewards.example", b"rewards.example."),
        ("Rewards.Example.", b"rewards.example"),
        ("rewards.example:8000", b"rewards.example:9"),
        ("10.0.0.1", b"10.0.0.1:80"),
        ("[fe80::1]", b"[FE80::1]:80"),
        ("fe80::1", b"[fe80::1]"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_names_that_are_given(given: str, host: bytes, local: bool) -> None:
    control = admission(local, (given, "another.example"))
    assert refused(control, (b"host", host)) is None
    assert refused(control, (b"host", b"localhost")) is None
    assert refused(control, (b"host", b"evil.example")) == 403
    assert refused(control, (b"host", b"x." + host)) == 403


def test_where_names_do_not_matter() -> None:
    """With a key, which a page does not have, and where other machines call."""
    assert refused(admission(keys=("k",)), (b"host", b"any.example"), (b"x-api-key", b"k")) is None
    assert refused(admission(local=False), (b"host", b"any.example")) is None


def test_no_host_is_no_browser() -> None:
    assert refused(admission()) is None


@pytest.mark.parametrize(
    "name", [b"host", b"origin", b"content-length", b"sec-websocket-key", b"sec-websocket-version"]
)
def test_of_two_headers_none_counts(name: bytes) -> None:
    own = {b"host": b"localhost", b"origin": b"http://localhost"}
    for first, second in [(b"evil.example", own.get(name, b"1")), (own.get(name, b"1"),) * 2]:
        headers = [*((n, v) for n, v in own.items() if n != name), (name, first), (name, second)]
        assert refused(admission(), *headers) == 400


@pytest.mark.parametrize("given", ["", "http://rewards.example", "a b", "*", "a/b", 7, "[", "é"])
def test_what_is_no_host_name(given: Any) -> None:
    with pytest.raises(InputError, match="allowed_host"):
        ServeOptions(allowed_host=[given])


def test_every_path_asks(tmp_path: Any) -> None:
    """Scoring, streaming, every page of the application and the WebSocket's handshake."""
    shake = ("upgrade: websocket", "connection: Upgrade", "sec-websocket-version: 13")
    key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="
    body = serve_work.json.dumps(row("abc")).encode()
    pages = (
        "/",
        "/info",
        "/v1/info",
        "/rewards",
        "/metrics",
        "/requests",
        "/docs",
        "/openapi.json",
        "/health/live",
    )
    asked = {
        "/v1/score": raw("/v1/score", body, "content-type: application/json"),
        "stream": raw("/v1/batch_score", b'{"samples": []}', "accept: application/jsonl"),
        "/ws": raw("/ws", b"", *shake, key, method="GET"),
        **{page: raw(page, b"", method="GET") for page in pages},
    }
    journal = str(tmp_path / "j.db")
    with in_background(serve_work.act, workers=1, journal=journal, allowed_host="rewards.example") as running:
        for host, good in [("localhost", True), ("rewards.example:80", True), ("evil.example", False)]:
            found = {}
            for name, request in asked.items():
                with connected(running.url) as connection:
                    connection.sendall(request.replace(b"host: localhost", b"host: " + host.encode()))
                    found[name] = replies(connection, 1)[0].status
            assert set(found.values()) == ({200, 101} if good else {403}), found
