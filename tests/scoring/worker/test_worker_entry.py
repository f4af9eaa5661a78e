"""A worker process: it loads and prepares its reward, and keeps what that does to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError, RewardError
from support.scoring_work import SCRIPT, rows


def _needs_a_model(model: str) -> None:
    if model != "there":
        raise InputError(f"there is no model {model}")
    os.environ["PREPARED"] = model


def test_a_reward_prepares_itself_in_its_workers() -> None:
    @guerdon.reward_function(prepare=_needs_a_model)
    def reward(response: str, *, model: str) -> float:
        return float(os.environ["PREPARED"] == model)

    assert guerdon.score(reward, ["a", "b"], workers=1, model="there").scores == [1.0, 1.0]
    assert "PREPARED" not in os.environ
    with pytest.raises(InputError, match="there is no model lost"):
        guerdon.score(reward, ["a", "b"], workers=1, model="lost")
    composed = reward.__class__(reward, model="lost") + guerdon.reward_function(lambda response: 1.0)
    with pytest.raises(InputError, match="there is no model lost"):
        guerdon.score(composed, ["a"], workers=1)


def test_the_memory_that_a_worker_begins_with_is_its_own() -> None:
    """What its parent once had would let it grow by as much beyond its limit."""
    code = "from guerdon.scoring.worker.connection import resident_bytes; print(resident_bytes())"
    large = bytearray(1) * (300 << 20)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < len(large)


def test_what_a_reward_prints_stays_off_standard_output(tmp_path: Path) -> None:
    code = SCRIPT.replace("    return", "    print('seen'); return")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True
    )
    assert done.stdout == "True\n"
    assert done.stderr.count("seen") == 30


def test_a_reward_that_does_not_load_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "picky.py"
    file.write_text(
        "import sys\nif 'pytest' not in sys.modules:\n    raise RuntimeError('only in tests')\n"
        "def reward(response):\n    return 1.0\n"
    )
    with pytest.raises(RewardError, match="does not load in a worker: RuntimeError: only in tests"):
        guerdon.score(f"{file}::reward", rows(2))


def test_a_child_that_a_reward_forks_and_forgets_scores_nothing() -> None:
    def reward(response: str) -> float:
        if response == "5":
            os.fork()
        return float(response)

    assert guerdon.score(reward, rows(300), workers=1, timeout=5).scores == [float(i) for i in range(300)]


class _Unreadable:
    """Pickles, and cannot be made anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("x",)


async def _one(response: str) -> float:
    return 1.0


@pytest.mark.parametrize("reward", [lambda response: 1.0, _one])
def test_a_row_that_no_worker_can_read_fails_alone(reward: Any) -> None:
    scores = guerdon.score(reward, [*rows(3), *rows(1, x=_Unreadable())], timeout=5)
    failed = dict(scores.failures())
    assert list(failed) == [3]
    assert "cannot be read in a worker: ValueError" in (failed[3].error or "")
