"""What every backend's run does: its cadences, evaluations, checkpoints and ends, without a model."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from guerdon import RewardFunction
from guerdon.errors import InputError
from guerdon.train.backend import TrainingContext, TrainingInterrupted
from guerdon.train.backends.base import BackendRun
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Problem
from guerdon.train.records.folder import RunFolder
from guerdon.trainers.adapter import Adapter
from guerdon.types import EvaluateResult
from support.train_work import Chronicle


def right(response: str, ground_truth: str) -> float:
    return float(response == ground_truth)


class EchoRun(BackendRun):
    """Answers each problem of a step with its prompt; ``interrupt_at`` presses Ctrl-C in a step."""

    reward_class: ClassVar[type[Adapter]] = Adapter
    interrupt_at: int | None = None

    def __init__(self, context: TrainingContext) -> None:
        super().__init__(context)
        self._done = self.first

    @property
    def done(self) -> int:
        return self._done

    def build(self) -> None:
        self.check_lengths(lambda problem: len(str(problem.prompt)), spare=1)

    def run(self) -> None:
        while self._done < self.total:
            problems = [self.context.train[place] for place in self.sampler.batch(self._done)]
            self.score(problems, [problem.prompt for problem in problems], step=self._done)
            self._done += 1
            if self._done == self.interrupt_at:
                os.kill(os.getpid(), signal.SIGINT)
            end = self.end_step(self._done)
            if end.save:
                path = self.context.folder.checkpoint(self._done)
                path.mkdir(parents=True)
                self.checkpoint_saved(self._done, path)
            if end.stop:
                return

    def numbers(
        self, problems: Sequence[Problem], results: Sequence[EvaluateResult]
    ) -> Sequence[float | None]:
        return [result.score for result in results]

    def complete(self, problems: Sequence[Problem]) -> Sequence[Any]:
        return [problem.columns["ground_truth"] for problem in problems]

    def figures(self) -> Mapping[str, float]:
        return {}


def context(folder: Path, **changes: Any) -> TrainingContext:
    """Five steps of two of four problems; two held-out problems."""
    config = Config(seed=1)
    config.training.micro_batch_size, config.training.num_batches = 2, 5
    config.training.save_interval_steps, config.training.eval_every_n_steps = 2, 3
    config.training.reward_workers, config.generation.max_prompt_length = 0, 8
    for key, value in changes.pop("training", {}).items():
        setattr(config.training, key, value)
    given: dict[str, Any] = {
        "reward": RewardFunction(right),
        "train": [Problem(n, str(n), {"ground_truth": str(n)}) for n in range(4)],
        "test": [Problem(f"held-{n}", "?", {"ground_truth": "!"}) for n in range(2)],
        "monitor": Chronicle(),
        **changes,
    }
    return TrainingContext(config=config, folder=RunFolder(folder), **given)


def events(run: EchoRun) -> list[tuple[Any, ...]]:
    """What the monitor was told, the scores of training left out: those are all 1."""
    chronicle = run.context.monitor
    assert isinstance(chronicle, Chronicle)
    return [event for event in chronicle.told if event[0] != "scored"]


def evaluated(run: EchoRun) -> list[int]:
    """The steps that scored the held-out problems, which the run answers before it counts on."""
    chronicle = run.context.monitor
    assert isinstance(chronicle, Chronicle)
    scored = [event[1] for event in chronicle.told if event[0] == "scored"]
    trained = list(range(run.first, run.done))
    for step in trained:
        scored.remove(step)
    return scored


@pytest.mark.parametrize(
    ("training", "checkpoints", "evaluations"),
    [
        ({}, [2, 4, 5], [3, 5]),
        ({"save_interval_steps": 5}, [5], [3, 5]),
        ({"eval_every_n_steps": 0}, [2, 4, 5], [5]),
        ({"num_test_batches": 0}, [2, 4, 5], []),
        ({"max_checkpoints_to_keep": 1}, [2, 4, 5], [3, 5]),
    ],
)
def test_cadences(
    training: dict[str, Any], checkpoints: list[int], evaluations: list[int], tmp_path: Path
) -> None:
    run = EchoRun(context(tmp_path, training=training))
    run.train()
    assert [step for kind, step in events(run) if kind == "step"] == [1, 2, 3, 4, 5]
    assert [step for kind, step in events(run) if kind == "checkpoint"] == checkpoints
    assert evaluated(run) == evaluations
    kept = training.get("max_checkpoints_to_keep", 3)
    assert [step for step, _ in run.context.folder.saved()] == checkpoints[-kept:]


def test_ctrl_c_saves_the_step_and_a_resumed_run_does_the_rest(tmp_path: Path) -> None:
    run = EchoRun(context(tmp_path))
    run.interrupt_at = 3
    with pytest.raises(TrainingInterrupted) as raised:
        run.train()
    assert (raised.value.step, raised.value.checkpoint.name) == (3, "step-000003")
    rest = EchoRun(context(tmp_path, resume_from=raised.value.checkpoint))
    rest.train()
    assert events(rest) == [("step", 4), ("checkpoint", 4), ("step", 5), ("checkpoint", 5)]


def test_ctrl_c_in_the_last_step_changes_nothing(tmp_path: Path) -> None:
    run = EchoRun(context(tmp_path))
    run.interrupt_at = 5
    run.train()
    assert run.done == 5


def test_a_complete_run_has_no_steps_left(tmp_path: Path) -> None:
    run = EchoRun(context(tmp_path, resume_from=tmp_path / "checkpoints" / "step-000005"))
    run.train()
    assert events(run) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"train": []}, "no problems to train on"),
        ({"resume_from": Path("latest")}, "latest is not the checkpoint of a run"),
        (
            {"train": [Problem("long", "12345678"), Problem("fits", "1234567")]},
            r"1 prompts do not fit into generation.max_prompt_length=8 \(long\); set it to 9 or more",
        ),
    ],
)
def test_what_is_refused(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        EchoRun(context(tmp_path, **changes)).train()
