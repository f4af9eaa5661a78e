"""How much work a worker is given at once."""

from __future__ import annotations

from typing import Any

from guerdon.serve.dispatch.capacity import WorkerCapacity


def reply(seconds: float, *, scores: int = 1, outcomes: int = 0) -> tuple[Any, ...]:
    """The fields of a WorkerReply, as they come from a worker."""
    return (1, seconds, 200, b"", (1.0,) * scores, None, (0, ""), (None,) * outcomes)


def test_before_the_first_reply_a_worker_gets_two_calls() -> None:
    capacity = WorkerCapacity(concurrency=64)
    capacity.update(on_event_loop=False)
    assert (capacity.calls, capacity.gathers) == (2, False)
    assert capacity.chunk_rows(100, workers=2, on_event_loop=False) == 1


def test_quick_calls_are_gathered_slow_ones_are_not() -> None:
    capacity = WorkerCapacity(concurrency=64)
    capacity.learn([reply(0.0001)])
    capacity.update(on_event_loop=False)
    assert (capacity.calls, capacity.gathers) == (64, True)
    for _ in range(200):
        capacity.learn([reply(0.005)])
    capacity.update(on_event_loop=False)
    assert (capacity.calls, capacity.gathers) == (4, False)
    assert round(capacity.seconds_for(100, workers=2), 3) == 0.25


def test_an_event_loop_runs_as_many_calls_as_may_run_at_once() -> None:
    capacity = WorkerCapacity(concurrency=7)
    capacity.learn([reply(0.0001)])
    capacity.update(on_event_loop=True)
    assert (capacity.calls, capacity.gathers) == (7, False)
    assert capacity.chunk_rows(100, workers=2, on_event_loop=True) == 8
    assert capacity.chunk_rows(6, workers=2, on_event_loop=True) == 3


def test_a_chunk_is_twenty_milliseconds_of_work_and_leaves_some_for_every_worker() -> None:
    capacity = WorkerCapacity(concurrency=64)
    capacity.learn([reply(0.01, scores=0, outcomes=10), reply(0.01, scores=10)])
    assert capacity.chunk_rows(1000, workers=2, on_event_loop=False) == 20
    assert capacity.chunk_rows(10, workers=3, on_event_loop=False) == 4
    capacity.learn([reply(0.0, scores=10_000)] * 100)
    for _ in range(200):
        capacity.learn([reply(1e-6, scores=10)])
    assert capacity.chunk_rows(100_000, workers=2, on_event_loop=False) == 256
