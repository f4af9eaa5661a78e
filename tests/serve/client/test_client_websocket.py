"""Requests over a WebSocket that drops, repeats itself and falls silent."""

from __future__ import annotations

import asyncio

import pytest

from guerdon import AsyncRewardClient, RewardClient
from guerdon.errors import (
    RemoteError,
)
from support.client_requests import posts, request_of
from support.misbehaving import Misbehaving


@pytest.mark.parametrize("kind", ["server", "adaptive"])
@pytest.mark.parametrize(
    "faults",
    [
        [],
        ["drop"],
        ["away"],
        ["duplicate"],
        ["garbage"],
        ["drop after"],
        ["drop", "busy", "duplicate", "away"],
    ],
)
def test_over_a_socket_every_request_is_answered_once(
    request: pytest.FixtureRequest, kind: str, faults: list[str]
) -> None:
    server: Misbehaving = request.getfixturevalue(kind)

    async def main() -> list[float]:
        async with AsyncRewardClient(base_url=server.url) as client:
            await client.setup()
            server.socket_faults.extend(["", "", *faults])
            requests = [request_of(f"{i} {'z' * (i % 2)}", id=i) for i in range(40)]
            responses = await asyncio.gather(*map(client.score, requests))
            assert [r.id for r in responses] == list(range(40))
            return [r.reward for r in responses]

    assert asyncio.run(main()) == [1.0, 0.0] * 20
    if kind == "server":
        assert set(server.scored.values()) == {1}, "a number of a session is scored once"
    sessions = [path for _, path, _, _ in server.seen if path.startswith("/ws")]
    assert len(set(sessions)) == 1
    assert ("?session=" in sessions[0]) is (kind == "server")


def test_a_socket_that_keeps_dropping(server: Misbehaving) -> None:
    server.socket_faults.extend(["drop"] * 99)
    with (
        RewardClient(server.url, retries=2, transport="websocket") as client,
        pytest.raises(RemoteError, match=r"drops the connection \(3 tries\)"),
    ):
        client.score(request_of("a"))


def test_auto_goes_over_http_where_there_is_no_socket() -> None:
    with Misbehaving(sockets=False) as server:
        with RewardClient(server.url, transport="auto") as client:
            assert client.score(request_of("a")).reward == 1.0
        with (
            RewardClient(server.url) as client,
            pytest.raises(RemoteError, match=r"takes no WebSocket \(404\)"),
        ):
            client.connect_websocket()


def test_a_socket_is_dropped_and_http_goes_on(server: Misbehaving) -> None:
    with RewardClient(server.url).connect_websocket() as client:
        assert client.score(request_of("a")).reward == 1.0
        assert posts(server) == []
        client.drop_websocket()
        assert client.score(request_of("a")).reward == 1.0
        assert len(posts(server)) == 1
