"""The worker pool: verdicts come in the samples' order, batches are whole, memory is bounded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import guerdon
from support.scoring_work import rows, spin


def test_order_is_kept_whatever_the_samples_take() -> None:
    def reward(response: str) -> float:
        time.sleep(0.02 if int(response) % 7 == 0 else 0)
        return float(response)

    assert guerdon.score(reward, rows(200), workers=2).scores == [float(i) for i in range(200)]


def test_a_batched_reward_gets_whole_batches_in_order() -> None:
    @guerdon.reward_function(mode="batch")
    def reward(messages: list[Any]) -> list[float]:
        return [len(messages) * 100 + int(conversation[-1].content) for conversation in messages]

    scores = guerdon.score(reward, rows(10), batch_size=4, workers=2).scores
    assert scores == [400.0 + i if i < 8 else 200.0 + i for i in range(10)]


def test_from_a_thread_and_from_many() -> None:
    def reward(response: str) -> float:
        if response == "2":
            spin()
        return float(response)

    found: dict[int, list[float | None]] = {}

    def run(number: int) -> None:
        found[number] = guerdon.score(reward, rows(6), timeout=0.5, workers=1).scores

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [[0.0, 1.0, None, 3.0, 4.0, 5.0]] * 4


def test_leaving_a_stream_early_ends_what_runs() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "x"

    before = threading.enumerate()
    stream = guerdon.stream(lambda response: 1.0, endless(), workers=1)
    assert [next(stream).score for _ in range(3)] == [1.0, 1.0, 1.0]
    stream.close()
    assert not [t for t in threading.enumerate() if t.name == "guerdon-pool" and t not in before]


def test_a_large_row_passes() -> None:
    big = "x" * 50_000_000
    scores = guerdon.score(lambda response: len(response), [big, "y", big], workers=1, timeout=60)
    assert scores.scores == [50_000_000.0, 1.0, 50_000_000.0]


def test_a_sample_that_overran_took_its_time() -> None:
    def reward(response: str) -> float:
        if response == "1":
            spin()
        return 1.0

    async def areward(response: str) -> float:
        await asyncio.sleep(60 if response == "1" else 0)
        return 1.0

    async def batched(completions: list[str]) -> list[float]:
        await asyncio.sleep(60)
        return [1.0 for _ in completions]

    for each, workers in ((reward, 1), (areward, 1), (areward, 0)):
        seconds = guerdon.score(each, rows(2), timeout=0.3, workers=workers).statistics().seconds
        assert seconds is not None
        assert seconds.max >= 0.3
    for workers in (0, 1):
        seconds = guerdon.score(batched, rows(4), timeout=0.3, workers=workers).statistics().seconds
        assert seconds is not None
        assert seconds.mean >= 0.3
