"""Reward models and tokenizers made on the spot: a few thousand weights, drawn from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = (
    "[PAD]",
    "[UNK]",
    "<|turn|>",
    "<|end|>",
    "user",
    "assistant",
    "system",
    "two",
    "plus",
    "is",
    "four",
    "five",
)
CHAT = "{% for m in messages %}<|turn|> {{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer(chat: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token="<|end|>",
        additional_special_tokens=["<|turn|>"],
        model_max_length=64,
    )
    if chat:
        made.chat_template = CHAT
    return made


def save_classifier(folder: Path, labels: int = 1, chat: bool = True, seed: int = 0) -> Path:
    """A Llama with a head of so many labels, in a folder as ``save_pretrained`` writes it."""
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        num_labels=labels,
        pad_token_id=0,
        initializer_range=0.5,
    )
    if labels == 2:
        config.id2label = {0: "BAD", 1: "GOOD"}
    model = LlamaForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer(chat).save_pretrained(folder)
    return folder


def outputs(folder: Path, text: str, pair: str | None = None) -> list[float]:
    """What the model gives a text, by transformers alone and without a batch."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    words = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    both = words(text, add_special_tokens=False) if pair is None else words(text, pair)
    ids = torch.tensor([both["input_ids"]])
    with torch.inference_mode():
        return [float(value) for value in model(input_ids=ids).logits[0]]


LAST_WORDS = {"four": 1.0, "five": -1.0, "two": 0.5, "is": -0.25, "[UNK]": 0.125, "user": 2.0}
"""What ``save_last_word_scorer`` pays for the last word of a text; 0 for others that it knows."""


def save_last_word_scorer(folder: Path) -> Path:
    """A model whose output is told by the last token alone, so that scores can be worked out by hand.

    It has no layers: the embedding of each word is a direction of its own, and the head pays by direction.
    """
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification

    size = len(WORDS)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=size,
        intermediate_size=size,
        num_hidden_layers=0,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        num_labels=1,
        pad_token_id=0,
        rms_norm_eps=1e-12,
    )
    model = LlamaForSequenceClassification(config)
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        # The norm makes each embedding the square root of its size long.
        paid = torch.tensor([[LAST_WORDS.get(word, 0.0) for word in WORDS]])
        model.score.weight.copy_(paid / size**0.5)
    model.save_pretrained(folder)
    tokenizer(chat=False).save_pretrained(folder)
    return folder


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789+-*/=.,!?() "
LETTER_CHAT = (
    "{% for m in messages %}{{ m['role'][0] }}{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}a{% endif %}"
)


def letter_tokenizer() -> Any:
    """A token for each character, with a chat template."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = {token: i for i, token in enumerate(("[PAD]", "[UNK]", "[EOS]", *LETTERS))}
    letters = Tokenizer(models.WordLevel(tokens, unk_token="[UNK]"))
    letters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    letters.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(
        tokenizer_object=letters,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token="[EOS]",
        padding_side="left",
    )
    made.chat_template = LETTER_CHAT
    return made


def save_policy(folder: Path, seed: int = 0) -> Path:
    """A Llama of some thousand weights that writes letters, with its tokenizer, as a trainer starts from it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(LETTERS) + 3,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    letter_tokenizer().save_pretrained(folder)
    return folder


def save_chat_model(folder: Path) -> Path:
    """A Llama of two small layers with a tokenizer of bytes and a chat template, the same weights each time."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate([*special, *letters])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=special[1:],
    )
    fast.chat_template = CHATML
    fast.save_pretrained(folder)
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(special) + len(letters),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=16384,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
