"""Reward models that run in this process: loaded once, fed in batches of like length by a thread of their own."""

from __future__ import annotations

import asyncio
import os
import queue
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.rewards.reward_model.api import plain, text_pair
from guerdon.types import Message

_GATHER_SECONDS = 0.002
"""For how long the first of several calls waits for the others."""
_AHEAD = 512
"""How many calls are sorted by length at once."""
_UNBOUNDED = 1_000_000
"""Tokenizers without a length of their own say something above this."""


@dataclass(frozen=True, slots=True)
class Loading:
    """What decides how a model is loaded and fed."""

    model: str
    revision: str | None
    device: str
    dtype: str
    template: str
    truncation: str
    max_length: int | None
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """What a model said of one conversation."""

    outputs: dict[str, float]
    """By the names of the labels, before any activation."""
    tokens: int
    about: str


@dataclass(frozen=True, slots=True)
class _ModelRequest:
    messages: Sequence[Message]
    future: Future[ModelOutput]


@dataclass(frozen=True, slots=True)
class _Encoded:
    request: _ModelRequest
    features: dict[str, list[int]]

    @property
    def length(self) -> int:
        return len(self.features["input_ids"])


class Model:
    """A sequence-classification model with its tokenizer and the thread that feeds it."""

    def __init__(self, loading: Loading) -> None:
        """Raises InputError where it cannot be had or is no classifier, MissingExtraError without the extra."""
        self._loading = loading
        torch, transformers = _libraries()
        self._torch = torch
        device = loading.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = loading.dtype
        if dtype == "auto":
            dtype = "bfloat16" if device.startswith("cuda") else "float32"
        where = {"revision": loading.revision, "trust_remote_code": False}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(loading.model, **where)
            # Its bars of progress would stand between the lines of the run's own.
            transformers.logging.disable_progress_bar()
            model, report = transformers.AutoModelForSequenceClassification.from_pretrained(
                loading.model, dtype=getattr(torch, dtype), output_loading_info=True, **where
            )
            self._device = torch.device(device)
            self._model = model.to(self._device).eval()
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"the reward model {loading.model} cannot be loaded: {reason}") from error
        if report["missing_keys"]:
            # It would be scored by weights that were drawn by chance just now.
            raise InputError(
                f"{loading.model} is not a reward model: it has no {', '.join(sorted(report['missing_keys'])[:3])}"
            )
        self._set_padding()
        self._specials = _specials_of(self._tokenizer)
        self._is_chat = loading.template == "chat" or (
            loading.template == "auto" and bool(self._tokenizer.chat_template)
        )
        if self._is_chat and not self._tokenizer.chat_template:
            raise InputError(f'{loading.model} has no chat template; use template="pair"')
        self._limit = self._longest()
        config = self._model.config
        self._labels = [str(config.id2label.get(i, i)) for i in range(config.num_labels)]
        commit = getattr(config, "_commit_hash", None)
        self._about = f"{loading.model}@{commit[:12]}" if commit else loading.model
        self._requests: queue.SimpleQueue[_ModelRequest] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="guerdon-reward-model", daemon=True).start()

    async def outputs(self, messages: Sequence[Message]) -> ModelOutput:
        """What the model says of a conversation. Raises InputError where it cannot take it."""
        request = _ModelRequest(messages, Future())
        self._requests.put(request)
        return await asyncio.wrap_future(request.future)

    def _set_padding(self) -> None:
        """Have batches padded on the right, by a token that the model knows as such."""
        tokenizer, config = self._tokenizer, self._model.config
        if tokenizer.pad_token_id is None:
            if tokenizer.eos_token is None:
                raise InputError(
                    f"the tokenizer of {self._loading.model} has neither a padding nor an end token"
                )
            tokenizer.pad_token = tokenizer.eos_token
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = tokenizer.pad_token_id
        tokenizer.padding_side = "right"

    def _longest(self) -> int:
        known = [
            self._loading.max_length,
            getattr(self._model.config, "max_position_embeddings", None),
            self._tokenizer.model_max_length,
        ]
        return min(n for n in (*known, _UNBOUNDED) if isinstance(n, int) and n > 0)

    # The model's thread.

    def _run(self) -> None:
        while True:
            requests = [
                request for request in self._gathered() if request.future.set_running_or_notify_cancel()
            ]
            encoded: list[_Encoded] = []
            for request in requests:
                try:
                    encoded.append(_Encoded(request, self._features(request.messages)))
                except Exception as error:  # the edge of the thread: the waiting caller raises it
                    request.future.set_exception(error)
            for batch in self._batches(encoded):
                self._score(batch)

    def _gathered(self) -> list[_ModelRequest]:
        """The first call that comes, and those that come soon after."""
        requests = [self._requests.get()]
        try:
            while len(requests) < _AHEAD:
                requests.append(self._requests.get(timeout=_GATHER_SECONDS))
        except queue.Empty:
            pass
        return requests

    def _batches(self, encoded: list[_Encoded]) -> list[list[_Encoded]]:
        """Those of like length together, each batch padded to no more than so many tokens."""
        batches: list[list[_Encoded]] = []
        for entry in sorted(encoded, key=lambda entry: entry.length, reverse=True):
            if batches and batches[-1][0].length * (len(batches[-1]) + 1) <= self._loading.batch_tokens:
                batches[-1].append(entry)
            else:
                batches.append([entry])
        return batches

    def _features(self, messages: Sequence[Message]) -> dict[str, list[int]]:
        """A conversation as tokens. Raises InputError where it is too long or the template refuses it."""
        tokenizer = self._tokenizer
        if self._is_chat:
            harmless = [{**m, "content": self._harmless(m["content"])} for m in plain(messages)]
            try:
                text = tokenizer.apply_chat_template(harmless, tokenize=False)
            except Exception as error:  # a template is a program of the model's and raises what it likes
                raise InputError(f"the model's chat template refuses the conversation: {error}") from error
            features = tokenizer(text, add_special_tokens=False)
        else:
            features = tokenizer(*map(self._harmless, text_pair(messages)))
        length = len(features["input_ids"])
        if not length:
            raise InputError("the conversation has no tokens")
        if length > self._limit:
            features = self._cut(features, length)
        return {name: list(values) for name, values in features.items()}

    def _cut(self, features: Any, length: int) -> dict[str, list[int]]:
        if self._loading.truncation == "error":
            raise InputError(
                f"the conversation has {length:,} tokens and the model takes {self._limit:,}; "
                'truncation="left" would leave out its beginning'
            )
        kept = slice(-self._limit, None) if self._loading.truncation == "left" else slice(self._limit)
        return {name: values[kept] for name, values in features.items()}

    def _harmless(self, text: str) -> str:
        """The text with the special tokens that it spells taken apart: a response must not open a turn."""
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates are not text to a tokenizer
        return self._specials.sub(_apart, text) if self._specials is not None else text

    def _score(self, batch: list[_Encoded]) -> None:
        torch = self._torch
        try:
            padded = self._tokenizer.pad([entry.features for entry in batch], return_tensors="pt")
            with torch.inference_mode():
                logits = self._model(**padded.to(self._device)).logits.float().cpu().tolist()
        except Exception as error:  # the edge of the thread, as above; memory of the GPU may run out
            self._score_by_halves(batch, error)
            return
        for entry, values in zip(batch, logits, strict=True):
            outputs = dict(zip(self._labels, values, strict=True))
            entry.request.future.set_result(
                ModelOutput(outputs, entry.length, f"{self._about}, {entry.length} tokens")
            )

    def _score_by_halves(self, batch: list[_Encoded], error: Exception) -> None:
        """A batch may be too large where its halves are not."""
        if len(batch) == 1:
            batch[0].request.future.set_exception(error)
            return
        middle = len(batch) // 2
        self._score(batch[:middle])
        self._score(batch[middle:])


def _apart(special: re.Match[str]) -> str:
    text = special[0]
    return f"{text[0]} {text[1:]}" if len(text) > 1 else " "


def _specials_of(tokenizer: Any) -> re.Pattern[str] | None:
    """A pattern of the texts that the tokenizer reads as special tokens."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    texts = sorted({*added, *tokenizer.all_special_tokens} - {""}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, texts))) if texts else None


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError.of("reward-model", "a reward model that runs here") from error
    return torch, transformers


class _LoadedModels:
    """The models of this process. Private to an object, so that loading one does not change the reward's version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[int, Loading], Model] = {}

    def of(self, loading: Loading) -> Model:
        key = (os.getpid(), loading)  # the thread of a parent process is not there in a fork
        with self._lock:
            if key not in self._models:
                self._models[key] = Model(loading)
            return self._models[key]

    def after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it


_loaded = _LoadedModels()
os.register_at_fork(after_in_child=_loaded.after_fork)


def model_of(loading: Loading) -> Model:
    """The model of this process for what it is loaded with, made at the first use. Raises what Model raises."""
    return _loaded.of(loading)
