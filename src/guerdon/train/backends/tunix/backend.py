"""``guerdon train backend=tunix``: a run with Tunix's learners, for TPUs, GPUs and, with small models, CPUs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import ClassVar

from guerdon.errors import InputError, MissingExtraError
from guerdon.train.backend import Backend, Policy, TrainingContext
from guerdon.train.config.schema import Config


class TunixBackend(Backend):
    """Tunix 0.1.7: GRPO, RLOO, DAPO and Dr. GRPO.

    RLOO is GRPO's loss with leave-one-out advantages and log-probabilities summed over the sequence. DAPO is its
    loss over tokens with the higher upper clip of 0.28; Tunix has no dynamic sampling yet, and its overlong
    penalty, which counts characters, is left out: compose ``accuracy_overlong`` instead.
    """

    name: ClassVar[str] = "tunix"
    algorithms: ClassVar[tuple[str, ...]] = ("grpo", "rloo", "dapo", "dr_grpo")

    def check(self, config: Config) -> None:
        """See Backend."""
        if importlib.util.find_spec("tunix") is None:
            raise MissingExtraError.of("train,tunix", "backend=tunix")
        if config.algorithm not in self.algorithms:
            raise InputError(
                f"algorithm: backend=tunix has {', '.join(self.algorithms)}, not {config.algorithm!r}"
            )
        if config.algorithm == "dapo" and config.grpo.beta:
            raise InputError("grpo.beta: DAPO has no KL penalty in Tunix; set grpo.beta=0")
        least = {
            "grpo.num_generations": (config.grpo.num_generations, 2),
            "grpo.num_iterations": (config.grpo.num_iterations, 1),
            "training.micro_batch_size": (config.training.micro_batch_size, 1),
            "generation.max_generation_steps": (config.generation.max_generation_steps, 1),
            "generation.max_prompt_length": (config.generation.max_prompt_length, 1),
        }
        for key, (value, bound) in least.items():
            if value < bound:
                raise InputError(f"{key} must be at least {bound}, not {value}")
        if config.generation.temperature <= 0:
            raise InputError(
                "generation.temperature must be above 0: without chance there is nothing to compare"
            )
        from guerdon.train.backends.tunix.model import check_model, mesh_of

        check_model(config)
        mesh_of(config.model)

    def train(self, context: TrainingContext) -> None:
        """See Backend."""
        from guerdon.train.backends.tunix.run import TunixRun

        self.check(context.config)
        TunixRun(context).train()

    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        """See Backend."""
        from guerdon.train.backends.tunix.model import source_of
        from guerdon.train.backends.tunix.rollout import TunixPolicy

        self.check(config)
        return TunixPolicy(source_of(config), checkpoint)
