"""What a program in the sandbox costs, against forks, fresh interpreters and the harnesses that people use now.

    python benchmarks/sandbox.py [--rounds 15] [--isolation auto] [--only fork,throughput,cold,calls,harness]

All is measured in turns within one run, and a figure is the median over the rounds. The fork to compare with is
``os.fork``, ``os._exit`` and ``waitpid`` in a fresh interpreter that has imported what the sandbox's fork servers
have, and, beside it, in one that has imported nothing. ``harness`` needs the shared data (``GUERDON_DATA``) and
judges its 240 MBPP completions, as far as their tests are plain calls, in the packages' own environments, which pip
makes at the first run.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import guerdon
from guerdon.sandbox import AssertTest, CallTest, Sandbox
from guerdon.sandbox.inside.boot import COMMON

HERE = Path(__file__).resolve().parent
sys.path.insert(
    0, str(HERE.parent / "tests")
)  # the environments of the peers are made as the tests make them

from interop.environments import environment, python_of  # noqa: E402

BATCH = 20
"""Runs in one turn."""
SECONDS = 0.5
"""The turn of a throughput."""
TRIVIAL = "print(1)"
IMPORTS = """
import bisect, collections, functools, heapq, itertools, json, math, random, re, string, sys
from dataclasses import dataclass
from datetime import datetime
from typing import Dict, List, Optional
print(sum(range(100)))
"""
NUMPY = "import numpy as np\nprint(int(np.arange(10).sum()))"
FORKER = """
import importlib, os, sys, time
for name in filter(None, sys.argv[1].split(",")):
    importlib.import_module(name)
def fork():
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return time.perf_counter() - begun
for line in sys.stdin:
    word, number = line.split()
    if word == "times":
        print(*(fork() for _ in range(int(number))), flush=True)
    else:
        end, count = time.perf_counter() + float(number), 0
        while time.perf_counter() < end:
            fork()
            count += 1
        print(count, flush=True)
"""


class Forker:
    """A fresh interpreter that forks on demand."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", FORKER, ",".join(modules)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: str) -> None:
        """``times N``: N forks, each with its seconds. ``rate S``: how many there were in S seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()

    def answer(self) -> list[float]:
        """The numbers that were asked for."""
        assert self._process.stdout is not None
        return [float(word) for word in self._process.stdout.readline().split()]

    def close(self) -> None:
        """Ends it."""
        self._process.communicate()


@contextlib.contextmanager
def forkers(*modules: tuple[str, ...]) -> Iterator[list[Forker]]:
    """One for each set of modules."""
    made = [Forker(names) for names in modules]
    try:
        yield made
    finally:
        for forker in made:
            forker.close()


def timed(work: Callable[..., Any], *arguments: Any) -> float:
    """Seconds that a call takes."""
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun


def line(name: str, figure: str, ratio: float, aim: str) -> None:
    """One row of what is printed."""
    print(f"  {name:<44} {figure:<34} {ratio:6.2f}x   aim {aim}")


def single(isolation: str, rounds: int) -> None:
    """One program after the other, against forks."""
    times: dict[str, list[float]] = {"run": [], "fork": [], "bare": []}
    with Sandbox(isolation, workers=1) as sandbox, forkers(COMMON, ()) as (common, bare):
        sandbox.run(TRIVIAL)
        for _ in range(rounds):
            for name, forker in (("fork", common), ("bare", bare)):
                forker.ask(f"times {BATCH}")
                times[name] += forker.answer()
            times["run"] += [timed(sandbox.run, TRIVIAL) for _ in range(BATCH)]
    run, fork, nothing = (statistics.median(times[name]) * 1000 for name in ("run", "fork", "bare"))
    line("single run / fork with the same modules", f"{run:.2f} ms / {fork:.2f} ms", run / fork, "at most 2")
    line("single run / fork of a bare interpreter", f"{run:.2f} ms / {nothing:.2f} ms", run / nothing, "none")


def throughput(isolation: str, rounds: int) -> None:
    """Programs a second on two processors, against forks on as many."""
    programs: list[float] = []
    forks: list[float] = []
    with Sandbox(isolation, workers=2) as sandbox, forkers(COMMON, COMMON) as both:
        list(sandbox.map([TRIVIAL] * 20))
        for _ in range(rounds):
            for forker in both:
                forker.ask(f"rate {SECONDS}")
            forks.append(sum(forker.answer()[0] for forker in both) / SECONDS)
            end, count = time.perf_counter() + SECONDS, 0
            begun = time.perf_counter()
            for _done in sandbox.map(_until(end)):
                count += 1
            programs.append(count / (time.perf_counter() - begun))
    ours, theirs = statistics.median(programs), statistics.median(forks)
    ratio = statistics.median(a / b for a, b in zip(programs, forks, strict=True))
    line(
        "programs a second / forks a second, 2 at once", f"{ours:,.0f} / {theirs:,.0f}", ratio, "at least 0.5"
    )


def _until(end: float) -> Iterator[str]:
    while time.perf_counter() < end:
        yield TRIVIAL


def fresh_interpreter(program: str) -> None:
    """Runs it as people do."""
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


def cold(isolation: str, rounds: int) -> None:
    """A program in the sandbox, against ``python -c``."""
    with Sandbox(isolation, workers=1) as plain, Sandbox(isolation, workers=1, preload=("numpy",)) as numpy:
        for name, program, sandbox, aim in (
            ("trivial", TRIVIAL, plain, 4),
            ("with imports", IMPORTS, plain, 6),
            ("with numpy", NUMPY, numpy, 15),
        ):
            expected = sandbox.run(program)
            assert expected.ok, expected
            runs: list[float] = []
            colds: list[float] = []
            for _ in range(rounds):
                colds.append(timed(fresh_interpreter, program))
                runs += [timed(sandbox.run, program) for _ in range(5)]
            run, apart = statistics.median(runs) * 1000, statistics.median(colds) * 1000
            line(f"python -c / run, {name}", f"{apart:.1f} ms / {run:.2f} ms", apart / run, f"at least {aim}")


def calls(isolation: str, rounds: int) -> None:
    """Tests that call a function, twenty to a batch."""
    tests = [CallTest("double", [n], expected=2 * n) for n in range(BATCH)]
    times: list[float] = []
    with Sandbox(isolation, workers=1) as sandbox:
        for _ in range(rounds * 3):
            begun = time.perf_counter()
            results = sandbox.run_tests("def double(x):\n    return 2 * x\n", tests)
            times.append((time.perf_counter() - begun) / BATCH)
            assert all(result.passed for result in results)
    each = statistics.median(times[2:]) * 1000
    line("call tests, ms each in batches of 20", f"{each:.3f} ms", each, "at most 0.2 ms")


def as_calls(test: str, entry_point: str) -> dict[str, Any] | None:
    """The asserts ``candidate(…) == literal`` of a test in the form of APPS; None where there is anything else."""
    inputs: list[Any] = []
    outputs: list[Any] = []
    for node in ast.walk(ast.parse(test)):
        if not isinstance(node, ast.Assert):
            continue
        try:
            assert isinstance(node.test, ast.Compare)
            assert isinstance(node.test.left, ast.Call)
            assert isinstance(node.test.ops[0], ast.Eq)
            assert not node.test.left.keywords
            given = [ast.literal_eval(argument) for argument in node.test.left.args]
            expected = ast.literal_eval(node.test.comparators[0])
            # What JSON changes would be another test there.
            assert json.loads(json.dumps([given, expected])) == [given, expected]
        except (AssertionError, TypeError, ValueError):
            return None
        inputs.append("\n".join(map(json.dumps, given)))
        outputs.append(json.dumps(expected))
    return {"fn_name": entry_point, "inputs": inputs, "outputs": outputs} if inputs else None


def harness(isolation: str, _rounds: int) -> None:
    """Real completions, judged here and by others."""
    folder = os.environ.get("GUERDON_DATA")
    if not folder:
        print("  the harnesses of others: GUERDON_DATA does not name the shared data")
        return
    rows = [json.loads(text) for text in (Path(folder) / "code_mbpp_dev.jsonl").read_text().splitlines()]
    chosen = [(row, tests) for row in rows if (tests := as_calls(row["test"], row["entry_point"]))]
    cases = "".join(json.dumps({"program": row["response"], "tests": tests}) + "\n" for row, tests in chosen)
    print(f"  {len(chosen)} of {len(rows)} completions have tests that are plain calls")
    for name, peer in (("reward-kit", "reward_kit"), ("verl", "verl")):
        python = python_of(peer)
        done = subprocess.run(
            [str(python), str(HERE / "harness_load.py"), name],
            input=cases, env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the harness of {name} failed:\n{done.stderr[-2000:]}")
        said = json.loads(done.stdout.splitlines()[-1])
        seconds, right = ours(isolation, chosen)
        theirs = said["seconds"] / len(chosen) * 1000
        each = seconds / len(chosen) * 1000
        agree = sum(a == row["label"] for a, (row, _) in zip(said["passed"], chosen, strict=True))
        figure = f"{theirs:.1f} ms / {each:.2f} ms"
        line(f"{name} / run_tests, one after the other", figure, theirs / each, "at least 8")
        print(f"    verdicts that equal the label: {name} {agree}, ours {right}, of {len(chosen)}")


def ours(isolation: str, chosen: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[float, int]:
    """Seconds for all of them, and how many verdicts equal the label."""
    right = 0
    with Sandbox(isolation, workers=1) as sandbox:
        sandbox.run(TRIVIAL)
        begun = time.perf_counter()
        for row, tests in chosen:
            asked = [
                CallTest(
                    row["entry_point"],
                    [json.loads(text) for text in given.split("\n") if text],
                    expected=json.loads(want),
                )
                for given, want in zip(tests["inputs"], tests["outputs"], strict=True)
            ]
            results = sandbox.run_tests(row["response"], asked)
            right += all(result.passed for result in results) == row["label"]
        return time.perf_counter() - begun, right


def assertions(isolation: str, _rounds: int) -> None:
    """The same completions with the tests as they are, in two processes."""
    folder = os.environ.get("GUERDON_DATA")
    if not folder:
        return
    rows = [json.loads(text) for text in (Path(folder) / "code_mbpp_dev.jsonl").read_text().splitlines()]
    with Sandbox(isolation, workers=1) as sandbox:
        sandbox.run(TRIVIAL)
        begun = time.perf_counter()
        for row in rows:
            sandbox.run_tests(row["response"], [AssertTest(row["test"], row["entry_point"])])
        each = (time.perf_counter() - begun) / len(rows) * 1000
    print(f"  all {len(rows)} completions with their assert tests: {each:.2f} ms each")


PARTS = {
    "fork": single,
    "throughput": throughput,
    "cold": cold,
    "calls": calls,
    "harness": harness,
    "assertions": assertions,
}


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    given = parser.parse_args()
    asked = given.only.split(",")
    if unknown := [part for part in asked if part not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    with Sandbox(given.isolation) as sandbox:
        print(
            f"guerdon {guerdon.__version__}, Python {platform.python_version()}, {os.cpu_count()} processors, "
            f"load {os.getloadavg()[0]:.1f}, tier {sandbox.tier}"
        )
    for part in asked:
        PARTS[part](given.isolation, given.rounds)


if __name__ == "__main__":
    main()
