"""Rewards for trainers that ask one by one, where other processes can import them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from guerdon import reward_function

_inside = 0
_met = asyncio.Event()
TOGETHER = 8


@reward_function
def graded(response: str, ground_truth: str, level: int = 0) -> float:
    """One for the truth, a level for what is not a column; "bad" fails."""
    if response == "bad":
        raise ValueError("asked to fail")
    return float(response == ground_truth) + level / 10


@reward_function
def meeting(response: str, folder: str) -> float:
    """One once two calls are under way at the same time, each in a process of its own."""
    (Path(folder) / response).touch()
    end = time.monotonic() + 20
    while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    return float(len(list(Path(folder).iterdir())) >= 2)


@reward_function
async def gathering(response: str) -> float:
    """One once enough calls are under way at the same time."""
    global _inside
    _inside += 1
    if _inside == TOGETHER:
        _met.set()
    await asyncio.wait_for(_met.wait(), 20)
    return 1.0


@reward_function(mode="batch")
def batched(completions: list[str]) -> list[float]:
    """A tenth for each character."""
    return [len(completion) / 10 for completion in completions]


@reward_function
def some(response: str) -> float | None:
    """Applies to numbers only."""
    return 1.0 if response.isdigit() else None
