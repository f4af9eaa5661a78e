"""What a backend is given, and what it has to offer: the seam between a run and the trainers that do it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from guerdon.reward.function import RewardFunction
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder
from guerdon.trainers.adapter import ScoredBatch

Prompt = str | list[dict[str, Any]]
"""A plain prompt, or the messages of a conversation."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One prompt to learn from, with what the reward needs to know of it."""

    id: str | int
    prompt: Prompt
    columns: Mapping[str, Any] = field(default_factory=dict)
    """``ground_truth``, ``answer`` and every other column."""


class Monitor(Protocol):
    """What is told of a run while it goes on. Called from the thread that trains."""

    def scored(self, batch: ScoredBatch) -> None:
        """A batch of completions was scored, in training or on held-out problems."""

    def tokens(self, generated: int) -> None:
        """So many tokens were generated since the last step."""

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        """A training step ended; ``logs`` has the trainer's figures, such as ``loss``, ``kl``, ``learning_rate``."""

    def checkpoint(self, step: int, path: Path) -> None:
        """A checkpoint is complete: whatever was told before must now survive the process."""

    def resume(self, step: int) -> None:
        """The run goes on from the checkpoint of this step: what was told after it is forgotten."""

    def close(self) -> None:
        """The run is over, in whatever way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingContext:
    """A run that is checked and ready to start."""

    config: Config
    reward: RewardFunction
    train: Sequence[Problem]
    test: Sequence[Problem]
    folder: RunFolder
    monitor: Monitor
    resume_from: Path | None = None
    """The checkpoint to go on from."""


class TrainingInterrupted(KeyboardInterrupt):
    """A run was ended by Ctrl-C after its checkpoint was saved."""

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

    @abstractmethod
    def check(self, config: Config) -> None:
        """Raise what speaks against this configuration: MissingExtraError, or InputError that names the key."""

    @abstractmethod
    def train(self, context: TrainingContext) -> None:
        """Train, from ``context.resume_from`` if it is set; the same seed gives the same curve.

        Saves checkpoints in ``context.folder.checkpoints`` and reports to ``context.monitor``. Raises
        TrainingInterrupted after Ctrl-C, once a checkpoint is saved.
        """

    @abstractmethod
    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        """The model of a checkpoint; without one, as it is before training."""
