"""Rewards that the tests of environments use: one that fails, one that is slow, a sum of both kinds."""

import asyncio
import time

from guerdon import EvaluateResult, reward_function, weighted


@reward_function
def right(response, ground_truth):
    """One point for the ground truth itself."""
    if response == "raise":
        raise ValueError("asked to raise")
    if response == "hang":
        time.sleep(60)
    return float(response == ground_truth)


@reward_function
async def brief(response, level=1):
    """Less for longer responses; ``level`` must be a number of Python's own."""
    if not isinstance(level, int):
        raise TypeError(f"level is of the type {type(level).__name__}")
    await asyncio.sleep(60 if response == "slow" else 0.01)
    return 1 / (1 + len(response))


@reward_function(name="right")
def right_again(response, ground_truth):
    """Another reward of the same name."""
    return float(response != ground_truth)


@reward_function
def prompted(response, prompt, messages):
    """What a response was given to."""
    return EvaluateResult(float(len(messages)), prompt)


both = weighted(right, brief, weights=[0.75, 0.5], name="both")
