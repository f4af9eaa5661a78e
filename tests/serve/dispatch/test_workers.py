"""The workers of a server: one that ends, outgrows its memory or does not load is replaced."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.errors import RewardError
from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from support import serve_work
from support.serve_work import call, turns


def _served(*rewards: Any, **options: Any) -> BackgroundServer:
    running = serve(*rewards, port=0, blocking=False, **options)
    assert isinstance(running, BackgroundServer)
    return running


def pid(response: str) -> float:
    """The worker's process, or what an order says."""
    return float(os.getpid()) if response == "pid" else serve_work.act(response)


async def pid_async(response: str) -> float:
    return float(os.getpid()) if response == "pid" else float(await serve_work.act_async(response))


async def pid_at_once(response: str) -> float:
    return float(os.getpid()) if response == "pid" else float(serve_work.act(response))


def _pid(running: BackgroundServer) -> int:
    return int(call(running.url, "/score", turns("pid")).json["reward"])


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize("reward", [pid, pid_async, pid_at_once])
@pytest.mark.parametrize(
    ("order", "kind", "stays"),
    [("oom", "memory", False), ("raise x", "exception", True), ("segv", "crash", False)],
)
def test_a_worker_that_ran_out_of_memory_is_replaced(
    reward: Callable[..., Any], order: str, kind: str, stays: bool
) -> None:
    with _served(reward, workers=1, timeout=5) as running:
        first = _pid(running)
        requests = [turns("ab", id=0), turns(order, id=1), turns("abc", id=2)]
        items = call(running.url, "/batch_score", {"requests": requests}).json["responses"]
        assert [item["reward"] for item in items] == [2.0, None, 3.0]
        assert items[1]["error"]["kind"] == kind
        assert (_pid(running) == first) is stays
        metrics = call(running.url, "/metrics").body.decode()
        restarts = [line for line in metrics.splitlines() if "restarts" in line and not line.startswith("#")]
        assert any(kind in line for line in restarts) is not stays
    assert not serve_work.process_is_there(first)


def test_memory_that_grows_is_ended() -> None:
    def grow(response: str) -> float:
        kept = []
        while response == "grow":
            kept.append(bytearray(10_000_000))
            time.sleep(0.001)
        return 1.0

    with _served(grow, workers=1, timeout=20, max_memory="300MB") as running:
        reply = call(running.url, "/score", turns("grow"))
        assert reply.error[:2] == (500, "memory")
        assert call(running.url, "/score", turns("x")).json["reward"] == 1.0


def test_workers_end_with_the_server() -> None:
    running = _served(pid, workers=2)
    found = {_pid(running) for _ in range(20)}
    started = time.monotonic()
    running.stop()
    assert time.monotonic() - started < 10
    assert not any(serve_work.process_is_there(number) for number in found)


def test_a_reward_that_does_not_load() -> None:
    def broken(response: str) -> float:
        return 1.0

    class Unpicklable:
        def __reduce__(self) -> Any:
            return (_refuse, ())

    broken.state = Unpicklable()  # type: ignore[attr-defined]
    with pytest.raises(RewardError, match=r"does not load.*not here"):
        _served(broken)


def _refuse() -> None:
    raise LookupError("not here")


def flaky(response: str, folder: str) -> float:
    if response == "leave":
        Path(folder, "away").touch()
        os._exit(1)
    return float(len(response))


class Flaky:
    """Does not load while there is a file ``away``."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, response: str) -> float:
        return flaky(response, self.folder)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if Path(self.folder, "away").exists():
            raise LookupError("it is away")


@pytest.mark.slow(seconds=10)
def test_a_reward_that_loads_again_later_is_served_again(tmp_path: Path) -> None:
    with _served(RewardFunction(Flaky(str(tmp_path)), name="flaky"), workers=1) as running:
        assert call(running.url, "/score", turns("abc")).json["reward"] == 3.0
        gone = call(running.url, "/score", turns("leave"))
        assert gone.status in (500, 503)
        until = time.monotonic() + 10
        while call(running.url, "/health/ready").status == 200 and time.monotonic() < until:
            time.sleep(0.05)
        ready = call(running.url, "/health/ready")
        assert ready.status == 503
        assert "it is away" in ready.body.decode()
        assert call(running.url, "/health/live").status == 200
        while call(running.url, "/score", turns("abc")).status != 503 and time.monotonic() < until:
            time.sleep(0.05)
        refused = call(running.url, "/score", turns("abc"))
        assert refused.error[:2] == (503, "crash")
        assert refused.headers["retry-after"]
        (tmp_path / "away").unlink()
        until = time.monotonic() + 15
        while call(running.url, "/health/ready").status != 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert call(running.url, "/score", turns("abc")).json["reward"] == 3.0
