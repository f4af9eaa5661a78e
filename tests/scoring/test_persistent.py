"""An engine that persists: calls from many threads, answered by the same workers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from guerdon import RewardFunction, Sample
from guerdon.errors import RewardError
from guerdon.scoring.persistent import PersistentEngine
from guerdon.scoring.run import RunOptions, limits_of
from support.scoring_work import spin


def sample(response: str) -> Sample:
    return Sample.from_row({"messages": [{"role": "assistant", "content": response}]})


def deed(response: str) -> float:
    """Does what the response says, or gives its length."""
    if response == "spin":
        spin()
    if response == "leave":
        os._exit(3)
    if response == "pid":
        return float(os.getpid())
    return float(len(response))


def engine_of(reward: Any, workers: int, **options: Any) -> PersistentEngine:
    function = RewardFunction(reward)
    return PersistentEngine(function, limits_of(function, RunOptions(workers=workers, **options), None))


@pytest.fixture(scope="module")
def engine() -> Iterator[PersistentEngine]:
    made = engine_of(deed, workers=1, timeout=0.7)
    yield made
    made.close()


def test_calls_come_one_by_one_and_find_the_same_worker(engine: PersistentEngine) -> None:
    first, second = (engine.submit([sample("pid")])[0].result(30).score for _ in range(2))
    assert first == second != os.getpid()


def test_only_the_call_that_goes_wrong_fails(engine: PersistentEngine) -> None:
    answers = engine.submit([sample(text) for text in ("a", "spin", "leave", "abcd")])
    results = [answer.result(30) for answer in answers]
    assert [result.score for result in results] == [1.0, None, None, 4.0]
    assert [result.error_kind for result in results] == [None, "timeout", "crash", None]


def test_many_threads_ask_at_once(engine: PersistentEngine) -> None:
    found: dict[int, float | None] = {}

    def ask(number: int) -> None:
        found[number] = engine.submit([sample("x" * number)])[0].result(30).score

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: float(number) for number in range(20)}


def test_it_starts_again_after_it_was_closed() -> None:
    engine = engine_of(deed, workers=1)
    assert engine.submit([sample("ab")])[0].result(30).score == 2.0
    engine.close()
    assert engine.submit([sample("abc")])[0].result(30).score == 3.0
    engine.close()


class Unloadable:
    """Pickles, and cannot be made anew."""

    def __call__(self, response: str) -> float:
        return 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("x",)


def test_a_reward_that_does_not_load_is_raised_by_every_call() -> None:
    engine = engine_of(Unloadable(), workers=1)
    with pytest.raises(RewardError, match="does not load in a worker"):
        engine.submit([sample("a")])[0].result(30)
    engine.close()


async def pause(response: str) -> float:
    await asyncio.sleep(0)
    return float(len(response))


@pytest.mark.parametrize("reward", [deed, pause])
def test_without_workers_it_scores_in_this_process(reward: Any) -> None:
    engine = engine_of(reward, workers=0)
    assert [answer.result(30).score for answer in engine.submit([sample("a"), sample("ab")])] == [1.0, 2.0]
    engine.close()
