"""BackendRun: what a training run does with every trainer; a backend adds the trainer."""

from __future__ import annotations

import contextlib
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from guerdon.console.working import Working
from guerdon.errors import InputError
from guerdon.train.backend import TrainingContext, TrainingInterrupted
from guerdon.train.backends.interrupts import InterruptHandler
from guerdon.train.data.problem import Problem
from guerdon.train.data.sampler import BatchSampler, total_steps
from guerdon.train.records.folder import step_of_checkpoint
from guerdon.trainers.adapter import Adapter
from guerdon.trainers.columns import sample_of
from guerdon.types import EvaluateResult

_LISTED = 8
"""Problems that a message names."""


class StepEnd(NamedTuple):
    """What a trainer does after a step."""

    save: bool
    stop: bool


class BackendRun(ABC):
    """One run of a backend: its steps, evaluations and checkpoints, and how it ends.

    A subclass loads its model in ``build`` and trains in ``run``. After each step it calls ``end_step``, and
    ``checkpoint_saved`` for each checkpoint. Raises InputError where there is nothing to learn from.
    """

    reward_class: ClassVar[type[Adapter]]
    """The adapter that turns verdicts into the numbers that the trainer takes."""

    def __init__(self, context: TrainingContext) -> None:
        if not context.train:
            raise InputError("there are no problems to train on")
        self.context, self.config, training = context, context.config, context.config.training
        self.total = total_steps(self.config, len(context.train))
        """Steps of the whole run, those before a resume included."""
        self.saved: tuple[int, Path] | None = None
        """The latest checkpoint with its step."""
        if context.resume_from is not None:
            self.saved = step_of_checkpoint(context.resume_from), context.resume_from
        self.first = 0 if self.saved is None else self.saved[0]
        """Steps that were done before this process."""
        self.sampler = BatchSampler(
            len(context.train), batch=training.micro_batch_size, seed=self.config.seed
        )
        self.reward = self.reward_class(
            context.reward,
            on_failure=training.on_failure,
            timeout=training.reward_timeout,
            workers=training.reward_workers,
            concurrency=training.reward_concurrency,
            observe=context.monitor.scored,
        )
        self._interrupts = InterruptHandler()
        self._step_started = 0.0
        self._first_step = Working("generating and scoring the first responses")

    # What a backend implements.

    @property
    @abstractmethod
    def done(self) -> int:
        """Steps that are done, those before a resume included."""

    @abstractmethod
    def build(self) -> None:
        """Load the model, check the prompts and make the trainer; Ctrl-C ends this at once."""

    @abstractmethod
    def run(self) -> None:
        """Train until all steps are done, or one whose ``StepEnd`` says to stop."""

    @abstractmethod
    def numbers(
        self, problems: Sequence[Problem], results: Sequence[EvaluateResult]
    ) -> Sequence[float | None]:
        """The numbers that the trainer learns from."""

    @abstractmethod
    def complete(self, problems: Sequence[Problem]) -> Sequence[Any]:
        """Greedy completions of held-out problems by the model as it is now."""

    @abstractmethod
    def figures(self) -> Mapping[str, float]:
        """The trainer's figures of the step that ended."""

    def environment(self) -> contextlib.AbstractContextManager[object]:
        """What surrounds the whole run, such as silenced loggers."""
        return contextlib.nullcontext()

    # What every run does.

    @property
    def problems(self) -> list[Problem]:
        """All problems, those held out included."""
        return [*self.context.train, *self.context.test]

    def train(self) -> None:
        """Do the steps that are left. Raises TrainingInterrupted after Ctrl-C, once the checkpoint is saved."""
        if self.first >= self.total:
            return
        try:
            with self.environment():
                with Working(f"loading the model {self.config.model.path or self.config.model.model_family}"):
                    self.build()
                with self._interrupts:
                    self._step_started = time.perf_counter()
                    self._first_step.start()
                    self.run()
        finally:
            self._first_step.stop()
            self.reward.close()
        if self.done < self.total and self.saved is not None:
            raise TrainingInterrupted(*self.saved)

    def score(
        self, problems: Sequence[Problem], completions: Sequence[Any], *, step: int, mode: str = "train"
    ) -> Sequence[float | None]:
        """Score a completion of each problem, for the trainer; the monitor sees the verdicts."""
        samples = [
            sample_of(problem.prompt, completion, {"id": problem.id, **problem.columns})
            for problem, completion in zip(problems, completions, strict=True)
        ]
        return self.numbers(problems, self.reward.results(samples, step=step, mode=mode))

    def check_lengths(self, count: Callable[[Problem], int], *, spare: int = 0) -> None:
        """Raise InputError for prompts whose tokens, and ``spare`` more, exceed the limit."""
        limit = self.config.generation.max_prompt_length
        counts = ((str(problem.id), count(problem) + spare) for problem in self.problems)
        long = {name: tokens for name, tokens in counts if tokens > limit}
        if long:
            names = ", ".join(list(long)[:_LISTED]) + (", …" if len(long) > _LISTED else "")
            raise InputError(
                f"{len(long)} prompts do not fit into generation.max_prompt_length={limit} ({names}); "
                f"set it to {max(long.values())} or more"
            )

    def end_step(self, step: int) -> StepEnd:
        """Evaluate where that is due and report the step. Says whether to save a checkpoint, and to stop."""
        self._first_step.stop()
        seconds, training = time.perf_counter() - self._step_started, self.config.training
        last = step >= self.total
        if last or (training.eval_every_n_steps and step % training.eval_every_n_steps == 0):
            self._evaluate(step)
        self.context.monitor.step(step, seconds, self.figures())
        stop = self._interrupts.requested and not last
        due = bool(training.save_interval_steps) and step % training.save_interval_steps == 0
        self._step_started = time.perf_counter()
        return StepEnd(save=last or stop or due, stop=stop)

    def _evaluate(self, step: int) -> None:
        training, problems = self.config.training, list(self.context.test)
        if training.num_test_batches is not None:
            problems = problems[: training.num_test_batches * training.micro_batch_size]
        if problems:
            self.score(problems, self.complete(problems), step=step, mode="eval")

    def checkpoint_saved(self, step: int, path: Path) -> None:
        """Report a complete checkpoint and delete the oldest ones."""
        self.saved = (step, path)
        for _, old in self.context.folder.saved()[: -self.config.training.max_checkpoints_to_keep]:
            shutil.rmtree(old)
        self.context.monitor.checkpoint(step, path)
        self._step_started = time.perf_counter()
