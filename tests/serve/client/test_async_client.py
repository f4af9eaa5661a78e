"""One client, many event loops and threads."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from guerdon import AsyncRewardClient, RewardClient
from support.client_requests import request_of
from support.misbehaving import Misbehaving


def test_from_many_threads_and_event_loops(server: Misbehaving) -> None:
    with RewardClient(server.url) as client, ThreadPoolExecutor(16) as pool:
        rewards = [r.reward for r in pool.map(client.score, [request_of("az"[i % 2]) for i in range(200)])]
    assert rewards == [1.0, 0.0] * 100
    shared = AsyncRewardClient(server.url)
    for _ in range(2):
        assert asyncio.run(shared.score(request_of("a"))).reward == 1.0

    async def calls_the_sync_one() -> float:
        with RewardClient(server.url) as inner:
            return inner.score(request_of("a")).reward

    assert asyncio.run(calls_the_sync_one()) == 1.0


def test_a_client_that_nobody_closes_is_closed_in_silence(server: Misbehaving) -> None:
    script = (
        "import asyncio\nfrom guerdon import *\n"
        "request = Request(turns=[Turn(role='assistant', content='a')])\n"
        f"client = RewardClient({server.url!r}).connect_websocket()\nprint(client.score(request).reward)\n"
        f"print(RewardClient({server.url!r}).score(request).reward)\n"
        f"print(asyncio.run(AsyncRewardClient({server.url!r}).score(request)).reward)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
    )
    assert (done.stdout, done.stderr) == ("1.0\n1.0\n1.0\n", "")
    for _ in range(3):
        RewardClient(server.url).score(request_of("a"))
        gc.collect()
