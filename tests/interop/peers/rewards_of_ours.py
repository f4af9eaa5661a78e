"""The rewards that the scripts beside this file plug into trainers."""

import asyncio
import time

import guerdon


def _answer(response: str, ground_truth: str) -> float:
    if response == "fail":
        raise ValueError("it fails")
    if response == "slow":
        time.sleep(30)
    return float(response == ground_truth)


async def _brief(response: str) -> float:
    await asyncio.sleep(0.01)
    return 1.0 / len(response)


answer = guerdon.RewardFunction(_answer, name="exact")
brief = guerdon.RewardFunction(_brief, name="brief")
both = (0.75 * answer + 0.25 * brief).with_name("exact")
