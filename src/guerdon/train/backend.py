"""Backend: the interface between a run and the trainer that does it, and what the two exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.train.config.config_errors import nearest
from guerdon.train.config.schema import Config
from guerdon.train.config.validation import check
from guerdon.train.data.problem import Problem, Prompt
from guerdon.train.records.folder import RunFolder
from guerdon.trainers.adapter import ScoredBatch


class Monitor(Protocol):
    """Receives the events of a run. A backend calls it from the thread that trains."""

    def scored(self, batch: ScoredBatch) -> None:
        """A batch of completions was scored, in training or on held-out problems."""

    def tokens(self, generated: int) -> None:
        """``generated`` tokens were sampled since the last step."""

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        """A training step ended; ``logs`` has the trainer's figures, such as ``loss``, ``kl``, ``learning_rate``."""

    def checkpoint(self, step: int, path: Path) -> None:
        """A checkpoint is complete: everything reported so far must now survive the process."""

    def resume(self, step: int) -> None:
        """The run continues after this step: drop what was reported of later ones. The runner calls it."""

    def close(self) -> None:
        """The run has ended, with or without an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingContext:
    """All that a backend gets: a run that is checked and ready to start."""

    config: Config
    reward: RewardFunction
    train: Sequence[Problem]
    test: Sequence[Problem]
    folder: RunFolder
    monitor: Monitor
    resume_from: Path | None = None
    """The checkpoint to continue from; the monitor is already back at its step."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run after its checkpoint was saved."""

    def __init__(self, step: int, checkpoint: Path) -> None:
        super().__init__(f"interrupted after step {step}")
        self.step, self.checkpoint = step, checkpoint


class Policy(ABC):
    """A model that answers prompts, for evaluation."""

    @abstractmethod
    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        temperature: float,
        top_p: float,
        top_k: int | None,
        max_new_tokens: int,
        seed: int,
    ) -> list[str]:
        """One completion a prompt, in order; greedy where ``temperature`` is 0, the same for the same seed."""

    def close(self) -> None:
        """Let the model go."""
        return


class Backend(ABC):
    """A trainer that can do a run."""

    name: ClassVar[str]
    algorithms: ClassVar[tuple[str, ...]]

    def check(self, config: Config) -> None:
        """Raise what is wrong with a configuration: MissingExtraError, or InputError that names the key."""
        check(config)
        if config.algorithm not in self.algorithms:
            hint = nearest(config.algorithm, self.algorithms)
            raise InputError(f"backend={self.name} has no algorithm={config.algorithm}{hint}")
        self.check_support(config)

    @abstractmethod
    def check_support(self, config: Config) -> None:
        """Raise, as ``check`` does, for what only this backend cannot do here."""

    @abstractmethod
    def train(self, context: TrainingContext) -> None:
        """Train, from ``context.resume_from`` if it is set; the same seed gives the same curve.

        Saves checkpoints in ``context.folder.checkpoints`` and reports to ``context.monitor``. Raises
        TrainingInterrupted after Ctrl-C, once a checkpoint is saved.
        """

    @abstractmethod
    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        """The model of a checkpoint; without one, as it is before training."""
