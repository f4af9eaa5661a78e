"""Versions: equal in every process and pickle, different where rewards differ."""

from __future__ import annotations

import datetime
import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from pydantic import BaseModel

from guerdon import RewardFunction, clip, gate, get_reward_function, normalize, weighted
from guerdon.reward.loading.modules import load_file
from guerdon.reward.versioning.fingerprint import fingerprint
from support.versioned_source import BASE, count

PRINT = """
if __name__ == "__main__":
    import guerdon
    print([guerdon.RewardFunction(f).version for f in (evaluate, closed, Fields, CHECKER.check)])
"""


def run(folder: Path, *arguments: str, seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout


def test_the_same_in_every_process_in_main_and_imported(tmp_path: Path) -> None:
    (tmp_path / "reward.py").write_text(BASE + PRINT, encoding="utf-8")
    module = load_file(tmp_path / "reward.py")
    functions = (module.evaluate, module.closed, module.Fields, module.CHECKER.check)
    here = str([RewardFunction(f).version for f in functions]) + "\n"
    assert run(tmp_path, "reward.py", seed="1") == here
    code = PRINT.replace('__name__ == "__main__"', "True")
    assert run(tmp_path, "-c", f"from reward import *\n{code}", seed="2") == here
    # Code without source: what is left to compare are its constants and instructions.
    text = f"exec(compile({BASE!r} + {PRINT!r}, 'nowhere', 'exec'))"
    first, second = (run(tmp_path, "-c", text, seed=seed) for seed in "34")
    assert first == second


class Shape(BaseModel):
    sides: int = 3


class Counter:
    def __init__(self, step: int, _hidden: int = 0) -> None:
        self.step, self._hidden = step, _hidden

    def __call__(self, response: str) -> float:
        return len(response) * self.step - self._hidden


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (b"a", "a"),
        ([1, 2], [2, 1]),
        ([1], [1, None]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({1, 2}, {1, 3}),
        (re.compile("a"), re.compile("a", re.I)),
        (Decimal("0.1"), Decimal("0.2")),
        (Fraction(1, 2), Fraction(1, 3)),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
        (bytearray(b"a"), bytearray(b"b")),
        (Path("a"), Path("b")),
        (Shape(), Shape(sides=4)),
        (Shape(), Counter(3)),
        (Counter(1), Counter(2)),
        (Counter(1, 1), Counter(1, 2)),
        (float("nan"), float("inf")),
        (0.0, -0.0),
        (functools.partial(count, step=1), functools.partial(count, step=2)),
        (lambda text: len(text), lambda text: -len(text)),
        (len, abs),
        (RewardFunction(count), RewardFunction(count, step=2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_parameter_counts(first: Any, second: Any) -> None:
    assert fingerprint(first) != fingerprint(second)
    assert RewardFunction(count, step=first).version != RewardFunction(count, step=second).version


A, B = RewardFunction(count, name="a"), RewardFunction(Counter(2), name="b")


REWARDS: list[Callable[[], RewardFunction]] = [
    lambda: A,
    lambda: B,
    lambda: RewardFunction(count, step=2),
    lambda: RewardFunction(Counter, step=2),
    lambda: A + B,
    lambda: A + B + 1,
    lambda: A - B,
    lambda: A * B,
    lambda: weighted([A, B], weights=[0.5, 0.5]),
    lambda: weighted([A, B], weights=[0.5, 0.5], on_failure="skip"),
    lambda: weighted([A, B.with_name("c")], weights=[0.5, 0.5]),
    lambda: weighted([A, RewardFunction(Counter(3), name="b")], weights=[0.5, 0.5]),
    lambda: clip(A, 0, 1),
    lambda: clip(A, 0, 2),
    lambda: clip(A, 0),
    lambda: normalize(A),
    lambda: normalize(A, std=0.3),
    lambda: gate(A, B),
    lambda: gate(B, A),
    lambda: gate(A, B, threshold=0.6),
]


def test_rewards_that_differ_have_different_versions() -> None:
    versions = []
    for build in REWARDS:
        reward = build()
        assert re.fullmatch("[0-9a-f]{12}", reward.version)
        assert reward.version == build().version == reward.with_name("other").version
        versions.append(reward.version)
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    "reward",
    [
        RewardFunction(count),
        RewardFunction(count, step=2).with_name("twice"),
        RewardFunction(Counter, step=2),
        RewardFunction(Counter(2)),
        RewardFunction(functools.partial(count, step=3)),
        0.5 * RewardFunction(count) + 0.25 * RewardFunction(Counter(2)),
        clip(RewardFunction(count), 0, 2),
        get_reward_function("test_version:count"),
        get_reward_function("length", maximum=2),
        0.5 * get_reward_function("keywords", required="abc") + 0.5 * get_reward_function("length"),
    ],
    ids=str,
)
def test_a_pickle_keeps_version_name_and_score(reward: RewardFunction) -> None:
    for dumps in (pickle.dumps, cloudpickle.dumps):
        back = pickle.loads(dumps(reward))
        assert (back.version, back.name, back) == (reward.version, reward.name, reward)
        assert back(response="abc").score == reward(response="abc").score


def test_a_closure_travels_with_its_version() -> None:
    step = 3
    reward = RewardFunction(lambda response: len(response) * step)
    code = "import pickle, sys; r = pickle.load(sys.stdin.buffer); print(r.version, r(response='ab').score)"
    done = subprocess.run([sys.executable, "-c", code], input=cloudpickle.dumps(reward), capture_output=True)
    assert done.stdout.decode().split() == [reward.version, "6.0"]


def test_a_schema_of_metadata_counts() -> None:
    from guerdon import reward_function

    class Other(BaseModel):
        sides: int = 4

    versions = {reward_function(metadata_schema=schema)(count).version for schema in (Shape, Other)}
    assert len({*versions, RewardFunction(count).version}) == 3


def test_a_script_s_reward_goes_to_the_processes_of_a_pool(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import multiprocessing
import pickle
import sys
import cloudpickle
from guerdon import reward_function

@reward_function
def size(response):
    return len(response)

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.apply(0.5 * size, ("abcd",)).score)
    assert pickle.loads(pickle.dumps(size)) is pickle.loads(pickle._dumps(size)) is size
    assert cloudpickle.loads(cloudpickle.dumps(size)) is not size
""")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("2.0\n2.0\n", "")
