"""One training run with TRL: what its trainer is given, and what happens after each step."""

from __future__ import annotations

import math
import shutil
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from guerdon.errors import InputError
from guerdon.train.backend import Problem, TrainingContext, TrainingInterrupted
from guerdon.train.backends.generation import chat_text, complete, end_tokens, settings
from guerdon.train.backends.trl.models import MADE, ModelAndTokenizer, first_model
from guerdon.train.backends.trl.quiet import quiet
from guerdon.train.backends.trl.settings import arguments, rate_factor
from guerdon.train.backends.trl.trainer import TrainerHooks, trainer_class
from guerdon.train.config.schema import Config
from guerdon.train.data.sampler import BatchSampler, total_steps
from guerdon.trainers.columns import sample_of
from guerdon.trainers.trl import TrlReward

_PARTIAL = ".partial"
_FIRST = "first-model"
_PROBLEM = "problem"
_SHOWN = 8
_LEFT_OUT = ("reward", "profiling/", "num_tokens", "epoch", "step_time", "frac_reward_zero_std")
"""Figures of TRL's that the monitor has in its own words."""


class TrlRun:
    """A run that is checked. TRL counts updates; the run's steps are the batches of rollouts they learn from."""

    def __init__(self, context: TrainingContext) -> None:
        if not context.train:
            raise InputError("there is no problem to learn from")
        self._context, training = context, context.config.training
        self._total = total_steps(context.config, len(context.train))
        self._per_step = context.config.grpo.num_iterations
        self._sampler = BatchSampler(
            len(context.train), batch=training.micro_batch_size, seed=context.config.seed
        )
        self._stop = threading.Event()
        self._started = 0.0
        self._figures: dict[str, list[float]] = defaultdict(list)
        self._saved = _checkpoint(context.resume_from)
        self._trainer: Any = None
        self._reward = TrlReward(
            context.reward,
            on_failure=training.on_failure,
            timeout=training.reward_timeout,
            workers=training.reward_workers,
            concurrency=training.reward_concurrency,
            observe=context.monitor.scored,
        )

    def train(self) -> None:
        """Do the steps that are left. Raises TrainingInterrupted after Ctrl-C, when the checkpoint is saved."""
        if self._saved is not None:
            self._context.monitor.resume(self._saved[0])
            if self._saved[0] >= self._total:
                return
        with (
            quiet(self._context.config.debug),
            _threads(self._context.config),
            _Interruptions(self._stop),
        ):
            try:
                self._trainer = self._made()
                self._started = time.perf_counter()
                resume_from = self._context.resume_from
                self._trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
            except KeyboardInterrupt:
                if self._saved is None:
                    raise
                raise TrainingInterrupted(*self._saved) from None
            except RuntimeError as error:
                if type(error).__name__ == "OutOfMemoryError":
                    raise InputError(_too_large(error)) from error
                raise
            finally:
                self._reward.close()
        if self._done < self._total and self._saved is not None:
            raise TrainingInterrupted(*self._saved)

    @property
    def _done(self) -> int:
        """Steps that are done."""
        return int(self._trainer.state.global_step) // self._per_step

    # What TRL is given.

    def _made(self) -> Any:
        from transformers import set_seed

        config = self._context.config
        checkpoints = self._context.folder.checkpoints
        checkpoints.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(checkpoints / _PARTIAL, ignore_errors=True)
        loaded = first_model(config)
        self._check_prompts(loaded.tokenizer)
        self._settle(loaded)
        set_seed(config.seed)  # adapters are drawn before TRL does so itself
        updates = self._total * self._per_step
        hooks = TrainerHooks(
            rate_factor=rate_factor(config, updates),
            place=lambda updates: self._context.folder.checkpoint(updates // self._per_step),
            saved=self._keep,
            logged=self._updated,
        )
        try:
            return trainer_class(config.algorithm)(
                model=loaded.model,
                processing_class=loaded.tokenizer,
                args=arguments(config, steps=self._total, folder=checkpoints / _PARTIAL),
                reward_funcs=self._as_function(),
                train_dataset=self._dataset(),
                peft_config=_lora(config),
                hooks=hooks,
            )
        except ValueError as error:
            raise InputError(f"TRL refuses this configuration: {error}") from error

    def _settle(self, loaded: ModelAndTokenizer) -> None:
        """What the model generates until, and where TRL finds the first model again."""
        model, config = loaded.model, self._context.config
        ends = end_tokens(model, loaded.tokenizer, config.generation.eos_tokens)
        model.generation_config.eos_token_id = ends
        reads_again = config.model.vllm or (config.grpo.beta and config.model.lora_rank is None)
        if config.model.model_family in MADE and reads_again:
            place = self._context.folder.path / _FIRST
            model.save_pretrained(place)
            loaded.tokenizer.save_pretrained(place)
            model.config._name_or_path = str(place)

    def _dataset(self) -> Any:
        """The problems' numbers in the order of the run; prompts are looked up, so that nothing changes them."""
        from datasets import Dataset

        problems = self._context.train
        order = [place for step in range(self._total) for place in self._sampler.batch(step)]

        def rows(batch: Mapping[str, Sequence[int]]) -> dict[str, list[Any]]:
            return {_PROBLEM: list(batch[_PROBLEM]), "prompt": [problems[n].prompt for n in batch[_PROBLEM]]}

        return Dataset.from_dict({_PROBLEM: order}).with_transform(rows)

    def _as_function(self) -> Any:
        def reward(
            completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], **columns: Any
        ) -> list[float | None]:
            self._context.monitor.tokens(sum(map(len, completion_ids)))
            problems = [self._context.train[place] for place in columns[_PROBLEM]]
            return self._score(problems, completions, "train", self._done)

        reward.__name__ = self._reward.__name__
        return reward

    def _score(
        self, problems: Sequence[Problem], completions: Sequence[Any], mode: str, step: int
    ) -> list[float | None]:
        samples = [
            sample_of(problem.prompt, completion, {"id": problem.id, **problem.columns})
            for problem, completion in zip(problems, completions, strict=True)
        ]
        results = self._reward.results(samples, step=step, mode=mode)
        return [self._reward.number(result) for result in results]

    def _check_prompts(self, tokenizer: Any) -> None:
        """Refuse prompts that the model cannot be given as they are."""
        problems = [*self._context.train, *self._context.test]
        chats = [problem for problem in problems if not isinstance(problem.prompt, str)]
        if chats and len(chats) < len(problems):
            raise InputError(
                "some prompts are plain text and some are conversations; make them all of one kind"
            )
        limit = self._context.config.generation.max_prompt_length
        lengths = {str(p.id): count for p in problems if (count := _length(tokenizer, p)) > limit}
        if lengths:
            shown = ", ".join(list(lengths)[:_SHOWN]) + (", …" if len(lengths) > _SHOWN else "")
            raise InputError(
                f"{len(lengths)} prompts have more tokens than generation.max_prompt_length={limit} ({shown}); "
                f"the longest has {max(lengths.values())}"
            )

    # What happens after an update.

    def _updated(self, updates: int, logs: Mapping[str, Any]) -> tuple[bool, bool]:
        """Take note of an update; at the end of a step, evaluate and report. Whether to save, and to stop."""
        for name, value in logs.items():
            if isinstance(value, int | float) and math.isfinite(value) and not name.startswith(_LEFT_OUT):
                self._figures[name].append(float(value))
        if updates % self._per_step:
            return False, False
        seconds = time.perf_counter() - self._started
        step, training = updates // self._per_step, self._context.config.training
        last = step >= self._total
        if last or (training.eval_every_n_steps and step % training.eval_every_n_steps == 0):
            self._evaluate(step)
        figures = {name: sum(values) / len(values) for name, values in self._figures.items()}
        self._figures.clear()
        self._context.monitor.step(step, seconds, figures)
        stopping = self._stop.is_set() and not last
        due = bool(training.save_interval_steps) and step % training.save_interval_steps == 0
        self._started = time.perf_counter()
        return last or stopping or due, stopping

    def _evaluate(self, step: int) -> None:
        """Greedy completions of the held-out problems, scored."""
        training, count = self._context.config.training, self._context.config.grpo.num_generations
        problems = list(self._context.test)
        if training.num_test_batches is not None:
            problems = problems[: training.num_test_batches * training.micro_batch_size]
        if problems:
            model = self._trainer.accelerator.unwrap_model(self._trainer.model)
            tokenizer = self._trainer.processing_class
            prompts = [problem.prompt for problem in problems]
            longest = self._context.config.generation.max_generation_steps
            asked = settings(tokenizer, self._trainer.eos_token_ids, max_new_tokens=longest)
            completions = complete(model, tokenizer, prompts, asked, batch=training.micro_batch_size * count)
            self._score(problems, completions, "eval", step)

    def _keep(self, updates: int, path: Path) -> None:
        """A checkpoint is complete: the oldest ones go."""
        step = updates // self._per_step
        self._saved = (step, path)
        kept = max(self._context.config.training.max_checkpoints_to_keep, 1)
        for _, old in self._context.folder.saved()[:-kept]:
            shutil.rmtree(old)
        self._context.monitor.checkpoint(step, path)
        self._started = time.perf_counter()


def _checkpoint(path: Path | None) -> tuple[int, Path] | None:
    """A checkpoint with its step, which its name says."""
    return None if path is None else (int(path.name.rpartition("-")[2]), path)


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
        f"the memory does not do ({str(error).splitlines()[0]}); lower training.micro_batch_size, "
        "grpo.num_generations or generation.max_generation_steps, or set model.gradient_checkpointing=true"
    )


class _threads:  # noqa: N801 - used like a function
    """One thread for a tiny model, which more of them only slow down; the figures then hold on any machine."""

    def __init__(self, config: Config) -> None:
        self._one = config.model.model_family == "tiny"

    def __enter__(self) -> None:
        import torch

        self._before = torch.get_num_threads()
        if self._one:
            torch.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        import torch

        torch.set_num_threads(self._before)


class _Interruptions:
    """While it lasts, the first Ctrl-C asks for an end after the step, the second ends at once."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._before: Any = None
        self._here = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._here:
            self._before = signal.signal(signal.SIGINT, self._first)

    def _first(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *exception: object) -> None:
        if self._here:
            signal.signal(signal.SIGINT, self._before)
