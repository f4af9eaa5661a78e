"""score, ascore and astream: from an event loop, with errors raised, ended by Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import guerdon
from guerdon.errors import RewardError
from guerdon.scoring.run import Interrupted
from support.scoring_work import rows


def test_ascore_and_astream_leave_the_loop_free() -> None:
    def reward(response: str) -> float:
        time.sleep(0.01)
        return float(response)

    async def main() -> tuple[int, list[float | None], list[float | None]]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        scores = await guerdon.ascore(reward, rows(30), workers=1)
        streamed = [result.score async for result in guerdon.astream(reward, rows(10), workers=1)]
        ticking.cancel()
        return ticks, scores.scores, streamed

    ticks, scores, streamed = asyncio.run(main())
    assert ticks > 20
    assert scores == [float(i) for i in range(30)]
    assert streamed == [float(i) for i in range(10)]


def test_score_works_inside_a_running_event_loop() -> None:
    async def reward(response: str) -> float:
        await asyncio.sleep(0)
        return 1.0

    async def main() -> list[float | None]:
        return [*guerdon.score(reward, rows(3), workers=0).scores, *guerdon.score(reward, rows(2)).scores]

    assert asyncio.run(main()) == [1.0] * 5


def test_on_error_raise_names_the_sample() -> None:
    def reward(response: str) -> float:
        raise ValueError("nope")

    with pytest.raises(RewardError, match="sample 'q1': ValueError: nope"):
        guerdon.score(reward, [{**rows(1)[0], "id": "q1"}], on_error="raise", workers=1)


def test_no_samples_no_scores() -> None:
    scores = guerdon.score(lambda response: 1.0, [])
    assert (len(scores), list(scores), scores.statistics().count) == (0, [], 0)


def test_ctrl_c_finishes_what_is_in_flight(tmp_path: Path) -> None:
    def reward(response: str) -> float:
        time.sleep(0.05)
        return 1.0

    # Whoever runs the tests in the background of a shell has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(Interrupted) as caught:
            guerdon.score(reward, rows(2000), workers=1, output=tmp_path / "scores.jsonl")
    finally:
        signal.signal(signal.SIGINT, before)
    done = caught.value.scores
    assert 0 < len(done) < 2000
    assert all(result.score == 1.0 for result in done)
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == len(done)
