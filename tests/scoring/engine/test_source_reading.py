"""Sources that fail, are slow or block."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import guerdon
from support.scoring_work import rows


def test_the_samples_may_come_from_an_iterator_that_fails() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        raise OSError("the disk is gone")

    seen = []

    def consume() -> None:
        for result in guerdon.stream(lambda response: float(response), source(), workers=1):
            seen.append(result.score)

    with pytest.raises(OSError, match="the disk is gone"):
        consume()
    assert seen == [float(i) for i in range(100)]


def test_a_slow_source_holds_back_neither_results_nor_deadlines() -> None:
    scored = threading.Semaphore(0)

    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        # Each further sample is made only once the one before has its verdict.
        for row in rows(5):
            for _ in range(100 if row["messages"][1]["content"] == "0" else 1):
                assert scored.acquire(timeout=20)
            yield row

    def reward(response: str) -> float:
        if response == "99":
            time.sleep(60)
        return float(response)

    results = []
    for result in guerdon.stream(reward, source(), workers=1, timeout=0.5):
        results.append(result)
        scored.release()
    assert [r.score for r in results] == [*map(float, range(99)), None, *map(float, range(5))]
    assert results[99].error_kind == "timeout"


def test_a_stream_whose_source_blocks_can_be_left() -> None:
    go_on = threading.Event()

    def source() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        go_on.wait(20)

    stream = guerdon.stream(lambda response: 1.0, source(), workers=1)
    assert next(stream).score == 1.0
    started = time.monotonic()
    stream.close()
    assert time.monotonic() - started < 2
    go_on.set()
