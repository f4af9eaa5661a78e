"""Runs from their configuration to their end, with a backend that needs no model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guerdon.data import BadRowsError
from guerdon.errors import BindingError, InputError, ResumeError, RewardError
from guerdon.train.backend import TrainingInterrupted
from guerdon.train.backends import registry
from guerdon.train.config.compose import compose, read
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import RunManifest, locked
from guerdon.train.run.prepare import loaded, prepare, prepare_resume
from guerdon.train.run.runner import execute
from support.train_work import Chronicle

REWARD = """
def right(response, ground_truth):
    return float(response == f"={ground_truth}.")

def needs(response, level):
    return 1.0
"""
BASIC = [
    "backend=parrot",
    "training.data_source=arithmetic",
    "training.reward_function=mine.py::right",
    "training.reward_workers=0",
    "training.num_batches=6",
    "training.save_interval_steps=4",
    "run_dir=run",
]


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a reward, where the backend ``parrot`` can be had."""
    monkeypatch.setattr(
        registry, "BACKENDS", {**registry.BACKENDS, "parrot": "support.train_work:ParrotBackend"}
    )
    (here / "mine.py").write_text(REWARD, encoding="utf-8")
    return here


def configured(*overrides: str) -> Config:
    return compose([*BASIC, *overrides])


def test_a_run_leaves_all_that_made_it_in_its_folder(place: Path) -> None:
    chronicle = Chronicle()
    run = execute(prepare(configured("seed=7")), chronicle)
    assert [told[1] for told in chronicle.told if told[0] == "step"] == [1, 2, 3, 4, 5, 6]
    assert chronicle.told[-1] == ("close",)
    assert [step for step, _ in run.folder.saved()] == [4]
    assert read(run.folder.config) == replace(configured("seed=7"), run_dir="run")
    written = json.loads(run.folder.run.read_text(encoding="utf-8"))
    assert written["state"] == "finished"
    assert written["ended"] >= written["started"]
    assert (written["seed"], written["backend"], written["algorithm"]) == (7, "parrot", "grpo")
    assert written["reward"]["name"] == "right"
    assert len(written["reward"]["version"]) >= 8
    assert {name: written["data"][name] for name in ("source", "train", "test")} == {
        "source": "arithmetic", "train": 45, "test": 5,
    }  # fmt: skip
    assert {"numpy", "pydantic"} <= set(written["packages"])
    assert not (run.folder.path / ".lock").exists()


def test_the_same_configuration_scores_the_same(place: Path) -> None:
    told = []
    for name in ("one", "two"):
        chronicle = Chronicle()
        execute(prepare(configured(f"run_dir={name}")), chronicle)
        told.append([entry for entry in chronicle.told if entry[0] == "scored"])
    assert told[0] == told[1]
    assert len(told[0]) == 6


def test_the_summary_says_what_is_to_be_done(place: Path) -> None:
    prepared = prepare(configured("model.lora_rank=8", "wandb_disabled=true", "training.wandb_project=w"))
    summary = prepared.summary()
    said = dict(summary)
    assert said["backend"] == "parrot, grpo"
    assert said["model"] == "tiny, LoRA of rank 8"
    assert said["reward"].startswith("right@")
    assert said["data"] == "arithmetic: 45 for training, 5 held out"
    assert said["steps"] == "6 of 4 × 4"
    assert said["folder"] == "run"
    assert said["note"] == "wandb_disabled=true: nothing is sent to w"


def test_folders_of_runs_are_called_by_the_time(place: Path) -> None:
    config = replace(configured(), run_dir=None)
    folders = {prepare(config).folder.path for _ in range(3)}
    assert len(folders) == 3
    assert {path.parent for path in folders} == {Path("runs")}
    assert config.run_dir is None


@pytest.mark.parametrize(
    ("overrides", "error", "says"),
    [
        (["algorithm=dapo"], InputError, "backend=parrot has no algorithm=dapo; there are grpo, rloo"),
        (["backend=parot"], InputError, "there is no backend 'parot'; did you mean parrot?"),
        (["model.path=broken"], InputError, "broken cannot be loaded"),
        (["training.reward_function=mine.py::left"], RewardError, "there is no 'left' in mine.py::left"),
        (["training.reward_parameters={tolerance: 1}"], BindingError, "right has no parameter 'tolerance'"),
        (["training.reward_function=mine.py::needs"], BadRowsError, "50 of 50 rows are malformed"),
        (["training.reward_function=http://127.0.0.1:9/rewards/a"], RewardError, "cannot be reached"),
        (["run_dir=mine.py"], InputError, "cannot make the folder mine.py"),
        (["run_dir=."], InputError, ". is not empty"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    place: Path, overrides: list[str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        prepare(configured("training.reward_timeout=5", *overrides))
    assert says in str(caught.value)
    assert not (place / "run" / "run.json").exists()


def test_rejected_rows_lie_in_the_folder_and_are_gone_once_mended(place: Path) -> None:
    with pytest.raises(BadRowsError, match=r"run/rejected\.jsonl"):
        prepare(configured("training.reward_function=mine.py::needs"))
    listed = (place / "run" / "rejected.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(listed) == 50
    assert json.loads(listed[0])["row"] == {"id": "0+0", "prompt": "0+0", "ground_truth": "0"}
    prepare(configured())
    assert not (place / "run" / "rejected.jsonl").exists()


def test_a_folder_has_one_run(place: Path) -> None:
    execute(prepare(configured()), Chronicle())
    with pytest.raises(
        InputError, match=r"run already holds a run \(finished\); start a new one with run_dir="
    ):
        prepare(configured())
    with pytest.raises(InputError, match="run has finished"):
        prepare_resume(Path("run"))


def test_an_interrupted_run_goes_on_after_its_checkpoint(place: Path) -> None:
    with pytest.raises(TrainingInterrupted):
        execute(prepare(configured("model.hidden_size=3")), Chronicle())
    assert RunManifest.read(RunFolder(Path("run"))).state == "interrupted"
    with pytest.raises(InputError, match="continue it with: guerdon train --resume run"):
        prepare(configured())
    again, chronicle = prepare_resume(Path("run")), Chronicle()
    assert dict(again.summary())["resumes"] == "after step 3"
    run = execute(again, chronicle)
    assert chronicle.told[0] == ("resume", 3)
    assert [told[1] for told in chronicle.told if told[0] == "step"] == [4, 5, 6]
    assert run.manifest.state == "finished"
    assert [entry["after_step"] for entry in run.manifest.resumed] == [3]


def test_a_killed_run_goes_on_from_the_last_complete_checkpoint(place: Path) -> None:
    whole, killed, rest = Chronicle(), Chronicle(), Chronicle()
    execute(prepare(configured("run_dir=whole")), whole)
    execute(prepare(configured()), killed)
    manifest = RunManifest.read(RunFolder(Path("run")))
    manifest.state = "running"  # as SIGKILL leaves it, in the middle of a checkpoint
    manifest.write(RunFolder(Path("run")))
    (place / "run" / "checkpoints" / "step-000005.partial").mkdir()
    execute(prepare_resume(Path("run")), rest)

    def scores(chronicle: Chronicle) -> list[Any]:
        return [told for told in chronicle.told if told[0] == "scored"]

    assert scores(rest) == scores(whole)[4:]


def test_without_a_checkpoint_a_run_begins_anew(place: Path) -> None:
    with pytest.raises(RuntimeError, match="out of luck"):
        execute(prepare(configured("model.num_layers=13")), Chronicle())
    manifest = RunManifest.read(RunFolder(Path("run")))
    assert (manifest.state, manifest.error) == ("failed", "RuntimeError: out of luck")
    text = (place / "run" / "config.yaml").read_text(encoding="utf-8")
    (place / "run" / "config.yaml").write_text(
        text.replace("num_layers: 13", "num_layers: 1"), encoding="utf-8"
    )
    chronicle = Chronicle()
    run = execute(prepare_resume(Path("run")), chronicle)
    assert chronicle.told[0] == ("resume", 0)
    assert (run.manifest.state, run.manifest.error) == ("finished", None)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("f\"={ground_truth}.\"", "f\"={ground_truth}!\"", "the reward is right@"),
        ("num_test_batches: null", "num_test_batches: 1", "the data have changed (arithmetic)"),
    ],
)  # fmt: skip
def test_a_run_does_not_go_on_under_another_reward_or_with_other_data(
    place: Path, before: str, after: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TrainingInterrupted):
        execute(prepare(configured("model.hidden_size=3")), Chronicle())
    for name in ("mine.py", "run/config.yaml"):
        text = (place / name).read_text(encoding="utf-8")
        (place / name).write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ResumeError) as caught:
        prepare_resume(Path("run"))
    assert says in str(caught.value)
    assert "--accept-changes" in str(caught.value)
    loaded(RunFolder(Path("run")))
    assert says in caplog.text
    again = prepare_resume(Path("run"), accept_changes=True)
    assert any(says in what for name, what in again.summary() if name == "note")
    assert execute(again, Chronicle()).manifest.state == "finished"


def test_a_run_is_loaded_as_it_was(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(configured())
    execute(prepared, Chronicle())
    config, reward, problems = loaded(RunFolder(Path("run")))
    assert (config, reward, problems) == (prepared.config, prepared.reward, prepared.problems)
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    with pytest.raises(InputError, match=f"the run was started in {place}: go there first"):
        loaded(RunFolder(place / "run"))


def test_one_process_works_on_a_run(place: Path) -> None:
    prepared = prepare(configured())
    with (
        locked(prepared.folder),
        pytest.raises(InputError, match="another process is working on this run"),
    ):
        execute(prepared, Chronicle())
    assert not prepared.folder.run.exists()


def test_checkpoints_may_lie_elsewhere(place: Path) -> None:
    run = execute(prepare(configured("training.checkpoint_dir=big/disk")), Chronicle())
    assert (place / "big" / "disk" / "run" / "step-000004" / "state.json").is_file()
    assert [step for step, _ in run.folder.saved()] == [4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "is not the folder of a run"),
        ("{", "cannot be read"),
        ("[1]", "cannot be read"),
        ("{}", "cannot be read"),
    ],
)
def test_what_is_no_run(here: Path, text: str | None, says: str) -> None:
    if text is not None:
        (here / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        prepare_resume(here)
