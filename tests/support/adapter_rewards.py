"""Rewards for the tests of adapters; in a module of their own, so that they pickle by reference."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from guerdon import reward_function


@reward_function
def moody(response: str) -> float | None:
    """Its length, but it fails, dawdles or does not apply where the response says so."""
    if response == "bad":
        raise ValueError("it is bad")
    if response == "slow":
        time.sleep(60)
    return None if response == "none" else float(len(response))


@reward_function
async def amoody(response: str) -> float | None:
    """The same, awaited."""
    if response == "bad":
        raise ValueError("it is bad")
    if response == "slow":
        await asyncio.sleep(60)
    return None if response == "none" else float(len(response))


@reward_function
def patient(response: str, mark: str = "") -> float:
    """Takes long where it is held, and says that it has begun by making the file ``mark``."""
    if response == "held":
        Path(mark).touch()
        time.sleep(60)
    return 1.0


@reward_function
def short(response: str) -> float:
    return float(len(response) < 5)


@reward_function
def graded(response: str) -> tuple[float, dict[str, float]]:
    return 1.0, {"brevity": 1 / len(response)}


@reward_function
def stepped(response: str, step: int = 0) -> float:
    return float(step)


@reward_function
def exact(response: str, answer: str) -> float:
    return float(response == answer)


@reward_function
def batched(completions: list[str]) -> list[float]:
    """The size of the batch for each."""
    return [float(len(completions))] * len(completions)
