"""Runs with TRL that take a moment: a context of a tiny model, and a monitor that keeps what it is told.

As a script, ``trl_work.py FOLDER STEP``, a run that kills its own process once a step is done.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.train.backend import Problem, TrainingContext
from guerdon.train.backends.trl.backend import TrlBackend
from guerdon.train.config.schema import Config
from guerdon.train.data.arithmetic import arithmetic, sums
from guerdon.train.records.folder import RunFolder
from guerdon.trainers.adapter import ScoredBatch


@dataclass
class Kept:
    """A monitor that keeps what it is told, and presses Ctrl-C or worse after a step."""

    signal_after: int | None = None
    signal_is: signal.Signals = signal.SIGINT
    batches: list[ScoredBatch] = field(default_factory=list)
    steps: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    checkpoints: list[tuple[int, Path]] = field(default_factory=list)
    resumed: list[int] = field(default_factory=list)
    generated: int = 0

    def scored(self, batch: ScoredBatch) -> None:
        self.batches.append(batch)

    def tokens(self, generated: int) -> None:
        self.generated += generated

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        assert seconds > 0
        self.steps.append((step, dict(logs)))
        if step == self.signal_after:
            os.kill(os.getpid(), self.signal_is)

    def checkpoint(self, step: int, path: Path) -> None:
        self.checkpoints.append((step, path))

    def resume(self, step: int) -> None:
        assert (self.steps, self.batches) == ([], []), "files go back before anything is added to them"
        self.resumed.append(step)

    def close(self) -> None:
        return

    def curve(self, after: int = 0) -> list[tuple[int, str, list[Any]]]:
        """All completions with their scores, of what was scored after a step."""
        return [
            (batch.step, batch.mode, [(s.response, r.score) for s, r in zip(batch.samples, batch.results)])  # noqa: B905
            for batch in self.batches
            if batch.step is not None and batch.step >= after + (batch.mode == "eval")
        ]

    def figures(self, after: int = 0) -> list[tuple[int, dict[str, float]]]:
        """The trainer's figures of the steps after one."""
        return [(step, logs) for step, logs in self.steps if step > after]


def small_config(**changes: Any) -> Config:
    """Six steps of four prompts with four responses each; keys with dots are changed."""
    config = Config(seed=7, algorithm="dr_grpo")
    config.optimizer.learning_rate = 3e-3
    config.grpo.num_generations = 4
    config.generation.max_generation_steps = 4
    config.generation.max_prompt_length = 16
    config.training.data_source = "arithmetic"
    config.training.micro_batch_size = 4
    config.training.num_batches = 6
    config.training.save_interval_steps = 2
    config.training.eval_every_n_steps = 3
    config.training.reward_workers = 0
    for key, value in changes.items():
        part: Any = config
        *groups, last = key.split(".")
        for group in groups:
            part = getattr(part, group)
        setattr(part, last, value)
    return config


def problems(config: Config) -> tuple[list[Problem], list[Problem]]:
    """Sums to learn from, and six held out."""
    made = arithmetic()
    random.Random(config.seed).shuffle(made)
    return made[6:], made[:6]


def context_of(config: Config, folder: Path, monitor: Kept, **changes: Any) -> TrainingContext:
    """A context in a folder; ``resume_from``, ``reward`` and ``train`` can be given."""
    train, test = problems(config)
    given: dict[str, Any] = {"reward": sums, "train": train, "test": test, "resume_from": None, **changes}
    return TrainingContext(config=config, folder=RunFolder(folder), monitor=monitor, **given)


def do(config: Config, folder: Path, monitor: Kept | None = None, **changes: Any) -> Kept:
    """Train, and give the monitor."""
    monitor = monitor or Kept()
    TrlBackend().train(context_of(config, folder, monitor, **changes))
    return monitor


if __name__ == "__main__":
    do(small_config(), Path(sys.argv[1]), Kept(int(sys.argv[2]), signal.SIGKILL))
