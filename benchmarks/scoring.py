"""How fast many samples are scored, against a bare Python loop in the same run.

    python benchmarks/scoring.py [--samples 100000] [--repeat 5]

Every figure is the median of several runs in which ours and the bare loop take turns, so that a machine
whose speed drifts does not favour either. The worker processes are warm: what starting them costs is
printed by itself. The rewards are

- trivial: returns a constant; what is left is our overhead per sample;
- 1 ms CPU: burns a millisecond of processor time; the ideal on two workers is half of the bare loop's time;
- 50 ms async: waits, as a call of a judge does; the ideal is 50 ms times samples over concurrency.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import guerdon
from guerdon.scoring.process.idle_pool import idle_workers
from guerdon.scoring.process.spawner import cpu_count

CONCURRENCY = 64


def trivial(response: str) -> float:
    return 1.0


def one_millisecond(response: str) -> float:
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
    return 1.0


async def fifty_milliseconds(response: str) -> float:
    await asyncio.sleep(0.05)
    return 1.0


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "messages": [
                {"role": "user", "content": "What is 17 times 3?"},
                {"role": "assistant", "content": f"17 times 3 is 51, so the answer is {i}."},
            ],
            "ground_truth": "51",
        }
        for i in range(count)
    ]


def bare_loop(reward: Callable[[str], float], samples: Iterable[dict[str, Any]]) -> None:
    total = 0.0
    for sample in samples:
        total += reward(sample["messages"][-1]["content"])


def bare_async(samples: Iterable[dict[str, Any]]) -> None:
    async def run() -> None:
        gate = asyncio.Semaphore(CONCURRENCY)

        async def one(sample: dict[str, Any]) -> float:
            async with gate:
                return await fifty_milliseconds(sample["messages"][-1]["content"])

        await asyncio.gather(*map(one, samples))

    asyncio.run(run())


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(repeat: int, *calls: Callable[[], object]) -> list[float]:
    """The median seconds of each call, the calls taking turns, after one turn that is not counted."""
    turns = [[seconds(call) for call in calls] for _ in range(repeat + 1)][1:]
    return [statistics.median(column) for column in zip(*turns, strict=True)]


def trivial_reward(count: int, repeat: int) -> None:
    samples = rows(count)
    bare, here, one, two = in_turns(
        repeat,
        lambda: bare_loop(trivial, samples),
        lambda: guerdon.score(trivial, samples, workers=0),
        lambda: guerdon.score(trivial, samples, workers=1),
        lambda: guerdon.score(trivial, samples, workers=2),
    )
    print(f"\ntrivial reward, {count:,} samples")
    line("bare loop", bare, count, bare)
    for name, took in (("in process", here), ("1 worker", one), ("2 workers", two)):
        line(name, took, count, bare, f"overhead {(took - bare) / count * 1e6:5.1f} µs a sample")


def cpu_reward(count: int, repeat: int) -> None:
    samples = rows(count)
    workers = min(2, cpu_count())
    bare, one, two = in_turns(
        repeat,
        lambda: bare_loop(one_millisecond, samples),
        lambda: guerdon.score(one_millisecond, samples, workers=1),
        lambda: guerdon.score(one_millisecond, samples, workers=2),
    )
    print(f"\n1 ms CPU reward, {count:,} samples, {cpu_count()} processors")
    line("bare loop", bare, count, bare)
    line("1 worker", one, count, bare, f"{bare / one:6.1%} of ideal")
    line("2 workers", two, count, bare, f"{bare / workers / two:6.1%} of ideal")


def async_reward(count: int, repeat: int) -> None:
    samples = rows(count)
    bare, here, worker = in_turns(
        repeat,
        lambda: bare_async(samples),
        lambda: guerdon.score(fifty_milliseconds, samples, workers=0, concurrency=CONCURRENCY),
        lambda: guerdon.score(fifty_milliseconds, samples, concurrency=CONCURRENCY),
    )
    ideal = 0.05 * count / CONCURRENCY
    print(f"\n50 ms async reward, {count:,} samples, {CONCURRENCY} at once")
    line("bare asyncio", bare, count, bare, f"{ideal / bare:6.1%} of ideal")
    line("in process", here, count, bare, f"{ideal / here:6.1%} of ideal")
    line("1 worker", worker, count, bare, f"{ideal / worker:6.1%} of ideal")


def starting(repeat: int) -> None:
    def cold() -> None:
        idle_workers.close()
        guerdon.score(trivial, rows(1), workers=1)

    (took,) = in_turns(repeat, cold)
    python, package, decorator = in_turns(
        repeat,
        lambda: interpreter("pass"),
        lambda: interpreter("import guerdon"),
        lambda: interpreter("from guerdon import reward_function"),
    )
    print("\nstarting")
    print(f"  a worker, to its first result          {took * 1000:6.1f} ms")
    print(f"  a bare interpreter                     {python * 1000:6.1f} ms")
    print(f"  import guerdon adds                    {(package - python) * 1000:6.1f} ms")
    print(f"  with the decorator imported, it adds   {(decorator - python) * 1000:6.1f} ms")


def interpreter(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def line(name: str, took: float, count: int, bare: float, note: str = "") -> None:
    print(f"  {name:<13} {count / took:>11,.0f} a second   {bare / took:6.3f} of bare   {note}".rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    print(f"guerdon {guerdon.__version__}, Python {platform.python_version()}, {cpu_count()} processors")
    trivial_reward(given.samples, given.repeat)
    cpu_reward(max(given.samples // 50, 200), given.repeat)
    async_reward(max(given.samples // 50, 200), given.repeat)
    starting(given.repeat)


if __name__ == "__main__":
    main()
