"""What a type checker says of a user's file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import guerdon

GOOD = """
from collections.abc import Coroutine
from typing import Any, assert_type

from guerdon import EvaluateResult, MetricResult, RewardFunction, Sample, clip, reward_function, score


@reward_function
def brief(response: str) -> float:
    return 1.0


@reward_function(name="says", timeout=2)
def says(response: str, answer: str | None = None) -> EvaluateResult:
    return EvaluateResult(1, "said", {"found": MetricResult(1, True), "words": 3})


@reward_function
async def late(response: str) -> bool:
    return True


@reward_function(mode="batch")
def many(completions: list[str]) -> list[float]:
    return [1.0 for _ in completions]


assert_type(brief("x"), EvaluateResult)
assert_type(says(response="x").score, float | None)
awaited: Coroutine[Any, Any, EvaluateResult] = late("x")
whole: RewardFunction = clip(0.7 * brief + 0.3 * says - late, 0, 1)
rewards: list[RewardFunction] = [brief, late, many, whole]
sample = Sample(messages=[{"role": "user", "content": "x"}])
for result in score(whole, [sample, "text"]):
    assert_type(result, EvaluateResult)
"""


@pytest.mark.slow(seconds=15)  # runs mypy, which comes with the extra lint
def test_a_typed_file_of_a_user_passes_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "wrong.py").write_text(
        GOOD + 'brief("x").scores\nlate("x").score\nreward_function(timeouts=3)\n'
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(guerdon.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-untyped-imports", "good.py", "wrong.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": paths},
        capture_output=True,
        text=True,
    )
    found = [line.rpartition("[")[2] for line in done.stdout.splitlines() if ": error: " in line]
    assert found == ["attr-defined]", "attr-defined]", "call-overload]"], done.stdout + done.stderr
