"""TrlPolicy: a model of transformers that answers prompts, for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.train.config import Config
from guerdon.train.job import Policy, Prompt
from guerdon.train.models import first_model, in_bfloat16, on_gpu, trained_model
from guerdon.train.trl_quiet import quiet

_BATCH = 64


class TrlPolicy(Policy):
    """The model of a checkpoint, or without one the model as it is before training."""

    def __init__(self, config: Config, checkpoint: Path | None) -> None:
        import torch

        if checkpoint is not None and not checkpoint.is_dir():
            raise InputError(f"there is no checkpoint {checkpoint}")
        self._log_level = config.training.log_level
        with quiet(self._log_level):
            loaded = first_model(config) if checkpoint is None else trained_model(config, checkpoint)
        self._device = "cuda" if on_gpu(config) else "cpu"
        self._model: Any = loaded.model.to(self._device).eval()
        if in_bfloat16(config):
            self._model = self._model.to(torch.bfloat16)
        self._tokenizer = loaded.tokenizer
        own = self._model.generation_config.eos_token_id
        ends = [] if own is None else own if isinstance(own, list) else [own]
        self._ends = list(
            dict.fromkeys([*ends, self._tokenizer.eos_token_id, *(config.generation.eos_tokens or ())])
        )
        self._batch = _BATCH

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
        from transformers import GenerationConfig

        drawn: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            drawn = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": top_k or 0}
        asked = GenerationConfig(
            max_new_tokens=max_new_tokens,
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=self._ends,
            disable_compile=True,
            **drawn,
        )
        completions: list[str] = []
        devices = [0] if self._device == "cuda" else []
        with quiet(self._log_level), torch.no_grad(), torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            # What the model's own configuration says of sampling would be mixed into what is asked.
            own, self._model.generation_config = self._model.generation_config, asked
            try:
                for start in range(0, len(prompts), self._batch):
                    completions += self._complete(prompts[start : start + self._batch], asked)
            finally:
                self._model.generation_config = own
        return completions

    def _complete(self, prompts: Sequence[Prompt], asked: Any) -> list[str]:
        texts = [prompt if isinstance(prompt, str) else self._text(prompt) for prompt in prompts]
        plain = all(isinstance(prompt, str) for prompt in prompts)
        given = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=plain)
        ids, mask = given["input_ids"].to(self._device), given["attention_mask"].to(self._device)
        output = self._model.generate(input_ids=ids, attention_mask=mask, generation_config=asked)
        decoded: list[str] = self._tokenizer.batch_decode(output[:, ids.shape[1] :], skip_special_tokens=True)
        return decoded

    def _text(self, prompt: list[dict[str, Any]]) -> str:
        if self._tokenizer.chat_template is None:
            raise InputError("the prompts are conversations and the model has no chat template")
        text: str = self._tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
        return text

    def close(self) -> None:
        """See Policy."""
        import torch

        self._model = None
        if self._device == "cuda":
            torch.cuda.empty_cache()
