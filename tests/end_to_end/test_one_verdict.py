"""A verdict is the same wherever it is made: in process, in workers, over every transport, by a remote reward."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.sync.client import connect

import guerdon
from guerdon import EvaluateResult, RewardFunction
from guerdon.scoring.outcome import Outcome, PackedMetric, pack
from guerdon.serve.background import BackgroundServer
from guerdon.serve.formats.v1 import outcome_of_result
from guerdon.serve.run import serve
from support import serve_work
from support.serve_work import call, row, turns

REWARDS = {
    "act": serve_work.act,
    "act_async": serve_work.act_async,
    "act_at_once": serve_work.act_at_once,
    "act_together": serve_work.act_together,
}
TEXTS = [
    "",
    "abc",
    "é\n" * 3000,
    "rich",
    "none",
    "raise it",
    "raise",
    "nan",
    "text",
    "exit",
    "sleep 9",
    "segv",
]
# What only another process can survive is not scored in this one.
ENDS = {"sleep 9", "segv"}
TIMEOUT = 0.5


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    running = serve(*REWARDS.values(), port=0, blocking=False, workers=1, timeout=TIMEOUT)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, str], Outcome]:
    """The outcomes that the scoring engine gives, in its workers."""
    found = {}
    for name, reward in REWARDS.items():
        results = guerdon.score(reward, [row(text) for text in TEXTS], workers=1, timeout=TIMEOUT)
        found.update({(name, text): pack(result) for text, result in zip(TEXTS, results, strict=True)})
    return found


def in_place(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    results = guerdon.score(REWARDS[name], [row(text) for text in texts], workers=0)
    return [pack(result) for result in results]


def v1(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    path = f"/rewards/{name}/v1/score"
    return [outcome_of_result(call(server.url, path, row(text)).json) for text in texts]


def v1_batch(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    reply = call(server.url, f"/rewards/{name}/v1/batch_score", {"samples": [row(text) for text in texts]})
    return [outcome_of_result(result) for result in reply.json["results"]]


def v1_lines(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    body = {"samples": [row(text) for text in texts]}
    reply = call(server.url, f"/rewards/{name}/v1/batch_score", body, {"accept": "application/jsonl"})
    lines = [json.loads(line) for line in reply.body.splitlines()]
    assert lines.pop() == {"done": len(texts)}
    return [outcome_of_result(line) for line in sorted(lines, key=lambda line: line["index"])]


def v1_socket(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    address = server.url.replace("http", "ws", 1) + f"/rewards/{name}/v1/ws"
    found: dict[int, Outcome] = {}
    with connect(address) as conversation:
        for n, text in enumerate(texts):
            conversation.send(json.dumps({"n": n, "sample": row(text)}))
        while len(found) < len(texts):
            answer = json.loads(conversation.recv(timeout=20))
            found[answer["n"]] = outcome_of_result(answer["result"])
    return [found[n] for n in range(len(texts))]


def remote(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    reward = RewardFunction(endpoint=f"{server.url}/rewards/{name}", mode="remote")
    return [pack(result) for result in guerdon.score(reward, [row(text) for text in texts])]


def remote_one_by_one(server: BackgroundServer, name: str, texts: list[str]) -> list[Outcome]:
    reward = RewardFunction(endpoint=f"{server.url}/rewards/{name}", mode="remote")

    async def all_of_them() -> list[Outcome]:
        samples = [guerdon.Sample.from_row(row(text)) for text in texts]
        return [pack(result) for result in await asyncio.gather(*map(reward.aevaluate, samples))]

    return asyncio.run(all_of_them())


WAYS = [in_place, v1, v1_batch, v1_lines, v1_socket, remote, remote_one_by_one]


@pytest.mark.sample(3, seconds=4)
@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("way", WAYS)
def test_whole_verdicts(
    server: BackgroundServer, expected: dict[tuple[str, str], Outcome], way: Callable[..., Any], name: str
) -> None:
    texts = [text for text in TEXTS if way is not in_place or text not in ENDS]
    for text, outcome in zip(texts, way(server, name, texts), strict=True):
        wanted = expected[name, text]
        assert (text, outcome) == (text, wanted)


def adaptive(server: BackgroundServer, name: str, texts: list[str]) -> list[Any]:
    return [call(server.url, f"/rewards/{name}/score", turns(text)).json for text in texts]


def adaptive_batch(server: BackgroundServer, name: str, texts: list[str]) -> list[Any]:
    body = {"requests": [turns(text) for text in texts]}
    found: list[Any] = call(server.url, f"/rewards/{name}/batch_score", body).json["responses"]
    return found


def adaptive_socket(server: BackgroundServer, name: str, texts: list[str]) -> list[Any]:
    address = server.url.replace("http", "ws", 1) + f"/rewards/{name}/ws"
    found: dict[int, Any] = {}
    with connect(address) as conversation:
        for n, text in enumerate(texts):
            conversation.send(json.dumps(turns(text, id=n)))
        while len(found) < len(texts):
            frame = json.loads(conversation.recv(timeout=20))
            if "error" in frame:
                found[frame["id"]] = frame
            elif "chunk" in frame:
                found[frame["id"]] = json.loads(frame["chunk"])
    return [found[n] for n in range(len(texts))]


@pytest.mark.sample(2, seconds=3)
@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("way", [adaptive, adaptive_batch, adaptive_socket])
def test_verdicts_in_adaptives_form(
    server: BackgroundServer, expected: dict[tuple[str, str], Outcome], way: Callable[..., Any], name: str
) -> None:
    for text, said in zip(TEXTS, way(server, name, TEXTS), strict=True):
        wanted = expected[name, text]
        if wanted.error is not None:
            assert (text, said["error"]) == (text, {"kind": wanted.kind, "message": wanted.error})
        elif wanted.score is None:
            assert said["error"]["kind"] == "not_applicable"
        else:
            assert (text, said["reward"]) == (text, wanted.score)
            assert said["metadata"].get("reason") == wanted.reason
            told = {name: metric["score"] for name, metric in said["metadata"].get("metrics", {}).items()}
            assert told == {name: metric[0] for name, metric in (wanted.metrics or {}).items()}


def test_the_hand_written_verdicts(expected: dict[tuple[str, str], Outcome]) -> None:
    assert expected["act", "abc"] == Outcome(3.0)
    metrics: dict[str, PackedMetric] = {"a": (0.25, True, "fine", None), "b": (0.75, False, "so so", None)}
    assert expected["act", "rich"] == Outcome(0.5, "half", metrics)
    kinds = [expected["act", text].kind for text in TEXTS]
    assert kinds == [
        None, None, None, None, None,
        "exception", "exception", "invalid_result", "invalid_result", "exception", "timeout", "crash",
    ]  # fmt: skip


def test_a_result_is_what_a_direct_call_gives(server: BackgroundServer) -> None:
    here = RewardFunction(serve_work.act).evaluate(guerdon.Sample.from_row(row("rich")))
    there = RewardFunction(endpoint=f"{server.url}/rewards/act", mode="remote").evaluate(
        guerdon.Sample.from_row(row("rich"))
    )
    assert isinstance(there, EvaluateResult)
    assert pack(here) == pack(there)
