"""reward-kit 0.4.1: its remote reward against our server, ours against its three servers."""

from __future__ import annotations

import pytest

from guerdon import RewardFunction, Sample, score
from interop.conftest import Case, Client, PeerServer
from support.served import Process


def metric(case: Case) -> tuple[float, str]:
    return 1 / (1 + case.count), f"{case.count} of {case.letter}"


@pytest.mark.parametrize("path", ["/reward", "/evaluate", "/", "/rewards/scary/reward"])
def test_their_remote_reward_and_our_server(
    client: Client, our_function: Process, samples: list[Case], path: str
) -> None:
    calls = []
    for case in samples:
        arguments = {"scary_letter": case.letter}
        arguments = {"kwargs": arguments} if path == "/evaluate" else arguments
        calls.append({"messages": case.turns, "ground_truth": "x", **arguments})
    results = client("reward_kit", "reward_kit_client.py", calls, our_function.url + path)
    assert [r.get("score") for r in results] == [case.reward for case in samples]
    assert [r["reason"] for r in results] == [f"{case.count} scary letters" for case in samples]
    found = [(r["metrics"]["count"]["score"], r["metrics"]["count"]["reason"]) for r in results]
    assert found == [(pytest.approx(metric(case)[0]), metric(case)[1]) for case in samples]
    assert [r["metrics"]["count"]["is_score_valid"] for r in results] == [not case.count for case in samples]


@pytest.mark.parametrize("path", ["/reward", "/evaluate"])
def test_a_failure_raises_in_their_hands(client: Client, our_function: Process, path: str) -> None:
    call = {"messages": Case("raise", "a", 0).turns, "ground_truth": "x"}
    (result,) = client("reward_kit", "reward_kit_client.py", [call], our_function.url + path)
    assert "500" in result["raised"]


KINDS = [("server", "/reward"), ("app", "/reward"), ("generic", "/evaluate"), ("server", ""), ("generic", "")]


@pytest.mark.parametrize(("kind", "path"), KINDS)
def test_our_remote_reward_and_their_server(
    peer_server: PeerServer, samples: list[Case], kind: str, path: str
) -> None:
    server = peer_server("reward_kit", "reward_kit_server.py", kind)
    remote = RewardFunction(endpoint=server.url + path, mode="remote")
    rows = [{"messages": case.turns, "ground_truth": "x", "scary_letter": case.letter} for case in samples]
    results = score(remote, rows)
    assert [r.error for r in results if r.failed] == []
    assert [r.score for r in results] == [case.reward for case in samples]
    assert [r.reason for r in results] == [f"{case.count} scary letters" for case in samples]
    found = [(r.metrics["count"].score, r.metrics["count"].reason) for r in results]
    assert found == [(pytest.approx(metric(case)[0]), metric(case)[1]) for case in samples]


@pytest.mark.parametrize(("kind", "path"), KINDS[:3])
def test_their_failures_are_no_scores(peer_server: PeerServer, kind: str, path: str) -> None:
    server = peer_server("reward_kit", "reward_kit_server.py", kind)
    remote = RewardFunction(endpoint=server.url + path, mode="remote", retries=0)
    sample = Sample(messages=Case("raise", "a", 0).turns, ground_truth="x", metadata={"scary_letter": "a"})
    result = remote.evaluate(sample)
    assert result.score is None
    assert "asked to raise" in str(result.error)


def test_their_server_with_a_key(peer_server: PeerServer) -> None:
    server = peer_server("reward_kit", "reward_kit_server.py", "generic", RK_ENDPOINT_API_KEY="secret")
    sample = Sample(messages=Case("a", "b", 0).turns, ground_truth="x", metadata={"scary_letter": "b"})
    endpoint = f"{server.url}/evaluate"
    assert RewardFunction(endpoint=endpoint, mode="remote", api_key="secret").evaluate(sample).score == 1.0
    for options in ({}, {"api_key": "wrong"}):
        refused = RewardFunction(endpoint=endpoint, mode="remote", retries=0, **options).evaluate(sample)
        assert refused.score is None
