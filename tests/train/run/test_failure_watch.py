"""A run whose reward fails on every sample ends after its first steps, and goes on once the reward works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon.train.backends import registry
from guerdon.train.config.compose import compose
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import RunManifest
from guerdon.train.run.prepare import prepare, prepare_resume
from guerdon.train.run.runner import AllFailedError, execute
from support.train_work import Chronicle

FAILS = """
def right(response, ground_truth, step):
    if response and step in ({good}):
        return float(len(response))
    raise ValueError("cannot parse")
"""


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project where the backend ``parrot`` can be had, whose first step is its step 1."""
    monkeypatch.setattr(
        registry, "BACKENDS", {**registry.BACKENDS, "parrot": "support.train_work:ParrotBackend"}
    )
    return here


def run(place: Path, *overrides: str, good: str = "") -> Any:
    (place / "mine.py").write_text(FAILS.format(good=good), encoding="utf-8")
    return prepare(
        compose(
            [
                *("backend=parrot", "training.data_source=arithmetic", "training.reward_workers=0"),
                *("training.reward_function=mine.py::right", "training.tensorboard=false"),
                *("training.num_batches=6", "training.save_interval_steps=2", "run_dir=run"),
                *overrides,
            ]
        )
    )


def steps_of(chronicle: Chronicle) -> list[int]:
    return [told[1] for told in chronicle.told if told[0] == "step"]


@pytest.mark.parametrize(
    ("batches", "good", "done", "says"),
    [
        (6, "", [1, 2, 3], r"^all 3 samples of steps 1 to 3 failed with exception: ValueError: cannot parse"),
        (1, "", [1], r"^the only sample of step 1 failed with exception"),
        (2, "", [1, 2], r"^all 2 samples of steps 1 to 2 failed with exception"),
        (6, "3,", [1, 2, 3, 4, 5, 6], None),
        (6, "1,", [1, 2, 3, 4, 5, 6], None),
    ],
)
def test_a_run_ends_after_three_steps_without_a_score(
    place: Path, batches: int, good: str, done: list[int], says: str | None
) -> None:
    chronicle = Chronicle()
    prepared = run(place, f"training.num_batches={batches}", "training.save_interval_steps=7", good=good)
    if says is None:
        execute(prepared, chronicle)
    else:
        with pytest.raises(AllFailedError, match=says):
            execute(prepared, chronicle)
    assert steps_of(chronicle) == done
    assert chronicle.told[-1] == ("close",)
    manifest = RunManifest.read(RunFolder(Path("run")))
    assert manifest.state == ("finished" if says is None else "failed")


def test_without_a_checkpoint_the_run_begins_anew_with_the_mended_reward(place: Path) -> None:
    with pytest.raises(AllFailedError):
        execute(run(place, "training.save_interval_steps=7"))
    folder = RunFolder(Path("run"))
    assert folder.saved() == []
    assert len(folder.metrics.read_text(encoding="utf-8").splitlines()) == 3
    (place / "mine.py").write_text("def right(response): return 1.0\n", encoding="utf-8")
    again = prepare_resume(Path("run"))
    assert any(what.startswith("the reward is right@") for name, what in again.summary() if name == "note")
    assert execute(again).manifest.state == "finished"
    lines = [json.loads(line) for line in folder.metrics.read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert all("failed" not in line or not line["failed"] for line in lines)


def test_a_resumed_run_counts_from_where_it_goes_on(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        execute(run(place, "model.hidden_size=2", "training.num_batches=9", good="1, 2"), Chronicle())
    chronicle = Chronicle()
    with pytest.raises(AllFailedError, match="all 3 samples of steps 3 to 5 failed"):
        execute(prepare_resume(Path("run")), chronicle)
    assert steps_of(chronicle) == [3, 4, 5]
    assert [step for step, _ in RunFolder(Path("run")).saved()] == [2, 4]


@pytest.mark.torch
@pytest.mark.slow(seconds=12)
def test_a_tiny_model_stops_and_its_run_can_be_gone_on_with(place: Path) -> None:
    tiny = ("+experiment=quick_test", "backend=trl", "debug=false", "training.save_interval_steps=7")
    with pytest.raises(AllFailedError, match="all 24 samples of steps 1 to 3 failed"):
        execute(run(place, *tiny))
    folder = RunFolder(Path("run"))
    assert folder.samples.with_suffix(".parquet").is_file()
    (place / "mine.py").write_text("def right(response): return float(len(response) % 2)\n", encoding="utf-8")
    assert execute(prepare_resume(Path("run"))).manifest.state == "finished"
