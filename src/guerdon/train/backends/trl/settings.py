"""A run's configuration in TRL's own words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guerdon.train.backends.trl.models import in_bfloat16, on_gpu
from guerdon.train.config.schema import Config

DAPO_EPSILON_HIGH = 0.28
"""The upper clip of DAPO, https://arxiv.org/abs/2503.14476, section 4.1."""


def arguments(config: Config, *, steps: int, folder: Path) -> Any:
    """TRL's GRPOConfig or RLOOConfig for a run of so many steps, each of ``grpo.num_iterations`` updates.

    All that TRL would save, show or report by itself is off: the run does that.
    """
    from trl import GRPOConfig, RLOOConfig

    common = {**_of_optimizer(config), **_of_rollouts(config), **_of_machine(config), **_silent(config)}
    common["output_dir"] = str(folder)
    common["max_steps"] = steps * config.grpo.num_iterations
    if config.algorithm == "rloo":
        return RLOOConfig(**common)
    return GRPOConfig(**common, **_of_algorithm(config))


def _of_algorithm(config: Config) -> dict[str, Any]:
    """What makes GRPO the one of its paper, DAPO, or Dr. GRPO, which divides by no spread and no length."""
    if config.algorithm == "dapo":
        high = max(config.grpo.epsilon, DAPO_EPSILON_HIGH)
        return {"loss_type": "dapo", "scale_rewards": "group", "epsilon_high": high}
    if config.algorithm == "dr_grpo":
        return {"loss_type": "dr_grpo", "scale_rewards": "none"}
    return {"loss_type": "grpo", "scale_rewards": "group"}


def _of_optimizer(config: Config) -> dict[str, Any]:
    optimizer = config.optimizer
    return {
        "learning_rate": optimizer.learning_rate,
        "adam_beta1": optimizer.beta1,
        "adam_beta2": optimizer.beta2,
        "weight_decay": optimizer.weight_decay,
        "max_grad_norm": optimizer.max_grad_norm,
        "num_iterations": config.grpo.num_iterations,
        "beta": config.grpo.beta,
        "epsilon": config.grpo.epsilon,
    }


def _of_rollouts(config: Config) -> dict[str, Any]:
    asked, count = config.generation, config.grpo.num_generations
    return {
        "per_device_train_batch_size": config.training.micro_batch_size * count,
        "num_generations": count,
        "max_completion_length": asked.max_generation_steps,
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "top_k": asked.top_k or 0,
        "shuffle_dataset": False,  # the run has an order of its own, which a resumed run can go on with
    }


def _of_machine(config: Config) -> dict[str, Any]:
    gpu = on_gpu(config)
    settings: dict[str, Any] = {
        "seed": config.seed,
        "bf16": in_bfloat16(config),
        "use_cpu": not gpu,
        "gradient_checkpointing": config.model.gradient_checkpointing,
        "dataloader_pin_memory": gpu,
    }
    if config.model.vllm:
        longest = config.generation.max_prompt_length + config.generation.max_generation_steps
        settings |= {"use_vllm": True, "vllm_mode": "colocate", "vllm_max_model_length": longest}
    return settings


def _silent(config: Config) -> dict[str, Any]:
    return {
        "logging_steps": 1,
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "info" if config.debug else "error",
    }


def rate_factor(config: Config, updates: int) -> Callable[[int], float]:
    """The share of the learning rate that holds at an update, counted from 0: a warm-up, then a cosine to 0.

    >>> config = Config()
    >>> config.scheduler.warmup_steps_ratio = 0.5
    >>> [round(rate_factor(config, 4)(update), 2) for update in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    warm = round(config.scheduler.warmup_steps_ratio * updates)
    end = max(round(config.scheduler.decay_steps_ratio * updates), warm + 1)

    def factor(update: int) -> float:
        if update < warm:
            return (update + 1) / warm
        done = min((update - warm) / (end - warm), 1.0)
        return 0.5 * (1 + math.cos(math.pi * done))

    return factor
