"""Prompts answered by a model of transformers, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from guerdon.errors import InputError
from guerdon.train.data.problem import Prompt


def end_tokens(model: Any, tokenizer: Any, further: Sequence[int] | None = None) -> list[int]:
    """Every token that ends a completion: the model's own, the tokenizer's, and the further ones."""
    own = model.generation_config.eos_token_id
    ends = [] if own is None else own if isinstance(own, list) else [own]
    return [
        end for end in dict.fromkeys([*ends, tokenizer.eos_token_id, *(further or ())]) if end is not None
    ]


def generation_config(
    tokenizer: Any,
    ends: Sequence[int],
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int | None = None,
) -> Any:
    """A GenerationConfig of transformers; greedy where the temperature is 0."""
    import transformers

    config_class: Any = transformers.GenerationConfig
    sampling: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        sampling = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": top_k or 0}
    return config_class(
        max_new_tokens=max_new_tokens,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=list(ends),
        disable_compile=True,
        **sampling,
    )


def complete(model: Any, tokenizer: Any, prompts: Sequence[Prompt], config: Any, *, batch: int) -> list[str]:
    """One completion a prompt, in order; the model is left as it was.

    Raises InputError for conversations where the tokenizer has no chat template.
    """
    import torch

    texts: list[str] = []
    with _answering(model, config), torch.no_grad():
        for start in range(0, len(prompts), batch):
            given = _tokens(tokenizer, prompts[start : start + batch])
            ids, mask = given["input_ids"].to(model.device), given["attention_mask"].to(model.device)
            output = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
            texts += tokenizer.batch_decode(output[:, ids.shape[1] :], skip_special_tokens=True)
    return texts


@contextmanager
def _answering(model: Any, config: Any) -> Iterator[None]:
    """A model that does not learn meanwhile, and whose own settings are not mixed into ``config``."""
    own, learns = model.generation_config, model.training
    model.generation_config = config
    model.eval()
    try:
        yield
    finally:
        model.generation_config = own
        model.train(learns)


def _tokens(tokenizer: Any, prompts: Sequence[Prompt]) -> Any:
    plain = all(isinstance(prompt, str) for prompt in prompts)
    texts = [prompt if isinstance(prompt, str) else chat_text(tokenizer, prompt) for prompt in prompts]
    return tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=plain)


def chat_text(tokenizer: Any, messages: list[dict[str, Any]]) -> str:
    """A conversation as the text that the model answers. Raises InputError without a chat template."""
    if tokenizer.chat_template is None:
        raise InputError(
            "the prompts are conversations and the model has no chat template; take a model that was tuned for "
            "conversations, or give prompts as plain text"
        )
    text: str = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return text
