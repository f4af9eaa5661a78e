"""Rollouts with Tunix's own sampler that can be repeated, and generation for evaluation."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from guerdon.train.backend import Policy
from guerdon.train.backends.tunix.checkpoint import restore_model
from guerdon.train.backends.tunix.model import ModelSource
from guerdon.train.data.problem import Prompt

_CHUNK = 32


_Base: Any = object
"""Stands for Tunix's VanillaRollout, which ``rollout_class`` adds once Tunix is needed."""


class SeededRollout(_Base):  # type: ignore[misc]
    """Tunix's sampler, with a seed of its own for each step: Tunix's draws the same numbers at every call.

    The token that ends a completion stays in it: Tunix cuts it off, and then a model cannot learn to stop. The
    padding token is never sampled: the loss leaves it out everywhere, so the model would never unlearn it.
    The log-probabilities of the sampling policy are those at the sampling temperature.
    """

    def __init__(
        self,
        rollout_actor: Any,
        tokenizer: Any,
        mesh: Any,
        rollout_config: Any,
        *,
        seed: int,
        read: Callable[[Any], str],
        step: Callable[[], int],
        generated: Callable[[int], None],
    ) -> None:
        import jax
        from tunix.rl.rollout.base_rollout import CacheConfig

        cache = _cache(CacheConfig, rollout_actor, rollout_config.kv_cache_size)
        super().__init__(rollout_actor, tokenizer, cache)
        self._key = jax.random.PRNGKey(seed)
        self._read, self._step, self._generated = read, step, generated
        self._temperature = rollout_config.temperature
        self._place = (-1, 0)

    def generate(self, prompts: list[str], rollout_config: Any, **more: Any) -> Any:
        from tunix.rl.rollout.base_rollout import RolloutOutput

        sampled = rollout_config.temperature > 0
        if sampled:
            rollout_config = dataclasses.replace(rollout_config, seed=self._next_key())
        drawn = self._sample(prompts, rollout_config, **more)
        tokens = self._with_end(drawn.tokens, rollout_config)
        if sampled:
            self._generated(sum(map(len, tokens)))
        return RolloutOutput(
            text=[self._read(ids) for ids in drawn.tokens],
            logits=drawn.logits,
            tokens=tokens,
            left_padded_prompt_tokens=drawn.padded_prompt_tokens,
            logprobs=None,
        )

    def _next_key(self) -> Any:
        """A key for the step and the number of its call."""
        import jax

        step = self._step()
        self._place = (step, self._place[1] + 1 if self._place[0] == step else 0)
        return jax.random.fold_in(jax.random.fold_in(self._key, step), self._place[1])

    def _sample(self, prompts: list[str], config: Any, **more: Any) -> Any:
        pad = self.pad_id()
        return self._sampler(
            prompts,
            max_generation_steps=config.max_tokens_to_generate,
            max_prompt_length=config.max_prompt_length,
            temperature=config.temperature,
            top_p=config.top_p,
            top_k=config.top_k,
            seed=config.seed,
            eos_tokens=config.eos_tokens,
            forbidden_tokens=None if pad == self.eos_id() else [pad],
            **more,
        )

    def _with_end(self, tokens: Sequence[Any], config: Any) -> list[Any]:
        """Completions with the token that ended them, where they are shorter than the limit."""
        import numpy

        limit = config.max_tokens_to_generate
        end = numpy.array((config.eos_tokens or [self.eos_id()])[:1])
        return [
            numpy.concatenate([one, end.astype(one.dtype)]) if len(one) < limit else one for one in tokens
        ]

    def get_per_token_logps(self, prompt_tokens: Any, completion_tokens: Any) -> Any:
        from tunix.rl import common

        graph, state = self._sampler.model_def_and_state()
        return common.compute_per_token_logps(
            graph,
            state,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            pad_id=self.pad_id(),
            eos_id=self.eos_id(),
            stop_gradient=True,
            return_logits=False,
            temperature=self._temperature,
        )


@functools.cache
def rollout_class() -> Any:
    """SeededRollout on Tunix's VanillaRollout."""
    from tunix.rl.rollout.vanilla_rollout import VanillaRollout

    return type("SeededVanillaRollout", (SeededRollout, VanillaRollout), {})


def _cache(config_class: Any, model: Any, size: int) -> Any:
    """The configuration of a sampler's cache for so many tokens; Tunix has two classes for it."""
    shape = model.config
    return config_class(
        cache_size=size,
        num_layers=shape.num_layers,
        num_kv_heads=shape.num_kv_heads,
        head_dim=shape.head_dim,
    )


class TunixPolicy(Policy):
    """A model with Tunix's sampler; the same prompts, settings and seed give the same completions."""

    def __init__(self, source: ModelSource, checkpoint: Path | None) -> None:
        self._source = source
        self._model = source.model()
        if checkpoint is not None:
            restore_model(checkpoint, self._model)
        self._samplers: dict[int, Any] = {}

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
        import jax

        texts = [self._source.text(prompt) for prompt in prompts]
        if not texts:
            return []
        longest = max(map(self._source.count, texts)) + 1
        width = max(self._source.config.generation.max_prompt_length, longest)
        sampler = self._sampler(width + max_new_tokens)
        key, drawn = jax.random.PRNGKey(seed), temperature > 0
        tokenizer = self._source.tokenizer
        pad = tokenizer.pad_token_id
        completions: list[str] = []
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            # As many as ever, so that the sampler is compiled once.
            padded = [*chunk, *[chunk[-1]] * (min(_CHUNK, len(texts)) - len(chunk))]
            output = sampler(
                padded,
                max_generation_steps=max_new_tokens,
                max_prompt_length=width,
                temperature=temperature,
                top_p=top_p if drawn else None,
                top_k=top_k if drawn and top_k and top_k > 0 else None,
                seed=jax.random.fold_in(key, start),
                eos_tokens=self._source.config.generation.eos_tokens,
                forbidden_tokens=None if pad == tokenizer.eos_token_id else [pad],
            )
            completions += [self._source.read(tokens) for tokens in output.tokens[: len(chunk)]]
        return completions

    def close(self) -> None:
        self._samplers.clear()

    def _sampler(self, size: int) -> Any:
        from tunix.generate.sampler import CacheConfig, Sampler

        if size not in self._samplers:
            cache = _cache(CacheConfig, self._model, size)
            self._samplers[size] = Sampler(self._model, self._source.tokenizer, cache)
        return self._samplers[size]
