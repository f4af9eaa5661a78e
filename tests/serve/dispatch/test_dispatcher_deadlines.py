"""Rewards that hang, crash and grow: their sample fails, and every other one is scored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from support import serve_work
from support.serve_work import Reply, call, row, turns

TIMEOUT = 0.4


OVERRAN = "overran its deadline of 0.4 s and was ended"


@pytest.fixture(scope="module", params=[1, 2], ids=["1 worker", "2 workers"])
def server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    rewards = (
        serve_work.act,
        serve_work.act_async,
        serve_work.act_at_once,
        serve_work.act_together,
        serve_work.act_together_async,
    )
    with _served(*rewards, workers=request.param, timeout=TIMEOUT) as running:
        yield running


def _served(*rewards: Any, **options: Any) -> BackgroundServer:
    running = serve(*rewards, port=0, blocking=False, **options)
    assert isinstance(running, BackgroundServer)
    return running


SYNC = [
    ("loop", 504, "timeout", OVERRAN),
    ("sleep 60", 504, "timeout", OVERRAN),
    ("hold 30", 504, "timeout", OVERRAN),
    ("exit", 500, "exception", "SystemExit"),
    ("leave", 500, "crash", "exited with status 3"),
    ("segv", 500, "crash", "SIGSEGV"),
    ("kill", 500, "crash", "SIGKILL"),
    ("oom", 500, "memory", "MemoryError"),
    ("garbage", 500, "crash", "garbage"),
    ("close", 500, "crash", "worker process"),
    ("raise that", 500, "exception", "ValueError: that"),
    ("nan", 500, "invalid_result", "finite"),
    ("text", 500, "invalid_result", "is not a score"),
    ("none", 422, "not_applicable", "does not apply"),
]


ASYNC = [
    ("await", 504, "timeout", OVERRAN),
    ("swallow", 504, "timeout", OVERRAN),
    ("cancel", 500, "exception", "CancelledError"),
]


CASES = [
    *(("act", *case) for case in SYNC),
    *(("act_async", *case) for case in [*ASYNC, SYNC[0], SYNC[2], *SYNC[4:8], SYNC[10]]),
    *(("act_at_once", *case) for case in [SYNC[0], *SYNC[4:8]]),
]


@pytest.mark.sample(6, seconds=1)
@pytest.mark.parametrize(("reward", "order", "status", "kind", "says"), CASES)
def test_one_sample(
    server: BackgroundServer, reward: str, order: str, status: int, kind: str, says: str
) -> None:
    reply = call(server.url, f"/rewards/{reward}/score", turns(order, id=77))
    assert reply.error[:2] == (status, kind), reply
    assert says in reply.error[2]
    assert reply.json["id"] == 77
    after = call(server.url, f"/rewards/{reward}/score", turns("abcd", id=78))
    assert (after.status, after.json["reward"]) == (200, 4.0)


TOGETHER = [
    ("act", SYNC[0]),
    ("act", SYNC[4]),
    ("act", SYNC[7]),
    ("act_async", SYNC[0]),
    ("act_async", ASYNC[1]),
    ("act_at_once", SYNC[0]),
    ("act_together", SYNC[0]),
    ("act_together", SYNC[5]),
    ("act_together_async", ASYNC[0]),
    ("act_together_async", SYNC[0]),
]


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize("position", [0, 5])
@pytest.mark.parametrize(("reward", "case"), TOGETHER)
def test_one_of_a_batch(
    server: BackgroundServer, reward: str, case: tuple[str, int, str, str], position: int
) -> None:
    order, _, kind, says = case
    texts = ["x" * n for n in range(1, 8)]
    texts[position] = order
    requests = [turns(text, id=n) for n, text in enumerate(texts)]
    reply = call(server.url, f"/rewards/{reward}/batch_score", {"requests": requests})
    assert reply.status == 200
    items = reply.json["responses"]
    assert [item["id"] for item in items] == list(range(7))
    bad = items.pop(position)
    assert (bad["reward"], bad["error"]["kind"]) == (None, kind)
    assert says in bad["error"]["message"]
    assert [item["reward"] for item in items] == [n + 1.0 for n in range(7) if n != position]


def test_a_child_that_a_reward_forks_answers_nothing(server: BackgroundServer) -> None:
    requests = [turns(text, id=n) for n, text in enumerate(["fork", "ab", "fork", "abc"])]
    reply = call(server.url, "/batch_score", {"requests": requests})
    assert [item["reward"] for item in reply.json["responses"]] == [4.0, 2.0, 4.0, 3.0]


def test_callers_beside_one_that_crashes_are_answered(server: BackgroundServer) -> None:
    """Each of 40 requests at once gets its own answer, the crash among them."""
    found: dict[int, Reply] = {}

    def ask(n: int) -> None:
        found[n] = call(server.url, "/score", turns("segv" if n == 20 else "x" * n, id=n))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.pop(20).error[:2] == (500, "crash")
    assert {n: (r.json["id"], r.json["reward"]) for n, r in found.items()} == {
        n: (n, float(n)) for n in range(40) if n != 20
    }


def test_v1_tells_the_same_failures(server: BackgroundServer) -> None:
    reply = call(server.url, "/v1/batch_score", {"samples": [row("ab", id="a"), row("loop", id="b")]})
    good, bad = reply.json["results"]
    assert (good["score"], good["error"]) == (2.0, None)
    assert (bad["id"], bad["score"], bad["error"]["kind"]) == ("b", None, "timeout")
