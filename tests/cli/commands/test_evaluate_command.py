"""``guerdon evaluate`` on the command line, with a backend that needs no model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from guerdon.train.backends import registry

Run = Callable[..., Result]
REWARD = """
def right(response, ground_truth):
    return float(response == f"={ground_truth}.")
"""
FAILS = """
def right(response, ground_truth):
    raise ValueError("nothing is right")
"""


@pytest.fixture
def run(guerdon: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run, whose reward ``mine.py`` holds."""
    monkeypatch.setattr(
        registry, "BACKENDS", {**registry.BACKENDS, "parrot": "support.train_work:ParrotBackend"}
    )
    (work / "mine.py").write_text(REWARD, encoding="utf-8")
    trained = guerdon(
        *("train", "backend=parrot", "training.data_source=arithmetic", "training.num_batches=4"),
        *("training.reward_function=mine.py::right", "training.reward_workers=0"),
        *("training.save_interval_steps=2", "training.tensorboard=false", "run_dir=run"),
    )
    assert trained.exit_code == 0, trained.stderr
    return work / "run"


def test_scored_answers_are_a_table_and_status_0(guerdon: Run, run: Path) -> None:
    result = guerdon("evaluate", "run")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("right ")
    assert json.loads(guerdon("evaluate", "run", "--json").stdout)["all_failed"] is None


def test_where_every_answer_fails_that_is_said_first_with_status_1(guerdon: Run, run: Path) -> None:
    (run.parent / "mine.py").write_text(FAILS, encoding="utf-8")
    result = guerdon("evaluate", "run", "--verbose")
    assert result.exit_code == 1
    said = "samples after training failed with exception: ValueError: nothing is right"
    assert said in result.stdout.splitlines()[0]
    told = guerdon("evaluate", "run", "--json", "-o", "e.json")
    assert told.exit_code == 1
    assert said in json.loads(told.stdout)["all_failed"]
    assert said in told.stderr
    assert said in json.loads((run.parent / "e.json").read_text(encoding="utf-8"))["all_failed"]
