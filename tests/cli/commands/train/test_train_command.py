"""``guerdon train`` on the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from guerdon.cli.app import app
from guerdon.cli.commands.train import sweep
from guerdon.cli.commands.train.train import CONF, group_options
from guerdon.train.backends import registry
from guerdon.train.config.compose import options, read
from guerdon.train.config.project import Project

REWARD = """
def right(response, ground_truth):
    print("a word from the reward")
    return float(response == f"={ground_truth}.")

def needs(response, level):
    return 1.0
"""
PARROT = [
    "train", "backend=parrot", "training.data_source=arithmetic", "training.num_batches=4",
    "training.reward_function=mine.py::right", "training.reward_workers=0", "training.tensorboard=false",
]  # fmt: skip
Run = Callable[..., Result]


@pytest.fixture
def place(guerdon: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a reward, where the backend ``parrot`` can be had."""
    monkeypatch.setattr(
        registry, "BACKENDS", {**registry.BACKENDS, "parrot": "support.train_work:ParrotBackend"}
    )
    (work / "mine.py").write_text(REWARD, encoding="utf-8")
    return work


def test_help_names_every_group_and_option(guerdon: Run) -> None:
    said = guerdon("train", "--help").stdout
    for group, names in options().items():
        for name in names:
            assert f"{group}={name}" in said
    assert all(what for _, what in group_options(CONF))
    assert said == guerdon("train", "seed=1", "--help").stdout


def test_cfg_prints_the_resolved_configuration(guerdon: Run, place: Path) -> None:
    (place / "conf").mkdir()
    (place / "conf" / "config.yaml").write_text("project_name: mine\n", encoding="utf-8")
    result = guerdon("train", "+experiment=quick_test", "--cfg", "job", "seed=3")
    (place / "out.yaml").write_text(result.stdout, encoding="utf-8")
    config = read(place / "out.yaml")
    assert (config.project_name, config.seed, config.training.num_batches) == ("mine", 3, 10)
    assert guerdon("train", "+experiment=quick_test", "-c", "job", "seed=3").stdout == result.stdout
    assert list(place.glob("runs/*")) == []


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ["trainng.num_batches=1"],
            "there is no key trainng.num_batches; did you mean training.num_batches?",
        ),
        (["model=tinny"], "there is no model=tinny; did you mean tiny?"),
        (["seed=a"], "seed must be a whole number, not 'a'"),
        (["seed=1,2"], "--multirun"),
        (["-m", "seed=1,a"], "seed must be a whole number, not 'a'"),
        (["--frobnicate"], "No such option"),
        (["inspekt", "run"], "there is no command 'inspekt'; did you mean inspect?"),
        (["--cfg", "all"], "job"),
        (["--cfg", "job", "-m"], "--multirun and --cfg exclude each other"),
        (["--resume", "nowhere"], "nowhere is not the folder of a run"),
        (["--resume", "nowhere", "seed=1"], "leave out seed=1"),
        (["--resume", "nowhere", "-m"], "leave out --multirun"),
        (["--accept-changes"], "--accept-changes needs --resume RUN"),
        (["--config-dir", "nowhere"], "there is no folder nowhere"),
        (["--config-name", "nowhere"], "there is no nowhere.yaml in conf"),
        (["backend=parot"], "did you mean parrot?"),
        (["backend=parrot"], "there is no data to train on"),
        (["backend=parrot", "model.path=broken"], "model.path: broken cannot be loaded"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(guerdon: Run, place: Path, args: list[str], says: str) -> None:
    result = guerdon("train", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (place / "runs").exists() or list((place / "runs").iterdir()) == []


def test_rows_that_will_not_do_are_listed(guerdon: Run, place: Path) -> None:
    result = guerdon(*PARROT, "training.reward_function=mine.py::needs", "run_dir=run")
    assert result.exit_code == 2
    assert "50 of 50 rows are malformed" in result.stderr
    assert "needs 'level', which nothing supplies" in result.stderr
    assert len((place / "run" / "rejected.jsonl").read_text(encoding="utf-8").splitlines()) == 50


def test_a_run_says_what_it_does_and_where_it_lies(guerdon: Run, place: Path) -> None:
    result = guerdon(*PARROT, "run_dir=run")
    assert (result.exit_code, result.stdout) == (0, "")
    for line in (
        "backend  parrot, grpo",
        "model    tiny",
        "reward   right@",
        "data     arithmetic: 45 for training",
    ):
        assert line in result.stderr
    assert result.stderr.endswith("finished: run\n")
    steps = (place / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in steps] == [1, 2, 3, 4]


def test_a_dry_run_leaves_nothing(guerdon: Run, place: Path) -> None:
    result = guerdon(*PARROT, "--dry-run")
    assert result.exit_code == 0
    assert "reward   right@" in result.stderr
    assert list((place / "runs").iterdir()) == []


def test_after_ctrl_c_it_says_how_to_go_on(guerdon: Run, place: Path) -> None:
    result = guerdon(*PARROT, "model.hidden_size=2", "run_dir=a run")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "Interrupted after step 2; it is saved; continue with: guerdon train --resume 'a run'\n"
    )
    again = guerdon("train", "--resume", "a run")
    assert again.exit_code == 0, again.stderr
    assert re.findall(r"resumes +after step 2", again.stderr) == ["resumes  after step 2"]
    steps = (place / "a run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in steps] == [1, 2, 3, 4]


@pytest.mark.parametrize(("interval", "flag"), [(100, ""), (2, " --accept-changes")])
def test_a_run_whose_reward_always_fails_stops_with_the_reason(
    interval: int, flag: str, guerdon: Run, place: Path
) -> None:
    (place / "mine.py").write_text("def right(response): raise ValueError('broken')\n", encoding="utf-8")
    result = guerdon(*PARROT, "run_dir=a run", f"training.save_interval_steps={interval}")
    assert result.exit_code == 1
    reason, how = result.stderr.splitlines()[-2:]
    assert reason.startswith("Error: all 3 samples of steps 1 to 3 failed with exception: ValueError: broken")
    assert how.endswith(f"continue with: guerdon train --resume 'a run'{flag}")
    (place / "mine.py").write_text(REWARD, encoding="utf-8")
    again = guerdon("train", *shlex.split(how.partition("guerdon train ")[2]))
    assert again.exit_code == 0, again.stderr


def test_a_resumed_run_refuses_another_reward(guerdon: Run, place: Path) -> None:
    guerdon(*PARROT, "model.hidden_size=2", "run_dir=run")
    (place / "mine.py").write_text(REWARD.replace("=={", "== {").replace("}.", "}!"), encoding="utf-8")
    refused = guerdon("train", "--resume", "run")
    assert refused.exit_code == 2
    assert "continue nevertheless with --accept-changes" in refused.stderr
    assert guerdon("train", "--resume", "run", "--accept-changes").exit_code == 0


def in_this_process(arguments: object) -> int:
    return CliRunner().invoke(app, ["train", *arguments]).exit_code  # type: ignore[misc]


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize(
    ("overrides", "status", "states"),
    [
        (["seed=1,2", "grpo.beta=0.0,0.1"], 0, ["finished"] * 4),
        (["model.num_layers=2,13,3"], 1, ["finished", "failed", "finished"]),
        (["model.hidden_size=64,2,8"], 130, ["finished", "interrupted"]),
        (["model.path=broken", "seed=1,2"], 2, ["not started", "not started"]),
    ],
)
def test_several_runs_go_one_after_the_other(
    place: Path, capsys: pytest.CaptureFixture[str], overrides: list[str], status: int, states: list[str]
) -> None:
    given = [*PARROT[1:], *overrides, "run_dir=many"]
    assert sweep.sweep(given, Project(), in_this_process) == status
    outcomes = json.loads((place / "many" / "summary.json").read_text(encoding="utf-8"))
    assert [one["state"] for one in outcomes] == states
    assert [one["folder"] for one in outcomes] == [f"many/{number}" for number in range(len(states))]
    shown = capsys.readouterr()
    assert all(state in shown.out for state in states)
    assert ("; 1 not started" in shown.err) == (status == 130)
    for one in outcomes:
        if one["state"] == "finished":
            assert one["first"] is not None
            assert read(place / one["folder"] / "config.yaml").run_dir == one["folder"]


def test_a_sweep_wants_a_folder_of_its_own(guerdon: Run, place: Path) -> None:
    result = guerdon(*PARROT, "-m", "seed=1,2", "run_dir=.")
    assert result.exit_code == 2
    assert ". is not empty" in result.stderr


def test_each_run_of_a_sweep_has_a_process_of_its_own(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert sweep._in_a_process(["--cfg", "job", "project_name='a b'"]) == 0
    assert "project_name: a b" in capfd.readouterr().out
    assert sweep._in_a_process(["sead=1"]) == 2
