"""Requests that fail on the way: sent again, in time, with the key shown to nobody else."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from guerdon import RewardClient
from guerdon.errors import (
    DeadlineError,
    RemoteError,
    RewardError,
)
from support.client_requests import KEY, posts, request_of
from support.misbehaving import Misbehaving


@pytest.mark.parametrize(
    "faults",
    [
        ["drop"],
        ["half"],
        ["500"],
        ["503"],
        ["text"],
        ["429:0.05"],
        ["drop", "half", "503", "429:0.01", "text"],
    ],
)
def test_after_a_fault_the_request_is_sent_again_under_the_same_key(
    server: Misbehaving, faults: list[str]
) -> None:
    server.faults.extend(faults)
    with RewardClient(server.url) as client:
        assert client.score(request_of("once")).reward == 1.0
        assert client.score(request_of("other")).reward == 1.0
    assert server.scored == {"once": 1, "other": 1}
    keys = [headers["Idempotency-Key"] for headers in posts(server)]
    assert (len(keys), len(set(keys))) == (len(faults) + 2, 2)


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        ("drop", RemoteError, "broke off: "),
        ("503", RemoteError, "answered 503: in trouble (3 tries)"),
        ("text", RemoteError, "answered 500: 'Internal Server Error' (3 tries)"),
        ("429:0.01", RemoteError, "answered 429: full (3 tries)"),
    ],
)
def test_faults_that_do_not_end(server: Misbehaving, fault: str, error: type[RewardError], says: str) -> None:
    server.faults.extend([fault] * 9)
    with RewardClient(server.url, retries=2) as client, pytest.raises(error) as caught:
        client.score(request_of("a"))
    assert says in str(caught.value)
    assert len(posts(server)) == 3


def test_retry_after_is_waited_for_but_not_beyond_the_deadline(server: Misbehaving) -> None:
    server.faults.append("429:0.4")
    started = time.monotonic()
    with RewardClient(server.url) as client:
        assert client.score(request_of("a")).reward == 1.0
        assert time.monotonic() - started >= 0.4
        server.faults.append("429:600")
    with (
        RewardClient(server.url, timeout=5) as client,
        pytest.raises(RemoteError, match="1 tries; the next would come after the deadline of 5 s"),
    ):
        client.score(request_of("b"))
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_the_deadline_holds_over_all_tries(server: Misbehaving, transport: Any) -> None:
    server.faults.extend(["slow:5"] * 3)
    server.socket_faults.extend(["silence"] * 3)
    started = time.monotonic()
    with RewardClient(server.url, timeout=0.5, transport=transport) as client:
        with pytest.raises(DeadlineError, match="did not answer within"):
            client.score(request_of("a"))
        assert time.monotonic() - started < 2


def test_an_answer_that_is_too_large_or_goes_in_circles(server: Misbehaving) -> None:
    from guerdon.serve.client.options import CallOptions

    server.faults.extend(["circle"] * 9)
    with RewardClient(server.url) as client:
        with pytest.raises(RemoteError, match="redirects in a circle"):
            client.score(request_of("a"))
        server.faults.clear()
        server.faults.append("huge")
        client._session.options = CallOptions(max_response=1_000_000)
        client.close()
        with pytest.raises(RemoteError, match="more than 1000000 bytes"):
            client.score(request_of("a"))


def test_the_key_is_not_taken_to_another_host(server: Misbehaving) -> None:
    with Misbehaving() as other, RewardClient(server.url, api_key=KEY) as client:
        for target, host in ((f"{server.url}/info", True), (f"{other.url}/info", False)):
            # The address is that of a page which redirects.
            moved = f"{server.url}/moved?to={target}"
            answer = asyncio.run_coroutine_threadsafe(_get(client, moved), _loop_of(client)).result()
            assert (answer.status == 200) is host
            assert host or "a redirect to" in str(answer.error())
        assert other.seen == []


async def _get(client: RewardClient, url: str) -> Any:
    return await client._session.transport().request("GET", url)


def _loop_of(client: RewardClient) -> asyncio.AbstractEventLoop:
    from guerdon.serve.client.event_loop import network_loop

    client.info()
    return network_loop()


@pytest.mark.parametrize("given", ["argument", "setting"])
def test_the_key_is_sent_and_shown_nowhere(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    server.key = KEY
    if given == "setting":
        monkeypatch.setenv("GUERDON_API_KEY", KEY)
    with RewardClient(server.url, **({"api_key": KEY} if given == "argument" else {})) as client:
        assert client.score(request_of("a")).reward == 1.0
        shown = f"{client!r} {client._session!r} {client.options!r}"
    assert KEY not in shown
    monkeypatch.delenv("GUERDON_API_KEY", raising=False)
    with (
        RewardClient(server.url, api_key="wrong-secret") as client,
        pytest.raises(
            RemoteError, match=r"refused the key \(403\); give api_key= or set GUERDON_API_KEY"
        ) as caught,
    ):
        client.score(request_of("a"))
    assert "wrong-secret" not in str(caught.value)


def test_a_server_that_is_not_there() -> None:
    with (
        RewardClient("http://127.0.0.1:9", retries=1) as client,
        pytest.raises(RemoteError, match=r"http://127.0.0.1:9/score cannot be reached: .* \(2 tries\)"),
    ):
        client.score(request_of("a"))
