"""The dispatcher: work goes to whichever worker has time."""

from __future__ import annotations

import time
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


@pytest.mark.slow(seconds=9)
def test_an_idle_worker_does_what_lies_with_one_that_is_held_up() -> None:
    with _served(serve_work.act, workers=2, timeout=20) as running:
        for _ in range(20):  # so quick that a worker is given many at once
            assert call(running.url, "/score", turns("a")).status == 200
        started = time.monotonic()
        waits: list[float] = []

        def ask(text: str) -> None:
            assert call(running.url, "/score", turns(text)).status == 200
            waits.append(time.monotonic() - started)

        threads = [serve_work.in_thread(lambda text=text: ask(text)) for text in ("sleep 6", *["x"] * 30)]
        for thread in threads:
            thread.join()
    assert len(waits) == 31
    assert sorted(waits)[-2] < 4 < max(waits)
