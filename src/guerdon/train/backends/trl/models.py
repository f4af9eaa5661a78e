"""The model that learns and its tokenizer: made on the spot, or from a folder or the Hugging Face hub."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.train.backends.tiny import alphabet_of, character_tokenizer, random_llama
from guerdon.train.config.schema import Config

MADE = ("tiny", "random")
DTYPES = ("auto", "float32", "bfloat16")


@dataclass(frozen=True, slots=True)
class ModelAndTokenizer:
    """A model of transformers with its tokenizer, on the CPU or where it was loaded to."""

    model: Any
    tokenizer: Any


def check_model(config: Config) -> None:
    """Check that the model of a configuration can be used. Raises InputError or MissingExtraError."""
    model = config.model
    if model.model_family not in MADE and not model.path:
        raise InputError(
            f"model.path is missing, and model.model_family={model.model_family} is not generated: "
            "give a Hugging Face id or a folder, or use model=tiny"
        )
    if model.dtype not in DTYPES:
        raise InputError(f"model.dtype must be one of {', '.join(DTYPES)}, not {model.dtype!r}")
    if model.model_family in MADE and model.hidden_size % (2 * model.num_heads):
        raise InputError(
            f"model.hidden_size must be a multiple of twice model.num_heads, {2 * model.num_heads}, "
            f"not {model.hidden_size}"
        )
    if model.lora_rank is not None:
        if model.lora_rank < 1:
            raise InputError("model.lora_rank must be at least 1; leave it out to train all weights")
        if importlib.util.find_spec("peft") is None:
            raise MissingExtraError.of("train,trl", "model.lora_rank")
    if model.vllm:
        _check_vllm()


def _check_vllm() -> None:
    import torch

    if not torch.cuda.is_available():
        raise InputError("model.vllm=true needs a GPU, and there is none; leave it out")
    if importlib.util.find_spec("vllm") is None:
        raise InputError("model.vllm=true needs vLLM: pip install vllm, or leave it out")


def on_gpu(config: Config) -> bool:
    """Whether the model goes to a GPU: where there is one, but a tiny model has nothing to gain from it."""
    import torch

    return bool(torch.cuda.is_available()) and config.model.model_family != "tiny"


def in_bfloat16(config: Config) -> bool:
    """Whether sums are done in bfloat16: as ``model.dtype`` says, ``auto`` where the GPU has it."""
    import torch

    if config.model.dtype == "auto":
        return on_gpu(config) and bool(torch.cuda.is_bf16_supported())
    return config.model.dtype == "bfloat16"


def first_model(config: Config) -> ModelAndTokenizer:
    """The model as it is before training, without adapters. Raises InputError where it cannot be loaded."""
    if config.model.model_family in MADE:
        tokenizer = character_tokenizer(alphabet_of(config))
        lengths = config.generation.max_prompt_length + config.generation.max_generation_steps
        model = random_llama(config.model, tokenizer, positions=max(lengths, 256), seed=config.seed)
        return ModelAndTokenizer(model.to(_weights(config)), tokenizer)
    assert config.model.path is not None
    return _load(config, config.model.path)


def trained_model(config: Config, checkpoint: Path) -> ModelAndTokenizer:
    """The model of a checkpoint, with its adapters where it has them.

    Raises InputError where the folder holds none.
    """
    if (checkpoint / "adapter_config.json").is_file():
        from peft import PeftModel

        base = first_model(config)
        return ModelAndTokenizer(PeftModel.from_pretrained(base.model, str(checkpoint)), base.tokenizer)
    return _load(config, str(checkpoint))


def _weights(config: Config) -> Any:
    """The type in which weights are kept: what learns is kept exactly, unless bfloat16 is asked for."""
    import torch

    frozen = config.model.lora_rank is not None
    halved = config.model.dtype == "bfloat16" or (frozen and in_bfloat16(config))
    return torch.bfloat16 if halved else torch.float32


def _load(config: Config, place: str) -> ModelAndTokenizer:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        model = AutoModelForCausalLM.from_pretrained(place, dtype=_weights(config))
        tokenizer = AutoTokenizer.from_pretrained(place, padding_side="left", truncation_side="left")
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"no model can be loaded from {place}: {reason}", path=place) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return ModelAndTokenizer(model, tokenizer)
