"""Async rewards in a worker: one that blocks, crashes or cancels itself fails alone."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import guerdon
from support.scoring_work import rows, spin


async def _blocks(response: str) -> float:
    if response == "5":
        spin()
    return 1.0


async def _never_ends(response: str) -> float:
    if response == "5":
        await asyncio.sleep(60)
    return 1.0


async def _refuses_to_be_cancelled(response: str) -> float:
    while response == "5":
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
    return 1.0


async def _blocks_in_a_task(response: str) -> float:
    async def inner() -> None:
        await asyncio.sleep(0)
        spin()

    if response == "5":
        await asyncio.gather(inner())
    return 1.0


async def _crashes(response: str) -> float:
    await asyncio.sleep(0)
    if response == "5":
        os.abort()
    return 1.0


async def _cancels_itself(response: str) -> float:
    if response == "5":
        raise asyncio.CancelledError
    return 1.0


async def _has_itself_cancelled(response: str) -> float:
    if response == "5":
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
    return 1.0


async def _ends_its_coroutine(response: str) -> float:
    if response == "5":
        raise GeneratorExit
    return 1.0


@pytest.mark.sample(3, seconds=1)
@pytest.mark.parametrize(
    ("reward", "kind"),
    [
        (_cancels_itself, "exception"),
        (_has_itself_cancelled, "exception"),
        (_ends_its_coroutine, "exception"),
        (_blocks, "timeout"),
        (_never_ends, "timeout"),
        (_refuses_to_be_cancelled, "timeout"),
        (_blocks_in_a_task, "timeout"),
        (_crashes, "crash"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_async_reward_fails_alone(reward: Any, kind: str) -> None:
    scores = guerdon.score(reward, rows(12), timeout=0.7)
    failed = dict(scores.failures())
    assert {identity: result.error_kind for identity, result in failed.items()} == {5: kind}
    assert scores.scores.count(1.0) == 11


async def _handles_a_thread_that_raised(response: str) -> float:
    try:
        return await asyncio.to_thread(float, response)
    except ValueError:
        return -1.0


def test_what_is_awaited_may_raise() -> None:
    scores = guerdon.score(_handles_a_thread_that_raised, ["1", "one", "2"], workers=1)
    assert [result.score for result in scores] == [1.0, -1.0, 2.0]


async def _unhandled(response: str) -> float:
    return await asyncio.to_thread(float, response)


def test_what_is_awaited_and_raises_fails_its_sample_only() -> None:
    scores = guerdon.score(_unhandled, ["1", "one", "2"], workers=1)
    assert [result.score for result in scores] == [1.0, None, 2.0]
    assert scores[1].error_kind == "exception"
    assert "could not convert string to float" in str(scores[1].error)
