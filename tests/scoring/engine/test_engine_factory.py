"""Which engine scores a reward that cannot travel to a worker."""

from __future__ import annotations

import threading

import pytest

import guerdon
from guerdon.errors import BindingError
from support.scoring_work import rows


def test_what_cannot_travel_says_so_and_runs_in_process() -> None:
    lock = threading.Lock()

    def reward(response: str) -> float:
        with lock:
            return 1.0

    with pytest.raises(BindingError, match=r"cannot travel to a worker process.*workers=0"):
        guerdon.score(reward, rows(2))
    assert guerdon.score(reward, rows(2), workers=0).scores == [1.0, 1.0]


def test_an_async_reward_that_cannot_travel_stays_here() -> None:
    lock = threading.Lock()

    async def reward(response: str) -> float:
        with lock:
            return 1.0

    assert guerdon.score(reward, rows(3)).scores == [1.0, 1.0, 1.0]
