"""Tunix's cluster for a run: the models in their roles, the sampler and the optimizer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.train.backends.tunix.checkpoint import restore_model, restore_optimizer
from guerdon.train.backends.tunix.model import ModelSource
from guerdon.train.backends.tunix.rollout import rollout_class
from guerdon.train.config.schema import Config

_Base: Any = object
"""Stands for Tunix's RLCluster, which ``build_cluster`` adds once Tunix is needed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings:
    """What a cluster is made of, and what it calls."""

    config: Config
    source: ModelSource
    total: int
    """Steps of the whole run."""
    first: int
    """Steps that were done before this process."""
    checkpoint: Path | None
    """The checkpoint that the weights and the optimizer's state are restored from."""
    on_update: Callable[[], None]
    """Called after each update of the model that learns."""
    on_tokens: Callable[[int], None]
    """Called with the number of tokens that were sampled for training."""
    step: Callable[[], int]
    """The steps that are done."""


class ClusterMixin(_Base):  # type: ignore[misc]
    """Beside Tunix's cluster: it calls ``on_update`` after each update."""

    on_update: Callable[[], None]

    def update_actor(self, *given: Any, **more: Any) -> None:
        super().update_actor(*given, **more)
        self.on_update()


def build_cluster(settings: ClusterSettings) -> Any:
    """The cluster with its models on their mesh, restored from the checkpoint if there is one."""
    from tunix.rl import rl_cluster

    config, source = settings.config, settings.source
    model = source.model()
    if settings.checkpoint is not None:
        restore_model(settings.checkpoint, model)
    cluster_class: Any = type("RunCluster", (ClusterMixin, rl_cluster.RLCluster), {})
    cluster = cluster_class(
        actor=model,
        reference=source.model() if config.grpo.beta else None,
        tokenizer=source.tokenizer,
        cluster_config=_cluster_config(settings),
    )
    cluster.on_update = settings.on_update
    # Tunix draws a bar of its own where it knows the number of steps.
    cluster.actor_trainer.config.max_steps = None
    if settings.checkpoint is not None:
        restore_optimizer(settings.checkpoint, cluster.actor_trainer.optimizer)
    return cluster


def _cluster_config(settings: ClusterSettings) -> Any:
    from tunix.rl import rl_cluster

    config, source, roles = settings.config, settings.source, rl_cluster.Role
    batch, left = config.training.micro_batch_size, settings.total - settings.first
    return rl_cluster.ClusterConfig(
        role_to_mesh=dict.fromkeys((roles.ACTOR, roles.REFERENCE, roles.ROLLOUT), source.mesh),
        rollout_engine=functools.partial(
            rollout_class(),
            seed=config.seed,
            read=source.read,
            step=settings.step,
            generated=settings.on_tokens,
        ),
        training_config=rl_cluster.RLTrainingConfig(
            actor_optimizer=_optimizer(config, settings.total),
            eval_every_n_steps=left + 1,
            max_steps=left * config.grpo.num_iterations,
            mini_batch_size=batch,
            train_micro_batch_size=batch,
        ),
        rollout_config=_rollout_configs(config, rl_cluster.Mode),
    )


def _rollout_configs(config: Config, mode: Any) -> Mapping[Any, Any]:
    from tunix.rl.rollout.base_rollout import RolloutConfig

    asked = config.generation
    common: dict[str, Any] = {
        "max_tokens_to_generate": asked.max_generation_steps,
        "max_prompt_length": asked.max_prompt_length,
        "kv_cache_size": asked.max_prompt_length + asked.max_generation_steps,
        "eos_tokens": asked.eos_tokens,
    }
    top_k = asked.top_k if asked.top_k and asked.top_k > 0 else None
    sampled = RolloutConfig(temperature=asked.temperature, top_p=asked.top_p, top_k=top_k, **common)
    return {mode.TRAIN: sampled, mode.EVAL: RolloutConfig(temperature=0.0, top_p=None, **common)}


def _optimizer(config: Config, total: int) -> Any:
    import optax

    return optax.chain(
        optax.clip_by_global_norm(config.optimizer.max_grad_norm),
        optax.adamw(
            learning_rate(config, total),
            b1=config.optimizer.beta1,
            b2=config.optimizer.beta2,
            weight_decay=config.optimizer.weight_decay,
        ),
    )


def learning_rate(config: Config, total: int) -> Callable[[Any], Any]:
    """The learning rate by the number of updates, for ``total`` steps: a linear warm-up, then a cosine decay to 0."""
    import optax

    updates = total * config.grpo.num_iterations
    warm = round(config.scheduler.warmup_steps_ratio * updates)
    return optax.schedules.warmup_cosine_decay_schedule(  # type: ignore[no-any-return]
        init_value=0.0 if warm else config.optimizer.learning_rate,
        peak_value=config.optimizer.learning_rate,
        warmup_steps=warm,
        decay_steps=max(round(config.scheduler.decay_steps_ratio * updates), warm + 1),
    )


def push_weights(cluster: Any) -> None:
    """Give a cluster's sampler the weights of the latest update."""
    from flax import nnx
    from tunix.sft.utils import is_lora_enabled

    model = cluster.actor_trainer.model
    kinds = (nnx.LoRAParam,) if is_lora_enabled(model) else (nnx.Param,)
    cluster.rollout.update_params(nnx.state(model, kinds), kinds)
