"""Whether a change made Guerdon slower: two checkouts do the same work in turns, through the public interface.

    python benchmarks/before_after.py BEFORE_PYTHON [--rounds 9] [--only direct,score,math,serve]

``BEFORE_PYTHON`` is the interpreter of another environment, in which the other checkout is installed; this
interpreter has the checkout to compare. Each workload runs in a process of its own for each side, warmed up once,
then A B, B A, A B, …. A figure is processor time of all the process's children too, and the ratio is the median over
the rounds of after / before; the quartiles beside it say how noisy the machine was. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from load import Load, Server, cpu_seconds_of, free_port, measure

NOISE = 0.05


def constant(response: str) -> float:
    return 0.5


async def waiting(response: str) -> float:
    await asyncio.sleep(0.001)
    return 0.5


def rows(count: int, response: str = "The answer is 12.", answer: str = "12") -> list[dict[str, Any]]:
    return [
        {
            "messages": [
                {"role": "user", "content": f"What is {number} and 3?"},
                {"role": "assistant", "content": response.replace("12", str(number))},
            ],
            "answer": answer.replace("12", str(number)),
        }
        for number in range(count)
    ]


def direct() -> Callable[[], None]:
    import guerdon

    reward = guerdon.reward_function(constant)
    messages = rows(1)[0]["messages"]

    def work() -> None:
        for _ in range(15_000):
            reward(messages=messages)

    return work


def composition() -> Callable[[], None]:
    import guerdon

    both = 0.7 * guerdon.reward_function(constant) + 0.3 * guerdon.get_reward_function("length")
    messages = rows(1)[0]["messages"]

    def work() -> None:
        for _ in range(5_000):
            both(messages=messages)

    return work


def score() -> Callable[[], None]:
    import guerdon

    reward, many = guerdon.reward_function(constant), rows(50_000)
    return lambda: _scored(guerdon.score(reward, many, workers=2))


def score_async() -> Callable[[], None]:
    import guerdon

    reward, many = guerdon.reward_function(waiting), rows(20_000)
    return lambda: _scored(guerdon.score(reward, many, concurrency=256))


def adapter() -> Callable[[], None]:
    import guerdon

    function = guerdon.reward_function(constant).to_trl()
    batch = rows(64)
    prompts = [row["messages"][:1] for row in batch]
    completions = [row["messages"][1:] for row in batch]

    def work() -> None:
        for _ in range(150):
            function(prompts=prompts, completions=completions, answer=[row["answer"] for row in batch])

    return work


def entry(name: str, response: str, answer: str, count: int) -> Callable[[], Callable[[], None]]:
    def prepare() -> Callable[[], None]:
        import guerdon

        reward, many = guerdon.get_reward_function(name), rows(count, response, answer)

        def work() -> None:
            for row in many:
                reward(messages=row["messages"], answer=row["answer"], ground_truth=row["answer"])

        return work

    return prepare


def code() -> Callable[[], None]:
    import guerdon

    reward = guerdon.get_reward_function("code")
    response = "```python\ndef twice(x):\n    return 2 * x\n```"
    messages = [{"role": "user", "content": "Write twice(x)."}, {"role": "assistant", "content": response}]
    tests = ["assert twice(2) == 4", "assert twice(-1) == -2"]

    def work() -> None:
        for _ in range(150):
            result = reward(messages=messages, tests=tests)
            assert result.score == 1.0, result

    return work


def _scored(scores: Any) -> None:
    assert next(iter(scores)).score == 0.5, next(iter(scores))


def starting() -> Callable[[], None]:
    def work() -> None:
        for _ in range(10):
            subprocess.run([sys.executable, "-c", "import guerdon; guerdon.reward_function"], check=True)

    return work


WORK: dict[str, Callable[[], Callable[[], None]]] = {
    "import": starting,
    "direct": direct,
    "composition": composition,
    "score": score,
    "score_async": score_async,
    "adapter": adapter,
    "math": entry(
        "math", "First 3, then we add. So the answer is \\boxed{\\frac{12}{7}+x^2}.", "x^2 + 12/7", 3000
    ),
    "short_answer": entry("short_answer", "I think that it was King Louis 12 of France.", "Louis 12", 1000),
    "format": entry("format", "<think>12</think><answer>12</answer>", "12", 5000),
    "code": code,
}
SERVED = {"serve": 32}


def child(name: str) -> None:
    """Does the work once for each line that comes, and answers with a line."""
    work = WORK[name]()
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(json.dumps(time.perf_counter() - began), flush=True)


class Side:
    """One side of a workload: a process that works on demand."""

    def __init__(self, python: str, name: str) -> None:
        command = [python, str(Path(__file__).resolve()), "--work", name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if self._line() != "ready":
            raise SystemExit(f"{python} cannot do the work {name}: run it with --work {name} to see why")

    def round(self) -> tuple[float, float]:
        """Seconds of the clock and of the processor."""
        used = cpu_seconds_of(self._process.pid)
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds = float(self._line())
        return seconds, cpu_seconds_of(self._process.pid) - used

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


class ServedSide:
    """A server of one side, under a raw load for two seconds a round."""

    def __init__(self, python: str, name: str) -> None:
        turns = rows(1)[0]["messages"]
        self._load = Load(json.dumps({"turns": turns}).encode(), SERVED[name])
        port = free_port()
        command = [
            python,
            "-m",
            "guerdon",
            "serve",
            f"{Path(__file__).resolve()}::constant",
            "--port",
            str(port),
        ]
        self._server = Server(command, port).__enter__()
        self.round()

    def round(self) -> tuple[float, float]:
        """Seconds of the clock and of the server's processes for 10,000 rewards."""
        measured = measure(self._server, self._load, 2.0)
        return 10_000 / measured.per_second, 10_000 / measured.per_cpu_second

    def end(self) -> None:
        self._server.__exit__()


def compared(
    name: str, before: str, rounds: int
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The figures of both sides, before and after, for each round."""
    kind = ServedSide if name in SERVED else Side
    old, new = kind(before, name), kind(sys.executable, name)
    try:
        for turn in range(rounds):
            if turn % 2:
                second = new.round()
                yield old.round(), second
            else:
                first = old.round()
                yield first, new.round()
    finally:
        old.end()
        new.end()


def main() -> None:
    names = [*WORK, *SERVED]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("before", nargs="?", metavar="BEFORE_PYTHON")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(names), help=f"some of {', '.join(names)}")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        child(given.work)
        return
    chosen = given.only.split(",")
    if given.before is None or (unknown := [name for name in chosen if name not in names]):
        parser.error(
            "the other interpreter is missing" if given.before is None else f"unknown: {', '.join(unknown)}"
        )
    print(
        f"{'workload':<14} {'before':>10} {'after':>10}   after / before of processor time (and of the clock)"
    )
    slower = []
    for name in chosen:
        pairs = list(compared(name, given.before, given.rounds))
        low, ratio, high = statistics.quantiles((new[1] / old[1] for old, new in pairs), n=4)
        clock = statistics.median(new[0] / old[0] for old, new in pairs)
        old_cpu, new_cpu = (statistics.median(pair[side][1] for pair in pairs) for side in (0, 1))
        print(
            f"{name:<14} {old_cpu:>8.3f} s {new_cpu:>8.3f} s   {ratio:.3f} ({low:.3f} to {high:.3f}), {clock:.3f}",
            flush=True,
        )
        if ratio > 1 + NOISE:
            slower.append(name)
    print(f"slower by more than {NOISE:.0%}: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
