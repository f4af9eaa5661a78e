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

    def check_support(self, config: Config) -> None:
        """See Backend."""
        if importlib.util.find_spec("tunix") is None:
            raise MissingExtraError.of("train,tunix", "backend=tunix")
        if config.algorithm == "dapo" and config.grpo.beta:
            raise InputError("grpo.beta: DAPO has no KL penalty in Tunix; set grpo.beta=0")
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
