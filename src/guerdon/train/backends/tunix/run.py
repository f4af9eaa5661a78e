"""TunixRun: one training run with Tunix."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from guerdon.train.backend import TrainingContext, TrainingInterrupted
from guerdon.train.backends.base import BackendRun
from guerdon.train.backends.tunix.checkpoint import save
from guerdon.train.backends.tunix.cluster import ClusterSettings, build_cluster, learning_rate, push_weights
from guerdon.train.backends.tunix.learner import build_learner
from guerdon.train.backends.tunix.model import source_of
from guerdon.train.data.problem import Problem
from guerdon.trainers.adapter import Adapter
from guerdon.trainers.tunix import TunixReward
from guerdon.types import EvaluateResult

_PROBLEM = "problem"


class TunixRun(BackendRun):
    """A run that is checked. Tunix counts from where this process starts; the run's own steps count through."""

    reward_class: ClassVar[type[Adapter]] = TunixReward
    reward: TunixReward

    def __init__(self, context: TrainingContext) -> None:
        super().__init__(context)
        self._source = source_of(self.config)
        self._texts = {id(problem): self._source.text(problem.prompt) for problem in self.problems}
        # Tunix generates from one token less than the limit at most.
        self.check_lengths(lambda problem: self._source.count(self._texts[id(problem)]), spare=1)
        self._updates = 0
        self._cluster: Any = None
        self._learner: Any = None

    @property
    def done(self) -> int:
        """See BackendRun."""
        return self.first + self._updates // self.config.grpo.num_iterations

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """See BackendRun."""
        if not self.config.debug:  # Tunix advises on TPUs
            from absl import logging

            logging.set_verbosity(logging.ERROR)
        yield

    def build(self) -> None:
        """See BackendRun."""
        self._cluster = build_cluster(
            ClusterSettings(
                config=self.config,
                source=self._source,
                total=self.total,
                first=self.first,
                checkpoint=self.context.resume_from,
                on_update=self._updated,
                on_tokens=self.context.monitor.tokens,
                step=lambda: self.done,
            )
        )
        self._learner = build_learner(self._cluster, self.config, self._reward_function())

    def run(self) -> None:
        """See BackendRun."""
        try:
            self._learner.train(self._batches())
        finally:
            self._learner.executor.shutdown(wait=False, cancel_futures=True)

    def numbers(
        self, problems: Sequence[Problem], results: Sequence[EvaluateResult]
    ) -> Sequence[float | None]:
        """See BackendRun."""
        return self.reward.numbers(results, [str(problem.id) for problem in problems])

    def complete(self, problems: Sequence[Problem]) -> Sequence[str]:
        """See BackendRun."""
        from tunix.rl import rl_cluster

        if self._learner.should_sync_weights:  # on a mesh of its own the sampler has weights of its own
            push_weights(self._cluster)
        size = self.config.training.micro_batch_size
        texts = [self._texts[id(problem)] for problem in problems]
        # The last batch is filled up, so that the sampler is compiled once.
        padded = [*texts, *[texts[-1]] * (-len(texts) % size)]
        output = self._cluster.generate(padded, mode=rl_cluster.Mode.EVAL, micro_batch_size=size)
        completions: Sequence[str] = output.text[: len(problems)]
        return completions

    def figures(self) -> Mapping[str, float]:
        """Tunix's figures of the last update, which it writes to its own log one step later."""
        updates = self.first * self.config.grpo.num_iterations + self._updates
        figures = {"learning_rate": float(learning_rate(self.config, self.total)(max(updates - 1, 0)))}
        buffered = getattr(self._cluster.actor_trainer, "_prev_buffered_train_metrics", None)
        if buffered is not None:
            figures["loss"] = float(buffered.loss)
            for name, (values, combine) in buffered.additional_metrics.items():
                figures[name] = float(combine([float(value) for value in values]))
        return figures

    def _reward_function(self) -> Any:
        """The reward as Tunix calls it."""

        def reward(prompts: Any, completions: Any, **columns: Any) -> Sequence[float | None]:
            del prompts
            problems = [self.context.train[int(place)] for place in columns[_PROBLEM]]
            return self.score(problems, completions, step=self.done)

        reward.__name__ = self.reward.__name__
        return reward

    def _batches(self) -> Iterator[Mapping[str, Any]]:
        """The prompts of each step, and by their numbers all else: so no column's name can clash with Tunix's."""
        import numpy

        for step in range(self.first, self.total):
            places = self.sampler.batch(step)
            texts = [self._texts[id(self.context.train[place])] for place in places]
            yield {"prompts": numpy.array(texts), _PROBLEM: numpy.array(places)}

    def _updated(self) -> None:
        """The last update of a step ends it."""
        self._updates += 1
        if self._updates % self.config.grpo.num_iterations:
            return
        step = self.done
        end = self.end_step(step)
        if end.save:
            trainer = self._cluster.actor_trainer
            path = save(self.context.folder, step, trainer.model, trainer.optimizer)
            self.checkpoint_saved(step, path)
            if end.stop:
                raise TrainingInterrupted(step, path)
