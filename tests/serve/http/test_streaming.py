"""A batch as JSON lines: each result as it is done, and a last line without which it was cut off."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from support import serve_work
from support.serve_work import call, connected, raw, row

LINES = {"accept": "application/jsonl"}


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    rewards = (serve_work.act, serve_work.act_async, serve_work.act_together)
    running = serve(*rewards, port=0, blocking=False, workers=1, timeout=1, max_queue=50)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


def asked(*texts: str) -> dict[str, Any]:
    return {"samples": [row(text, id=f"s{n}") for n, text in enumerate(texts)]}


def lines(server: BackgroundServer, path: str, body: Any) -> Iterator[tuple[float, Any]]:
    """The lines of a streamed answer with the seconds after which they came."""
    place = urlsplit(server.url)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    started = time.monotonic()
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **LINES})
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["content-type"].startswith("application/jsonl")
    assert response.headers["x-request-id"]
    for line in response:
        yield time.monotonic() - started, json.loads(line)
    connection.close()


@pytest.mark.parametrize("reward", ["act", "act_async", "act_together"])
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_every_result_comes_once(server: BackgroundServer, reward: str, count: int) -> None:
    found = [
        line
        for _, line in lines(
            server, f"/rewards/{reward}/v1/batch_score", asked(*map("x".__mul__, range(count)))
        )
    ]
    assert found.pop() == {"done": count}
    assert sorted(line["index"] for line in found) == list(range(count))
    for line in found:
        n = line["index"]
        assert (line["id"], line["score"], line["error"], line["reward"]) == (f"s{n}", float(n), None, reward)


@pytest.mark.sample(1, seconds=4)
@pytest.mark.parametrize("reward", ["act", "act_async"])
def test_lines_are_those_of_the_whole_answer(server: BackgroundServer, reward: str) -> None:
    body = asked("a", "raise it", "rich", "none", "nan", "sleep 5", "segv", "ab")
    path = f"/rewards/{reward}/v1/batch_score"
    streamed = [line for _, line in lines(server, path, body)]
    assert streamed.pop() == {"done": 8}
    whole = call(server.url, path, body).json["results"]
    inorder = sorted(streamed, key=lambda line: line["index"])
    assert [{k: v for k, v in line.items() if k != "index"} for line in inorder] == whole
    kinds = [result["error"] and result["error"]["kind"] for result in whole]
    assert kinds == [None, "exception", None, None, "invalid_result", "timeout", "crash", None]


@pytest.mark.parametrize("reward", ["act", "act_async"])
def test_results_come_as_they_are_done(server: BackgroundServer, reward: str) -> None:
    texts = ["sleep 0.15" if reward == "act" else "await 0.15"] * 6
    times = [seconds for seconds, _ in lines(server, f"/rewards/{reward}/v1/batch_score", asked(*texts))]
    if reward == "act":
        assert times[0] < times[-1] - 0.4
    assert times[-1] < 3


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"samples": [{"messages": []}]}, 422, "samples.0.messages"),
        ({"samples": 1}, 422, "samples"),
        (b"{", 422, "JSON"),
    ],
)
def test_a_body_that_is_wrong_is_refused_as_a_whole(
    server: BackgroundServer, body: Any, status: int, says: str
) -> None:
    reply = call(server.url, "/v1/batch_score", body, LINES)
    assert reply.error[:2] == (status, "input")
    assert says in reply.error[2]


def test_a_caller_that_leaves_ends_the_work(server: BackgroundServer) -> None:
    body = json.dumps(asked(*["sleep 0.5"] * 100)).encode()
    with connected(server.url) as connection:
        connection.sendall(raw("/v1/batch_score", body, "accept: application/jsonl"))
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    started = time.monotonic()
    assert call(server.url, "/v1/score", row("abc")).json["score"] == 3.0
    assert time.monotonic() - started < 8


def test_a_stream_that_is_cut_off_has_no_last_line() -> None:
    running = serve(serve_work.act, port=0, blocking=False, workers=1, request_timeout=1, timeout=5)
    assert isinstance(running, BackgroundServer)
    with running:
        found = [line for _, line in lines(running, "/v1/batch_score", asked(*["sleep 0.3"] * 20))]
    assert 1 <= len(found) < 20
    assert all("done" not in line for line in found)
