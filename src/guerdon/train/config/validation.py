"""Whether a configuration makes sense: names that must be one of a few, numbers that must lie in a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from guerdon.errors import InputError
from guerdon.train.config.config_errors import nearest
from guerdon.train.config.schema import Config

ALGORITHMS = ("grpo", "rloo", "dapo", "dr_grpo")
LOG_LEVELS = ("debug", "info", "warning", "error")
INFERENCE = ("greedy", "standard", "liberal")

_WORDS: Mapping[str, tuple[str, ...]] = {
    "algorithm": ALGORITHMS,
    "training.log_level": LOG_LEVELS,
    "evaluation.inference_config": INFERENCE,
    "model.dtype": ("auto", "float32", "bfloat16", "float16"),
}

_RANGES: Mapping[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    "model.lora_rank": (1, math.inf),
    "model.hidden_size": (1, math.inf),
    "model.num_layers": (1, math.inf),
    "model.num_heads": (1, math.inf),
    "model.intermediate_size": (1, math.inf),
    "optimizer.learning_rate": (0, math.inf),
    "optimizer.beta1": (0, 1),
    "optimizer.beta2": (0, 1),
    "optimizer.weight_decay": (0, math.inf),
    "optimizer.warmup_ratio": (0, 1),
    "optimizer.max_grad_norm": (0, math.inf),
    "scheduler.warmup_steps_ratio": (0, 1),
    "scheduler.decay_steps_ratio": (0, 1),
    "grpo.num_generations": (2, math.inf),
    "grpo.num_iterations": (1, math.inf),
    "grpo.beta": (0, math.inf),
    "grpo.epsilon": (0, math.inf),
    "generation.max_prompt_length": (1, math.inf),
    "generation.max_generation_steps": (1, math.inf),
    "generation.temperature": (0, math.inf),
    "generation.top_p": (0, 1),
    "generation.top_k": (1, math.inf),
    "training.train_fraction": (0, 1),
    "training.micro_batch_size": (1, math.inf),
    "training.num_batches": (1, math.inf),
    "training.num_test_batches": (0, math.inf),
    "training.num_epochs": (1, math.inf),
    "training.eval_every_n_steps": (0, math.inf),
    "training.save_interval_steps": (1, math.inf),
    "training.max_checkpoints_to_keep": (1, math.inf),
    "training.flush_every_n_steps": (1, math.inf),
    "training.sample_table_rows": (0, 10_000),
    "training.sample_table_every_n_steps": (1, math.inf),
    "training.reward_timeout": (0, math.inf),
    "training.reward_workers": (0, math.inf),
    "training.reward_concurrency": (1, math.inf),
    "evaluation.num_passes": (1, math.inf),
}

_ABOVE = ("generation.temperature", "generation.top_p", "training.train_fraction", "training.reward_timeout")
"""Keys whose lowest value is itself too low."""


def check(config: Config) -> None:
    """Raises InputError for the first value that cannot be meant.

    >>> from guerdon.train.config.schema import Config
    >>> check(Config(algorithm="gropo"))
    Traceback (most recent call last):
    guerdon.errors.InputError: algorithm=gropo is unknown; did you mean grpo?
    """
    for key, words in _WORDS.items():
        value = value_of(config, key)
        if value not in words:
            raise InputError(f"{key}={value} is unknown{nearest(str(value), words)}")
    for key, (low, high) in _RANGES.items():
        value = value_of(config, key)
        if value is None:
            continue
        right = low < value if key in _ABOVE else low <= value
        if not (right and value <= high):
            raise InputError(f"{key} must be {_range(low, high, key in _ABOVE)}, not {value}")
    if config.model.model_family == "huggingface" and not config.model.path:
        raise InputError("model.path must be set to a Hugging Face id or a folder: model.path=…")
    failure = config.training.on_failure
    is_number = isinstance(failure, int | float) and not isinstance(failure, bool) and math.isfinite(failure)
    if failure not in (None, "raise", "skip") and not is_number:
        raise InputError(f"training.on_failure must be raise, skip or a number, not {failure}")


def value_of(config: Config, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _range(low: float, high: float, above: bool) -> str:
    if math.isinf(high):
        return f"over {low:g}" if above else f"{low:g} or more"
    return f"over {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"
