"""What a verdict costs: each entry of the catalogue, and math beside what people use now.

    python benchmarks/verifiers.py [--only entries,gsm8k,math] [--cases 3000]

All runs on one processor, in this process, one call after the other. ``entries`` times each reward on its table of
cases, those with a score and without the hostile ones. ``gsm8k`` and ``math`` need the shared data (``GUERDON_DATA``):
model solutions of GSM8K, and the gold answers of MATH in a sentence, each once as the answer to its own question and
once to the next one. There math-verify, TRL's accuracy_reward and reward-kit's math_reward are timed on the same
responses where they are installed, in turns, and each response is seen once, so that no cache helps; a ratio is one
of medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import guerdon
from guerdon import RewardFunction, Sample
from guerdon.testing.rows import chat_of

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the tables of cases are those of the tests

from support.catalogue import setting_of  # noqa: E402

CASES = HERE.parent / "tests" / "rewards" / "cases"
WARM = 20
"""Calls that are not counted: imports, compiled patterns."""
BLOCK = 50
"""Responses in one turn of a verifier, as many as a step of training has."""
SECONDS = 1.5
"""How long each entry is timed."""
LONGEST = 5_000
"""Characters of a response that is none of the hostile ones."""
P99_AIM_MS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A response with what is known of it."""

    question: str
    response: str
    gold: str
    right: bool
    sample: Sample
    """The same as rewards get it."""

    @classmethod
    def of(cls, question: str, response: str, gold: str, right: bool) -> Row:
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": response}]
        return cls(question, response, gold, right, Sample(messages=messages, ground_truth=gold))


Verdict = Callable[[Row], bool]


@dataclass(slots=True)
class Timed:
    """A verifier and what came of it."""

    name: str
    verdict: Verdict
    seconds: list[float] = field(default_factory=list)
    right: int = 0
    """Verdicts that equal the label."""
    raised: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def line(self) -> str:
        figures = line_of(self.seconds)
        said = f"{self.right:,} of {len(self.seconds):,} as the label"
        return (
            f"  {self.name:<28} {figures}   {said}{f', raised {self.raised:,} times' if self.raised else ''}"
        )

    def judge(self, row: Row) -> bool | None:
        """The verdict; None where it raises."""
        try:
            return self.verdict(row)
        except Exception:  # what another project's code does on a row is a figure and not the end of this
            self.raised += 1
            return None


def line_of(seconds: Sequence[float]) -> str:
    """Samples a second, and the times that half and 99 % of them took at most."""
    ordered = sorted(seconds)
    p50, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 for share in (0.5, 0.99))
    return f"{len(seconds) / sum(seconds):>9,.0f}/s   p50 {p50:>8.3f} ms   p99 {p99:>8.2f} ms"


# The catalogue


def entries(_count: int) -> None:
    """Every entry on its own cases."""
    print("each entry on its table of cases")
    for name in sorted(entry.name for entry in entry_points(group="guerdon.rewards")):
        table = CASES / f"{name}.jsonl"
        if not table.is_file():
            print(f"  {name:<28} has no table of cases")
            continue
        with tempfile.TemporaryDirectory() as folder, setting_of(name, Path(folder)) as setting:
            reward = guerdon.get_reward_function(name, **setting.parameters)
            seconds = timed_entry(reward, samples_of(table))
        print(f"  {name:<28} {line_of(seconds)}" if seconds else f"  {name:<28} has no cases with a score")


def samples_of(table: Path) -> list[Sample]:
    """The cases with a score whose responses are of a usual size."""
    rows = [json.loads(line) for line in table.read_text("utf-8").split("\n") if line]
    scored = [Sample.from_row(chat_of(row)) for row in rows if isinstance(row["expected"], int | float)]
    return [sample for sample in scored if len(sample.response) <= LONGEST]


def timed_entry(reward: RewardFunction, samples: Sequence[Sample]) -> list[float]:
    """Seconds of each call, for as long as it takes to know them."""
    if not samples:
        return []
    for sample in samples:
        reward.evaluate(sample)
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for sample in samples:
            begun = time.perf_counter()
            reward.evaluate(sample)
            seconds.append(time.perf_counter() - begun)
    return seconds


# Math beside others


def data() -> Path | None:
    """The folder of the shared data; None, and said so, where there is none."""
    folder = os.environ.get("GUERDON_DATA")
    if not folder:
        print("  GUERDON_DATA does not name the shared data")
    return Path(folder) if folder else None


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def gsm8k(count: int) -> None:
    """The solutions of models, to which there are labels."""
    print("math on GSM8K solutions")
    if (folder := data()) is not None:
        found = rows_in(folder / "gsm8k_model_solutions_dev.jsonl")
        rows = [Row.of(row["question"], row["response"], row["gold"], bool(row["label"])) for row in found]
        side_by_side(rows[:count], least=10)


def math(count: int) -> None:
    """Gold answers as answers: to their own question, and to the next one."""
    print("math on MATH golds")
    if (folder := data()) is not None:
        found = rows_in(folder / "math_test_golds_dev.jsonl")
        rows: list[Row] = []
        for row, other in zip(found, found[1:] + found[:1], strict=True):
            for said in (row, other):
                response = f"So the answer is $\\boxed{{{said['answer']}}}$."
                right = said is row or said["answer"] == row["answer"]
                rows.append(Row.of(row["question"], response, row["answer"], right))
        side_by_side(rows[:count], least=5)


def side_by_side(rows: Sequence[Row], least: float) -> None:
    """Times all on all rows, in turns."""
    verifiers = [Timed("guerdon math", ours()), *others()]
    # The seconds that imports take come to nobody, and no row of those that count is seen before.
    for verifier in verifiers:
        for row in rows[:WARM]:
            verifier.judge(row)
        verifier.raised = 0
    counted = rows[WARM:]
    for turn, start in enumerate(range(0, len(counted), BLOCK)):
        first = turn % len(verifiers)
        for verifier in verifiers[first:] + verifiers[:first]:
            for row in counted[start : start + BLOCK]:
                begun = time.perf_counter()
                verdict = verifier.judge(row)
                verifier.seconds.append(time.perf_counter() - begun)
                verifier.right += verdict is row.right
    mine, *rest = verifiers
    for verifier in verifiers:
        print(verifier.line())
    for verifier in rest:
        aim = f"at least {least:g}" if verifier.name.startswith("math-verify") else "none"
        ratio = verifier.median / mine.median
        print(f"  {verifier.name + ' / math, medians':<44} {ratio:6.1f}x   aim {aim}")
    p99 = sorted(mine.seconds)[int(0.99 * len(mine.seconds))] * 1000
    print(f"  {'p99 of math':<44} {p99:5.2f} ms   aim under {P99_AIM_MS} ms")


def ours() -> Verdict:
    reward = guerdon.get_reward_function("math")
    return lambda row: reward.evaluate(row.sample).score == 1.0


def others() -> list[Timed]:
    """Those that are installed; what is not is said."""
    found: list[Timed] = []
    for name, package, make in (
        ("math-verify", "math_verify", math_verify),
        ("trl", "trl", trl),
        ("reward-kit", "reward_kit", reward_kit),
    ):
        if importlib.util.find_spec(package) is None:
            print(f"  {name} is not installed")
            continue
        found.append(Timed(f"{name} {version(name)}", make()))
    return found


def math_verify() -> Verdict:
    from math_verify import parse, verify

    return lambda row: bool(verify(parse(f"${row.gold}$"), parse(row.response)))


def trl() -> Verdict:
    from trl.rewards import accuracy_reward

    def verdict(row: Row) -> bool:
        completion = [{"role": "assistant", "content": row.response}]
        return bool(accuracy_reward([completion], [f"${row.gold}$"])[0] == 1.0)

    return verdict


def reward_kit() -> Verdict:
    from reward_kit.rewards.math import math_reward

    def verdict(row: Row) -> bool:
        messages = [
            {"role": "user", "content": row.question},
            {"role": "assistant", "content": row.response},
        ]
        return bool(math_reward(messages=messages, ground_truth=row.gold).score == 1.0)

    return verdict


PARTS = {"entries": entries, "gsm8k": gsm8k, "math": math}


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--cases", type=int, default=3000, help="responses of a comparison at most")
    given = parser.parse_args()
    asked = given.only.split(",")
    if unknown := [part for part in asked if part not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(
        f"guerdon {guerdon.__version__}, Python {platform.python_version()}, one of {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for part in asked:
        PARTS[part](given.cases)


if __name__ == "__main__":
    main()
