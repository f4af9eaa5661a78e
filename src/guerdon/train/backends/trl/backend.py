"""``guerdon train backend=trl``: a run with TRL's trainers, on a GPU or, with small models, on a CPU."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import ClassVar

from guerdon.console.working import Working
from guerdon.errors import InputError, MissingExtraError
from guerdon.train.backend import Backend, Policy, TrainingContext
from guerdon.train.config.schema import Config

_NEEDED = ("torch", "transformers", "trl", "datasets")


class TrlBackend(Backend):
    """TRL 1.16: GRPO, RLOO, DAPO and Dr. GRPO.

    GRPO averages each response over its own tokens and divides advantages by the group's spread; Dr. GRPO does
    neither. DAPO averages over all tokens and has the higher upper clip of 0.28; TRL has no dynamic sampling, and the
    overlong penalty is the reward's: compose ``accuracy_overlong``. RLOO's baseline is the mean of the others, and its
    KL penalty is in the reward.
    """

    name: ClassVar[str] = "trl"
    algorithms: ClassVar[tuple[str, ...]] = ("grpo", "rloo", "dapo", "dr_grpo")

    def check_support(self, config: Config) -> None:
        """See Backend."""
        if any(importlib.util.find_spec(module) is None for module in _NEEDED):
            raise MissingExtraError.of("train,trl", "backend=trl")
        if config.optimizer.learning_rate <= 0:
            raise InputError(f"optimizer.learning_rate must be above 0, not {config.optimizer.learning_rate}")
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
        with Working("loading PyTorch and TRL"):
            from guerdon.train.backends.trl.run import TrlRun

            self.check(context.config)
        TrlRun(context).train()

    def policy(self, config: Config, checkpoint: Path | None) -> Policy:
        """See Backend."""
        from guerdon.train.backends.trl.policy import TrlPolicy

        self.check(config)
        return TrlPolicy(config, checkpoint)
