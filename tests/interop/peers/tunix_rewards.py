"""Rewards that Tunix is tried with: columns named like fields of its configuration, failures, slow samples."""

import asyncio
import time

import guerdon

SLOW_SECONDS = 30


def _kept(response: str, kind: str, beta: float, num_generations: int, step: int = -1) -> dict[str, float]:
    assert [type(value) for value in (kind, beta, num_generations)] == [str, float, int]
    assert (beta, num_generations) == (0.25, 99)
    if kind == "fails" or (kind == "sometimes" and _odd(response)):
        raise ValueError("it fails")
    if kind == "slow":
        time.sleep(SLOW_SECONDS)
    return {"score": len(response) / 8, "step": float(step)}


async def _brief(response: str) -> float:
    await asyncio.sleep(0.01)
    return 1 / (1 + len(response))


def _odd(response: str) -> bool:
    return sum(map(ord, response)) % 2 == 1


kept = guerdon.RewardFunction(_kept, name="kept")
brief = guerdon.RewardFunction(_brief, name="brief")
both = (0.5 * kept + 0.5 * brief).with_name("kept")
