"""``guerdon train backend=trl``: a run with TRL's trainers, on a GPU or, with small models, on a CPU."""

from __future__ import annotations

import difflib
import importlib.util
import os
from pathlib import Path
from typing import ClassVar

from guerdon.errors import InputError, MissingExtraError
from guerdon.train.backend import Backend, Policy, TrainingContext
from guerdon.train.config.schema import Config

_NEEDED = ("torch", "transformers", "trl", "datasets")


class TrlBackend(Backend):
    """TRL 1.16: GRPO, RLOO, DAPO and Dr. GRPO.

    GRPO averages each response over its own tokens and divides advantages by the group's spread; Dr. GRPO does
    neither. DAPO averages over all tokens and has the higher upper clip of 0.28; dynamic sampling, which TRL has not,
    is no part of it, and its overlong penalty is the reward's: compose ``accuracy_overlong``. RLOO has the mean of
    the others for a baseline, and its KL penalty in the reward.
    """

    name: ClassVar[str] = "trl"
    algorithms: ClassVar[tuple[str, ...]] = ("grpo", "rloo", "dapo", "dr_grpo")

    def check(self, config: Config) -> None:
        """See Backend."""
        if any(importlib.util.find_spec(module) is None for module in _NEEDED):
            raise MissingExtraError.of("train,trl", "backend=trl")
        if config.algorithm not in self.algorithms:
            close = difflib.get_close_matches(config.algorithm, self.algorithms, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(self.algorithms)}"
            raise InputError(f"algorithm: backend=trl has no {config.algorithm!r}; {hint}")
        _check_numbers(config)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError("backend=trl runs in one process; start it without a launcher")
        from guerdon.train.backends.trl.models import check_model, on_gpu

        check_model(config)
        if on_gpu(config):
            import torch

            if torch.cuda.device_count() > 1:
                raise InputError("backend=trl trains on one GPU; choose it with CUDA_VISIBLE_DEVICES=0")

    def train(self, context: TrainingContext) -> None:
        """See Backend."""
        from guerdon.train.backends.trl.run import TrlRun

        self.check(context.config)
        TrlRun(context).train()

    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        """See Backend."""
        from guerdon.train.backends.trl.policy import TrlPolicy

        self.check(config)
        return TrlPolicy(config, checkpoint)


def _check_numbers(config: Config) -> None:
    least = {
        "grpo.num_generations": (config.grpo.num_generations, 2),
        "grpo.num_iterations": (config.grpo.num_iterations, 1),
        "training.micro_batch_size": (config.training.micro_batch_size, 1),
        "training.num_epochs": (config.training.num_epochs, 1),
        "generation.max_generation_steps": (config.generation.max_generation_steps, 1),
        "generation.max_prompt_length": (config.generation.max_prompt_length, 1),
    }
    for key, (value, bound) in least.items():
        if value < bound:
            raise InputError(f"{key} must be at least {bound}, not {value}")
    if config.generation.temperature <= 0:
        raise InputError("generation.temperature must be above 0: without chance there is nothing to compare")
    if config.optimizer.learning_rate <= 0:
        raise InputError(f"optimizer.learning_rate must be above 0, not {config.optimizer.learning_rate}")
