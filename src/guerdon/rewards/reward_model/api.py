"""Reward models behind a server: the requests and answers of vLLM and of text-embeddings-inference.

Sources: vLLM's ``/classify``, ``/pooling`` and ``/score`` (vllm/entrypoints/pooling); TEI's ``/predict`` and
``/rerank`` (router/src/http/types.rs). Each is asked for outputs without an activation.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError, RemoteError
from guerdon.retry_timing import backoff, retry_after
from guerdon.rewards.common.http import SESSIONS, library
from guerdon.types import Message

KEY_VARIABLE = "GUERDON_REWARD_MODEL_API_KEY"
_ATTEMPTS = 4
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0
_ANSWER_BYTES = 1 << 22
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


def text_pair(messages: Sequence[Message]) -> tuple[str, str]:
    """The conversation as a prompt and a response: the texts before the last message, and its own."""
    return "\n".join(message.text for message in messages[:-1]), messages[-1].text


def plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages in OpenAI's form, with what a chat template reads."""
    return [{**message.to_dict(), "content": message.text} for message in messages]


@dataclass(frozen=True, slots=True)
class _Api:
    """One interface: where it is, what it is sent, and how its outputs are read."""

    path: str
    body: Callable[[str, Sequence[Message]], dict[str, Any]]
    read: Callable[[Any], Mapping[str, Any]]


def _of_conversation(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    return {**_named(model), "messages": plain(messages), "use_activation": False}


def _of_texts(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    prompt, response = text_pair(messages)
    return {**_named(model), "text_1": prompt, "text_2": response, "use_activation": False}


def _of_inputs(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    return {"inputs": [list(text_pair(messages))], "raw_scores": True, "truncate": False}


def _of_query(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    prompt, response = text_pair(messages)
    return {"query": prompt, "texts": [response], "raw_scores": True, "truncate": False}


def _named(model: str) -> dict[str, str]:
    return {"model": model} if model else {}


def _probabilities(answer: Any) -> Mapping[str, Any]:
    return {str(i): value for i, value in enumerate(answer["data"][0]["probs"])}


def _pooled(answer: Any) -> Mapping[str, Any]:
    data = answer["data"][0]["data"]
    # A model that scores every token has said all that it says of the response at the last one.
    last = data[-1] if data and isinstance(data[-1], list) else data
    return {str(i): value for i, value in enumerate(last)}


def _scored(answer: Any) -> Mapping[str, Any]:
    return {"0": answer["data"][0]["score"]}


def _predicted(answer: Any) -> Mapping[str, Any]:
    # Sorted by score there; by name the order is the same for every sample.
    return dict(sorted((str(entry["label"]), entry["score"]) for entry in answer[0]))


def _ranked(answer: Any) -> Mapping[str, Any]:
    return {"0": answer[0]["score"]}


APIS: Mapping[str, _Api] = {
    "vllm-classify": _Api("/classify", _of_conversation, _probabilities),
    "vllm-pooling": _Api("/pooling", _of_conversation, _pooled),
    "vllm-score": _Api("/score", _of_texts, _scored),
    "tei-predict": _Api("/predict", _of_inputs, _predicted),
    "tei-rerank": _Api("/rerank", _of_query, _ranked),
}


@dataclass(frozen=True, slots=True)
class RewardModelServer:
    """A server that has a reward model."""

    base_url: str
    api: str
    model: str

    async def outputs(self, messages: Sequence[Message]) -> dict[str, float]:
        """The model's outputs for a conversation, by name.

        Raises RemoteError where the server fails or answers something else, InputError where it refuses the
        conversation (4xx), MissingExtraError without aiohttp.
        """
        api = APIS[self.api]
        answer = await self._answer(self.base_url + api.path, api.body(self.model, messages))
        try:
            found = {name: float(value) for name, value in api.read(answer).items()}
        except (LookupError, TypeError, ValueError, AttributeError):
            raise RemoteError(
                f"{self.base_url} did not answer as {self.api} does; choose another api="
            ) from None
        if not found:
            raise RemoteError(f"{self.base_url} answered without a score")
        return found

    async def _answer(self, url: str, body: Mapping[str, Any]) -> Any:
        """The JSON that the server answers, after so many attempts; the caller's deadline ends all of them."""
        aiohttp = library("client", "a reward model behind a server")
        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        problem = ""
        async with SESSIONS.session() as session:
            for attempt in range(_ATTEMPTS):
                asked = 0.0
                try:
                    # A redirect is not followed: neither the key nor the texts go where nobody sent them.
                    async with session.post(
                        url, json=body, headers=headers, allow_redirects=False
                    ) as response:
                        if response.status == 200:
                            return await _json(response)
                        said = (await response.content.read(500)).decode("utf-8", "replace")
                        problem = f"status {response.status}: {' '.join(said.split())[:200]}"
                        if response.status not in _AGAIN:
                            refused = InputError if response.status in (400, 413, 422) else RemoteError
                            raise refused(f"{url} refused the conversation, {problem}")
                        asked = retry_after(response.headers) or 0.0
                except (OSError, aiohttp.ClientError) as error:
                    problem = str(error) or type(error).__name__
                if attempt + 1 < _ATTEMPTS:
                    wait = backoff(attempt + 1, first=_FIRST_WAIT, longest=_LONGEST_WAIT)
                    await asyncio.sleep(max(asked, wait))
        raise RemoteError(f"{url} did not answer in {_ATTEMPTS} attempts, {problem}")


async def _json(response: Any) -> Any:
    text = await response.content.read(_ANSWER_BYTES)
    while (more := await response.content.read(_ANSWER_BYTES)) and len(text) < _ANSWER_BYTES:
        text += more
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise RemoteError(f"{response.url} answered something that is not JSON") from None
