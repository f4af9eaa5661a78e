"""Health stays in reach while a reward is busy."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

import pytest

from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from support import serve_work
from support.serve_work import call, turns


def _served(*rewards: Any, **options: Any) -> BackgroundServer:
    running = serve(*rewards, port=0, blocking=False, **options)
    assert isinstance(running, BackgroundServer)
    return running


BURN = 3.0


PATHS = ("/info", "/health/live", "/health/ready")


# In a process of its own: beside a RewardServer, whoever asks would wait for the same lock as the reward.
ASKER = """
import http.client, json, sys, time
port, seconds, paths = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
found = {path: [] for path in paths}
until = time.monotonic() + seconds
while time.monotonic() < until:
    for path in paths:
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        assert connection.getresponse().status == 200
        found[path].append(time.perf_counter() - started)
        connection.close()
    time.sleep(0.01)
print(json.dumps(found))
"""


def _stays_in_reach(running: Any, path: str, order: str) -> None:
    command = [sys.executable, "-c", ASKER, str(running.port), str(BURN), *PATHS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asker:
        reply = call(running.url, path, turns(order))
        found, _ = asker.communicate()
    assert reply.status == 200
    for path, times in json.loads(found).items():
        middle, worst = statistics.median(times), max(times)
        print(f"{path} {order}: median {middle * 1e3:.1f} ms, worst {worst * 1e3:.1f} ms of {len(times)}")
        assert middle < 0.25
        assert worst < 1.0


@pytest.mark.sample(1, seconds=5)
@pytest.mark.parametrize(
    ("reward", "order"), [("act", f"loop {BURN}"), ("act", "hold 26"), ("act_async", f"loop {BURN}")]
)
def test_a_busy_reward_does_not_delay_health(reward: str, order: str) -> None:
    with _served(serve_work.act, serve_work.act_async, workers=1, timeout=20) as running:
        _stays_in_reach(running, f"/rewards/{reward}/score", order)


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize(
    ("cls", "order"),
    [
        (serve_work.ActServer, f"loop {BURN}"),
        (serve_work.ActServer, "hold 26"),
        (serve_work.AsyncActServer, f"loop {BURN}"),
    ],
)
def test_a_busy_reward_server_does_not_delay_health(cls: Any, order: str) -> None:
    with cls(port=0, blocking=False, timeout=20) as running:
        _stays_in_reach(running, "/score", order)
