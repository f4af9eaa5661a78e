"""adaptive-sdk 0.14.2: its client against our server, our client against its server, the same rewards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from guerdon import AsyncRewardClient, Request, Response, RewardClient, RewardFunction, Turn, score
from guerdon.errors import RewardError
from interop.conftest import Case, Client, PeerServer
from support.served import Process


def feedback(case: Case) -> str:
    return f"There were {case.count} scary letters!" if case.count else "There were no scary letters!"


def body(case: Case) -> dict[str, object]:
    return {"turns": case.turns, "metadata": {"scary_letter": case.letter}}


def request(case: Case) -> Request:
    return Request(turns=[Turn(**turn) for turn in case.turns], metadata={"scary_letter": case.letter})


@pytest.mark.parametrize("way", ["score", "batch", "ws"])
def test_their_client_and_our_server(
    client: Client, our_class: Process, samples: list[Case], way: str
) -> None:
    info, valid, *responses = client(
        "adaptive", "adaptive_client.py", [body(case) for case in samples], our_class.url, way
    )
    assert info["info"]["name"] == "Scary letter"
    assert valid == {"valid": True, "error": None}
    assert [r["reward"] for r in responses] == [case.reward for case in samples]
    assert [r["metadata"] for r in responses] == [{"feedback": feedback(case)} for case in samples]
    assert [r["id"] for r in responses] == (list(range(500)) if way == "ws" else [None] * 500)


def test_their_client_checks_metadata_by_our_schema(client: Client, our_class: Process) -> None:
    case = Case("a", "ab", 0)
    with pytest.raises(AssertionError, match="422"):
        client("adaptive", "adaptive_client.py", [body(case)], our_class.url, "score")


def compare(responses: Sequence[Response], samples: list[Case]) -> None:
    assert [r.reward for r in responses] == [case.reward for case in samples]
    assert [r.metadata for r in responses] == [{"feedback": feedback(case)} for case in samples]


@pytest.fixture(scope="module")
def theirs(peer_server: PeerServer) -> Process:
    return peer_server("adaptive", "adaptive_server.py")


@pytest.mark.parametrize("url", ["url", "base_url"])
def test_our_client_and_their_server(theirs: Process, samples: list[Case], url: str) -> None:
    with RewardClient(**{url: theirs.url}) as client:
        assert client.info().name == "Scary letter"
        assert client.metadata_schema()["required"] == ["scary_letter"]
        assert [
            client.validate_metadata(m).is_valid for m in ({"scary_letter": "a"}, {"scary_letter": "ab"})
        ] == [
            True,
            False,
        ]
        compare(client.batch_score([request(case) for case in samples]), samples)
        compare([client.score(request(case)) for case in samples[:50]], samples[:50])


@pytest.mark.parametrize("transport", ["http", "websocket", "auto"])
def test_our_async_client_and_their_server(theirs: Process, samples: list[Case], transport: str) -> None:
    async def ask() -> list[Response]:
        async with AsyncRewardClient(theirs.url, transport=transport) as client:
            return await asyncio.gather(*(client.score(request(case)) for case in samples))

    compare(asyncio.run(ask()), samples)


def test_their_failures_are_told(theirs: Process) -> None:
    requests = [request(Case("a", "a", 1)), request(Case("raise", "a", 0)), request(Case("b", "a", 0))]
    # One retry: their server ends idle connections after a few seconds, maybe just as one is used again.
    with RewardClient(theirs.url, retries=1) as client:
        with pytest.raises(RewardError):
            client.score(requests[1])
        with pytest.raises(RewardError):
            client.batch_score(requests)
        wrong = Request(turns=[Turn(role="assistant", content="a")], metadata={"scary_letter": "ab"})
        found = client.batch_score([requests[0], wrong, requests[2]], on_error="return")
    assert isinstance(found[1], RewardError)
    assert [found[i].reward for i in (0, 2)] == [0.0, 1.0]


def test_their_server_as_a_reward(theirs: Process, samples: list[Case]) -> None:
    remote = RewardFunction(endpoint=theirs.url, mode="remote")
    rows = [{"messages": case.turns, "scary_letter": case.letter} for case in samples]
    results = score(remote, rows)
    assert [result.score for result in results] == [case.reward for case in samples]
