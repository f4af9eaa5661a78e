"""Models made on the spot: a Llama of any size with random weights, and a tokenizer of single characters."""

from __future__ import annotations

import string
from typing import Any

from guerdon.train.config.schema import Config, ModelConfig

PRINTABLE = "".join(c for c in string.printable if c not in "\t\r\x0b\x0c")
"""What a model reads and writes where its problems say nothing else."""
SUMS = "0123456789+-=. "
"""What sums are written in: so few characters that a model soon stumbles upon a right answer."""
PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"
_TEMPLATE = (
    "{% for message in messages %}"
    "{{ message['content'] }}{% if not loop.last %}{{ '\n' }}{% endif %}"
    "{% endfor %}"
)


def alphabet_of(config: Config) -> str:
    """The characters that a model which is made on the spot knows."""
    return SUMS if config.training.data_source == "arithmetic" else PRINTABLE


def character_tokenizer(alphabet: str) -> Any:
    """A tokenizer of transformers with a token for each character; others become one for the unknown.

    >>> tokenizer = character_tokenizer("0123456789+=.")
    >>> tokenizer.decode(tokenizer("3+4").input_ids), len(tokenizer)
    ('3+4', 16)
    """
    import transformers
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {token: number for number, token in enumerate((PAD, EOS, UNKNOWN, *dict.fromkeys(alphabet)))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast: Any = transformers.PreTrainedTokenizerFast
    made = fast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = _TEMPLATE
    return made


def random_llama(config: ModelConfig, tokenizer: Any, *, positions: int, seed: int) -> Any:
    """A Llama with random weights, the same for the same seed; the random state outside is left as it was.

    ``positions`` is the longest sequence in tokens. A tiny one starts with larger weights than is usual, since
    otherwise it learns the commonest answer long before it sees what the problem says.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_heads,
        max_position_embeddings=positions,
        initializer_range=0.1 if config.model_family == "tiny" else 0.02,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(shape)
