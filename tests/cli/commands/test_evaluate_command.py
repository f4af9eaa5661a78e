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


def test_code_that_a_folder_from_elsewhere_names_is_loaded_only_when_asked(guerdon: Run, run: Path) -> None:
    """A copy with its seal is one's own; one whose configuration was changed, or without a seal, is not."""
    mark = f"import pathlib\npathlib.Path({str(run.parent / 'ran')!r}).touch()\n"
    (run.parent / "evil.py").write_text(mark + REWARD, encoding="utf-8")
    config = run / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("mine.py", "evil.py"), encoding="utf-8")
    for sealed in (True, False):
        if not sealed:
            (run / ".seal").unlink()
        for args in (("evaluate", "run"), ("train", "--resume", "run")):
            manifest = run / "run.json"
            manifest.write_text(manifest.read_text().replace('"finished"', '"interrupted"'))
            result = guerdon(*args)
            assert result.exit_code == 2
            assert result.stderr.count("\n") == 1
            assert "evil.py::right; look at its config.yaml, then give --trust" in result.stderr
    assert not (run.parent / "ran").exists()
    assert guerdon("evaluate", "run", "--reward", "mine.py::right").exit_code == 0
    assert not (run.parent / "ran").exists()
    assert guerdon("evaluate", "run", "--trust").exit_code == 0
    assert (run.parent / "ran").exists()


def test_a_bare_name_of_the_catalogue_is_no_code_of_a_folder(guerdon: Run, run: Path) -> None:
    config = run / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("mine.py::right", "math"), encoding="utf-8")
    assert guerdon("evaluate", "run").exit_code == 0


def test_only_its_user_can_make_a_seal(guerdon: Run, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(run.parent / "another"))
    assert guerdon("evaluate", "run").exit_code == 2
    (run.parent / "another" / "guerdon").mkdir(parents=True)
    (run.parent / "another" / "guerdon" / "key").write_bytes(b"short")
    assert guerdon("evaluate", "run").exit_code == 2
