"""One training run with Tunix: its cluster and learner, and what happens after each step."""

from __future__ import annotations

import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from guerdon.errors import InputError
from guerdon.train.backend import Problem, TrainingContext, TrainingInterrupted
from guerdon.train.backends.tunix.checkpoint import restore_model, restore_optimizer, save, step_of
from guerdon.train.backends.tunix.model import source_of
from guerdon.train.backends.tunix.rollout import rollout_class
from guerdon.train.data.sampler import BatchSampler, total_steps
from guerdon.trainers.columns import sample_of
from guerdon.trainers.tunix import TunixReward

_SHOWN = 8
_PROBLEM = "problem"


class TunixRun:
    """A run that is checked. Tunix counts from where this process starts; the run's own steps count through."""

    def __init__(self, context: TrainingContext) -> None:
        self._context, config = context, context.config
        if not context.train:
            raise InputError("there is no problem to learn from")
        self._source = source_of(config)
        self._texts = {id(p): self._source.text(p.prompt) for p in (*context.train, *context.test)}
        self._refuse_long_prompts()
        self._sampler = BatchSampler(
            len(context.train), batch=config.training.micro_batch_size, seed=config.seed
        )
        self._total = total_steps(config, len(context.train))
        self._first = step_of(context.resume_from) if context.resume_from is not None else 0
        """Steps that were done before this process."""
        self._updates = 0
        self._apart = False
        """Whether the sampler has weights of its own, as it has on a mesh of its own."""
        self._stop = threading.Event()
        self._started = 0.0
        training = config.training
        self._reward = TunixReward(
            context.reward,
            on_failure=training.on_failure,
            timeout=training.reward_timeout,
            workers=training.reward_workers,
            concurrency=training.reward_concurrency,
            observe=context.monitor.scored,
        )

    @property
    def done(self) -> int:
        """Steps that are done."""
        return self._first + self._updates // self._context.config.grpo.num_iterations

    def train(self) -> None:
        """Do the steps that are left. Raises TrainingInterrupted after Ctrl-C, when the checkpoint is saved."""
        _quiet(self._context.config.debug)
        if self._first:
            self._context.monitor.resume(self._first)
        if self.done >= self._total:
            return
        cluster = self._cluster()
        learner = self._learner(cluster)
        self._apart = bool(learner.should_sync_weights)
        with _interruptions(self._stop.set):
            self._started = time.perf_counter()
            try:
                learner.train(self._batches())
            finally:
                learner.executor.shutdown(wait=False, cancel_futures=True)
                self._reward.close()

    # What Tunix is given.

    def _cluster(self) -> Any:
        import optax
        from tunix.rl import rl_cluster

        config, run = self._context.config, self
        model = self._source.model()
        if self._context.resume_from is not None:
            restore_model(self._context.resume_from, model)
        roles = rl_cluster.Role
        batch = config.training.micro_batch_size
        left = self._total - self._first

        class Cluster(rl_cluster.RLCluster):  # type: ignore[misc]
            """Tunix's cluster, which says when an update was made."""

            def update_actor(self, *given: Any, **more: Any) -> None:
                super().update_actor(*given, **more)
                run._updated(self)

        optimizer = optax.chain(
            optax.clip_by_global_norm(config.optimizer.max_grad_norm),
            optax.adamw(
                self._rate(),
                b1=config.optimizer.beta1,
                b2=config.optimizer.beta2,
                weight_decay=config.optimizer.weight_decay,
            ),
        )
        cluster = Cluster(
            actor=model,
            reference=self._source.model() if config.grpo.beta else None,
            tokenizer=self._source.tokenizer,
            cluster_config=rl_cluster.ClusterConfig(
                role_to_mesh=dict.fromkeys((roles.ACTOR, roles.REFERENCE, roles.ROLLOUT), self._source.mesh),
                rollout_engine=functools.partial(
                    rollout_class(),
                    seed=config.seed,
                    read=self._source.read,
                    step=lambda: run.done,
                    generated=self._context.monitor.tokens,
                ),
                training_config=rl_cluster.RLTrainingConfig(
                    actor_optimizer=optimizer,
                    eval_every_n_steps=left + 1,
                    max_steps=left * config.grpo.num_iterations,
                    mini_batch_size=batch,
                    train_micro_batch_size=batch,
                ),
                rollout_config=self._rollouts(rl_cluster.Mode),
            ),
        )
        # Tunix draws a bar of its own where it knows the number of steps.
        cluster.actor_trainer.config.max_steps = None
        if self._context.resume_from is not None:
            restore_optimizer(self._context.resume_from, cluster.actor_trainer.optimizer)
        return cluster

    def _rollouts(self, mode: Any) -> Mapping[Any, Any]:
        from tunix.rl.rollout.base_rollout import RolloutConfig

        asked = self._context.config.generation
        common: dict[str, Any] = {
            "max_tokens_to_generate": asked.max_generation_steps,
            "max_prompt_length": asked.max_prompt_length,
            "kv_cache_size": asked.max_prompt_length + asked.max_generation_steps,
            "eos_tokens": asked.eos_tokens,
        }
        top_k = asked.top_k if asked.top_k and asked.top_k > 0 else None
        drawn = RolloutConfig(temperature=asked.temperature, top_p=asked.top_p, top_k=top_k, **common)
        return {mode.TRAIN: drawn, mode.EVAL: RolloutConfig(temperature=0.0, top_p=None, **common)}

    def _rate(self) -> Callable[[Any], Any]:
        """The learning rate by the number of updates: a linear warm-up, then a cosine decay to 0."""
        import optax

        config = self._context.config
        updates = self._total * config.grpo.num_iterations
        warm = round(config.scheduler.warmup_steps_ratio * updates)
        return optax.schedules.warmup_cosine_decay_schedule(  # type: ignore[no-any-return]
            init_value=0.0 if warm else config.optimizer.learning_rate,
            peak_value=config.optimizer.learning_rate,
            warmup_steps=warm,
            decay_steps=max(round(config.scheduler.decay_steps_ratio * updates), warm + 1),
        )

    def _learner(self, cluster: Any) -> Any:
        from tunix.rl.grpo import dapo_learner, drgrpo_learner, grpo_learner

        asked, algorithm = self._context.config.grpo, self._context.config.algorithm
        common: dict[str, Any] = {
            "num_generations": asked.num_generations,
            "num_iterations": asked.num_iterations,
            "epsilon": asked.epsilon,
            # Half the squared log-ratio, whose gradient on the policy's own samples is that of the reverse KL
            # divergence, as TRL has it with its correction. That of Tunix's usual estimate is 0 on average, and that
            # of the low-variance one is the forward divergence's, which keeps a policy noisy.
            "kl_loss_mode": "mse_kl",
        }
        if algorithm == "dapo":
            config = dapo_learner.DAPOConfig(**common, overlong_buffer=None)
            # Tunix asks for a reference model, which it does not use, unless this is 0.
            config.beta = 0.0
            made = dapo_learner.DAPOLearner
        elif algorithm == "dr_grpo":
            config = drgrpo_learner.DrGRPOConfig(**common, beta=asked.beta)
            made = drgrpo_learner.DrGRPOLearner
        else:
            of_rloo = {"advantage_estimator": "rloo", "loss_agg_mode": "seq-mean-token-sum"}
            config = grpo_learner.GRPOConfig(
                **common, beta=asked.beta, **(of_rloo if algorithm == "rloo" else {})
            )
            made = grpo_learner.GRPOLearner

        def reward(prompts: Any, completions: Any, **columns: Any) -> list[float]:
            del prompts
            problems = [self._context.train[int(place)] for place in columns[_PROBLEM]]
            return self._score(problems, completions)

        reward.__name__ = self._reward.__name__
        return made(rl_cluster=cluster, algo_config=config, reward_fns=[reward])

    def _batches(self) -> Iterator[Mapping[str, Any]]:
        """The prompts of each step, and by their numbers all else: so no column's name can clash with Tunix's."""
        import numpy

        for step in range(self._first, self._total):
            places = self._sampler.batch(step)
            texts = [self._texts[id(self._context.train[place])] for place in places]
            yield {"prompts": numpy.array(texts), _PROBLEM: numpy.array(places)}

    def _score(
        self, problems: Sequence[Problem], completions: Sequence[str], mode: str = "train"
    ) -> list[float]:
        samples = [
            sample_of(problem.prompt, completion, {"id": problem.id, **problem.columns})
            for problem, completion in zip(problems, completions, strict=True)
        ]
        results = self._reward.results(samples, step=self.done, mode=mode)
        return self._reward.numbers(results, [str(problem.id) for problem in problems])

    def _refuse_long_prompts(self) -> None:
        limit = self._context.config.generation.max_prompt_length
        lengths = {
            str(p.id): count
            for p in (*self._context.train, *self._context.test)
            if (count := self._source.count(self._texts[id(p)])) >= limit
        }
        if lengths:
            shown = ", ".join(list(lengths)[:_SHOWN]) + (", …" if len(lengths) > _SHOWN else "")
            raise InputError(
                f"generation.max_prompt_length is {limit}, but {len(lengths)} prompts are as long or longer "
                f"({shown}); the longest has {max(lengths.values())} tokens, so {max(lengths.values()) + 1} would do"
            )

    # What happens after an update.

    def _updated(self, cluster: Any) -> None:
        self._updates += 1
        if self._updates % self._context.config.grpo.num_iterations:
            return
        step, training = self.done, self._context.config.training
        seconds = time.perf_counter() - self._started
        last = step >= self._total
        if last or (training.eval_every_n_steps and step % training.eval_every_n_steps == 0):
            self._evaluate(cluster)
        self._context.monitor.step(step, seconds, self._figures(cluster))
        stopping = self._stop.is_set() and not last
        if last or stopping or (training.save_interval_steps and step % training.save_interval_steps == 0):
            path = self._save(cluster, step)
            if stopping:
                raise TrainingInterrupted(step, path)
        self._started = time.perf_counter()

    def _save(self, cluster: Any, step: int) -> Path:
        trainer = cluster.actor_trainer
        keep = self._context.config.training.max_checkpoints_to_keep
        path = save(self._context.folder, step, trainer.model, trainer.optimizer, keep)
        self._context.monitor.checkpoint(step, path)
        return path

    def _evaluate(self, cluster: Any) -> None:
        """Greedy completions of the held-out problems, scored."""
        from tunix.rl import rl_cluster

        training = self._context.config.training
        size = training.micro_batch_size
        problems = list(self._context.test)
        if training.num_test_batches is not None:
            problems = problems[: training.num_test_batches * size]
        if not problems:
            return
        if self._apart:
            self._sync(cluster)
        texts = [self._texts[id(problem)] for problem in problems]
        # The last batch is filled up, so that the sampler is compiled once.
        padded = [*texts, *[texts[-1]] * (-len(texts) % size)]
        output = cluster.generate(padded, mode=rl_cluster.Mode.EVAL, micro_batch_size=size)
        self._score(problems, output.text[: len(problems)], mode="eval")

    def _sync(self, cluster: Any) -> None:
        """Give the sampler the weights of the update that was just made."""
        from flax import nnx
        from tunix.sft.utils import is_lora_enabled

        model = cluster.actor_trainer.model
        kinds = (nnx.LoRAParam,) if is_lora_enabled(model) else (nnx.Param,)
        cluster.rollout.update_params(nnx.state(model, kinds), kinds)

    def _figures(self, cluster: Any) -> dict[str, float]:
        """Tunix's figures of the last update, which it writes to its own log one step later."""
        figures = {"learning_rate": float(self._rate()(max(self._first_update() - 1, 0)))}
        buffered = getattr(cluster.actor_trainer, "_prev_buffered_train_metrics", None)
        if buffered is not None:
            figures["loss"] = float(buffered.loss)
            for name, (values, combine) in buffered.additional_metrics.items():
                figures[name] = float(combine([float(value) for value in values]))
        return figures

    def _first_update(self) -> int:
        return self._first * self._context.config.grpo.num_iterations + self._updates


class _interruptions:  # noqa: N801 - used like a function
    """While it lasts, the first Ctrl-C asks for an end after the step, the second ends at once."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask = ask
        self._before: Any = None
        self._here = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._here:
            self._before = signal.signal(signal.SIGINT, self._first)

    def _first(self, number: int, frame: FrameType | None) -> None:
        self._ask()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *exception: object) -> None:
        if self._here:
            signal.signal(signal.SIGINT, self._before)


def _quiet(debug: bool) -> None:
    """Leave Tunix's advice for TPUs out of the terminal."""
    if not debug:
        from absl import logging

        logging.set_verbosity(logging.ERROR)
