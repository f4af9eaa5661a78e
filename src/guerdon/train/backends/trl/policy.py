"""TrlPolicy: a model of transformers that answers prompts, for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.train.backend import Policy
from guerdon.train.backends.generation import complete, end_tokens, generation_config
from guerdon.train.backends.trl.models import first_model, in_bfloat16, on_gpu, trained_model
from guerdon.train.backends.trl.quiet import quiet
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Prompt

_BATCH = 64


class TrlPolicy(Policy):
    """The model of a checkpoint, or without one the model as it is before training.

    Raises InputError where there is no such checkpoint.
    """

    def __init__(self, config: Config, checkpoint: Path | None) -> None:
        import torch

        if checkpoint is not None and not checkpoint.is_dir():
            raise InputError(f"there is no checkpoint {checkpoint}")
        self._debug = config.debug
        with quiet(self._debug):
            loaded = first_model(config) if checkpoint is None else trained_model(config, checkpoint)
        dtype = torch.bfloat16 if in_bfloat16(config) else None
        self._model: Any = loaded.model.to("cuda" if on_gpu(config) else "cpu", dtype).eval()
        self._tokenizer = loaded.tokenizer
        self._ends = end_tokens(self._model, self._tokenizer, config.generation.eos_tokens)

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
        """See Policy."""
        import torch

        config = generation_config(
            self._tokenizer,
            self._ends,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
        )
        devices = [self._model.device] if self._model.device.type == "cuda" else []
        with quiet(self._debug), torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            return complete(self._model, self._tokenizer, prompts, config, batch=_BATCH)

    def close(self) -> None:
        """See Policy."""
        import torch

        self._model = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
