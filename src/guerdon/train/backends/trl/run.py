"""TrlRun: one training run with TRL."""

from __future__ import annotations

import contextlib
import math
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.train.backend import TrainingContext
from guerdon.train.backends.base import BackendRun, StepEnd
from guerdon.train.backends.generation import chat_text, complete, end_tokens, generation_config
from guerdon.train.backends.trl.models import MADE, ModelAndTokenizer, first_model
from guerdon.train.backends.trl.quiet import quiet
from guerdon.train.backends.trl.settings import arguments, rate_factor
from guerdon.train.backends.trl.trainer import TrainerHooks, trainer_class
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Problem
from guerdon.trainers.adapter import Adapter
from guerdon.trainers.trl import TrlReward
from guerdon.types import EvaluateResult

_PARTIAL = ".partial"
_FIRST = "first-model"
_PROBLEM = "problem"
_LEFT_OUT = ("reward", "profiling/", "num_tokens", "epoch", "step_time", "frac_reward_zero_std")
"""Figures of TRL's that the monitor has under names of its own."""


class TrlRun(BackendRun):
    """A run that is checked. TRL counts updates; the run's steps are the batches of rollouts they learn from."""

    reward_class: ClassVar[type[Adapter]] = TrlReward

    def __init__(self, context: TrainingContext) -> None:
        super().__init__(context)
        self._per_step = self.config.grpo.num_iterations
        self._logs: dict[str, list[float]] = defaultdict(list)
        self._trainer: Any = None

    @property
    def done(self) -> int:
        """See BackendRun."""
        return int(self._trainer.state.global_step) // self._per_step

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """See BackendRun."""
        with quiet(self.config.debug), _threads(self.config):
            try:
                yield
            except RuntimeError as error:
                if type(error).__name__ == "OutOfMemoryError":
                    raise InputError(_too_large(error)) from error
                raise

    def build(self) -> None:
        """See BackendRun."""
        from transformers import set_seed

        config = self.config
        checkpoints = self.context.folder.checkpoints
        checkpoints.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(checkpoints / _PARTIAL, ignore_errors=True)
        loaded = first_model(config)
        self._check_prompts(loaded.tokenizer)
        self._prepare(loaded)
        set_seed(config.seed)  # adapters are drawn before TRL does so itself
        try:
            self._trainer = trainer_class(config.algorithm)(
                model=loaded.model,
                processing_class=loaded.tokenizer,
                args=arguments(config, steps=self.total, folder=checkpoints / _PARTIAL),
                reward_funcs=self._reward_function(),
                train_dataset=self._dataset(),
                peft_config=_lora(config),
                hooks=TrainerHooks(
                    rate_factor=rate_factor(config, self.total * self._per_step),
                    place=lambda updates: self.context.folder.checkpoint(updates // self._per_step),
                    saved=lambda updates, path: self.checkpoint_saved(updates // self._per_step, path),
                    logged=self._updated,
                ),
            )
        except ValueError as error:
            raise InputError(f"TRL refuses this configuration: {error}") from error

    def run(self) -> None:
        """See BackendRun."""
        resume_from = self.context.resume_from
        self._trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)

    def numbers(
        self, problems: Sequence[Problem], results: Sequence[EvaluateResult]
    ) -> Sequence[float | None]:
        """See BackendRun."""
        return [self.reward.number(result) for result in results]

    def complete(self, problems: Sequence[Problem]) -> Sequence[str]:
        """See BackendRun."""
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        tokenizer = self._trainer.processing_class
        greedy = generation_config(
            tokenizer,
            self._trainer.eos_token_ids,
            max_new_tokens=self.config.generation.max_generation_steps,
        )
        batch = self.config.training.micro_batch_size * self.config.grpo.num_generations
        return complete(model, tokenizer, [problem.prompt for problem in problems], greedy, batch=batch)

    def figures(self) -> Mapping[str, float]:
        """See BackendRun."""
        means = {name: sum(values) / len(values) for name, values in self._logs.items()}
        self._logs.clear()
        return means

    def _check_prompts(self, tokenizer: Any) -> None:
        chats = sum(not isinstance(problem.prompt, str) for problem in self.problems)
        if 0 < chats < len(self.problems):
            raise InputError(
                "some prompts are plain text and some are conversations; make them all of one kind"
            )
        self.check_lengths(lambda problem: _length(tokenizer, problem))

    def _prepare(self, loaded: ModelAndTokenizer) -> None:
        """Set the tokens that end a completion, and save the first model where TRL reads it again."""
        model, config = loaded.model, self.config
        ends = end_tokens(model, loaded.tokenizer, config.generation.eos_tokens)
        model.generation_config.eos_token_id = ends
        reads_again = config.model.vllm or (config.grpo.beta and config.model.lora_rank is None)
        if config.model.model_family in MADE and reads_again:
            place = self.context.folder.path / _FIRST
            model.save_pretrained(place)
            loaded.tokenizer.save_pretrained(place)
            model.config._name_or_path = str(place)

    def _dataset(self) -> Any:
        """The problems' numbers in the order of the run; prompts are looked up, so that nothing changes them."""
        from datasets import Dataset

        problems = self.context.train
        order = [place for step in range(self.total) for place in self.sampler.batch(step)]

        def rows(batch: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
            return {_PROBLEM: list(batch[_PROBLEM]), "prompt": [problems[n].prompt for n in batch[_PROBLEM]]}

        return Dataset.from_dict({_PROBLEM: order}).with_transform(rows)

    def _reward_function(self) -> Any:
        """The reward as TRL calls it."""

        def reward(
            completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], **columns: Any
        ) -> Sequence[float | None]:
            self.context.monitor.tokens(sum(map(len, completion_ids)))
            problems = [self.context.train[place] for place in columns[_PROBLEM]]
            return self.score(problems, completions, step=self.done)

        reward.__name__ = self.reward.__name__
        return reward

    def _updated(self, updates: int, logs: Mapping[str, Any]) -> StepEnd:
        """Take TRL's figures of an update; the last update of a step ends it."""
        for name, value in logs.items():
            if isinstance(value, int | float) and math.isfinite(value) and not name.startswith(_LEFT_OUT):
                self._logs[name].append(float(value))
        if updates % self._per_step:
            return StepEnd(save=False, stop=False)
        return self.end_step(updates // self._per_step)


def _lora(config: Config) -> Any:
    if config.model.lora_rank is None:
        return None
    from peft import LoraConfig, TaskType

    rank = config.model.lora_rank
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=rank,
        lora_alpha=config.model.lora_alpha if config.model.lora_alpha is not None else rank,
        target_modules=config.model.lora_module_path or "all-linear",
    )


def _length(tokenizer: Any, problem: Problem) -> int:
    if isinstance(problem.prompt, str):
        return len(tokenizer(problem.prompt)["input_ids"])
    return len(tokenizer(chat_text(tokenizer, problem.prompt), add_special_tokens=False)["input_ids"])


def _too_large(error: Exception) -> str:
    return (
        f"out of memory ({str(error).splitlines()[0]}); lower training.micro_batch_size, "
        "grpo.num_generations or generation.max_generation_steps, or set model.gradient_checkpointing=true"
    )


@contextlib.contextmanager
def _threads(config: Config) -> Iterator[None]:
    """One thread for a tiny model, which more only slow down; its figures are then the same on any machine."""
    import torch

    before = torch.get_num_threads()
    if config.model.model_family == "tiny":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
