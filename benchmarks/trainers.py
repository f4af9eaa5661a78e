"""What rewards cost a training step: our adapter against the same reward called one sample after the other.

    python benchmarks/trainers.py [--batch 64] [--repeat 7]

A step asks for the rewards of a batch as TRL's trainers do: ``f(prompts=, completions=, **columns)``, with chat
prompts, a column and the trainer's own arguments. The plain function loops over the completions; the adapter is
``reward.to_trl()`` of the function for one sample. Both take turns, and each figure is the median of several steps,
with the least and the greatest. The rewards are

- 5 ms CPU: burns five milliseconds of processor time; the ideal is as many times faster as there are processors;
- 100 ms async: waits, as a call of a judge does; the ideal is the whole batch at once.

The first step, which starts the worker processes, is shown by itself. The aims are those for 2 processors and a
batch of 64: 1.7 times and 30 times.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import guerdon
from guerdon.scoring.process.spawner import cpu_count

CPU_SECONDS, ASYNC_SECONDS = 0.005, 0.1
CPU_AIM, ASYNC_AIM = 1.7, 30.0

Function = Callable[..., Any]


def burns(completion: str, answer: str) -> float:
    end = time.thread_time() + CPU_SECONDS
    while time.thread_time() < end:
        pass
    return float(completion == answer)


async def waits(completion: str, answer: str) -> float:
    await asyncio.sleep(ASYNC_SECONDS)
    return float(completion == answer)


def burns_serially(prompts: Any, completions: Any, answer: Sequence[str], **_: Any) -> list[float]:
    return [burns(c[0]["content"], a) for c, a in zip(completions, answer, strict=True)]


def waits_serially(prompts: Any, completions: Any, answer: Sequence[str], **_: Any) -> list[float]:
    async def one_by_one() -> list[float]:
        return [await waits(c[0]["content"], a) for c, a in zip(completions, answer, strict=True)]

    return asyncio.run(one_by_one())


class TrainerState:
    """What TRL hands to a reward as ``trainer_state``, as far as rewards look at it."""

    global_step = 0


def step(function: Function, batch: int) -> list[float]:
    """One call as GRPOTrainer makes it: chat prompts, one list a column, the trainer's own arguments."""
    TrainerState.global_step += 1
    asked = [[{"role": "user", "content": f"What is {i} + {i}?"}] for i in range(batch)]
    said = [[{"role": "assistant", "content": str(2 * i)}] for i in range(batch)]
    found: list[float] = function(
        prompts=asked,
        completions=said,
        completion_ids=[list(range(8))] * batch,
        answer=[str(2 * i) for i in range(batch)],
        trainer_state=TrainerState,
        log_extra=lambda column, values: None,
        log_metric=lambda name, value: None,
    )
    assert found == [1.0] * batch, found
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of every step of one function, the first of which is not among them."""

    first: float
    steps: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.steps)

    def __str__(self) -> str:
        low, high = min(self.steps), max(self.steps)
        return f"{self.median * 1000:8.1f} ms  ({low * 1000:.1f} to {high * 1000:.1f})"


def seconds(function: Function, batch: int) -> float:
    start = time.perf_counter()
    step(function, batch)
    return time.perf_counter() - start


def in_turns(batch: int, repeat: int, *functions: Function) -> list[Measured]:
    """Every function's steps, the functions taking turns, so that a machine whose speed drifts favours none."""
    firsts = [seconds(function, batch) for function in functions]
    turns = [[seconds(function, batch) for function in functions] for _ in range(repeat)]
    return [
        Measured(first, list(steps)) for first, steps in zip(firsts, zip(*turns, strict=True), strict=True)
    ]


def compare(title: str, serial: Function, reward: Function, ideal: float, aim: float, given: Any) -> bool:
    adapter = guerdon.RewardFunction(reward).to_trl()
    plain, ours = in_turns(given.batch, given.repeat, serial, adapter)
    ratio = plain.median / ours.median
    print(f"\n{title}, batch of {given.batch}, {given.repeat} steps each")
    print(f"  one after the other      {plain}")
    print(f"  guerdon's adapter        {ours}   first step {ours.first * 1000:.0f} ms")
    print(
        f"  ratio                    {ratio:8.2f} ×  (ideal {ideal:.2f}; aim {aim:g}: {_word(ratio >= aim)})"
    )
    print(f"  beyond the ideal         {(ours.median - plain.median / ideal) * 1000:8.1f} ms a step")
    return ratio >= aim


def _word(met: bool) -> str:
    return "met" if met else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    print(f"guerdon {guerdon.__version__}, Python {platform.python_version()}, {cpu_count()} processors")
    compare("5 ms CPU reward", burns_serially, burns, float(cpu_count()), CPU_AIM, given)
    compare("100 ms async reward", waits_serially, waits, float(given.batch), ASYNC_AIM, given)


if __name__ == "__main__":
    sys.exit(main())
