"""One question to a judge over HTTP: tried again after faults, in the form that its server takes."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.errors import InvalidResultError, RemoteError
from guerdon.retry_timing import backoff, retry_after
from guerdon.rewards.common.http import library
from guerdon.rewards.judge.endpoint import KNOWN, JudgeEndpoint
from guerdon.rewards.judge.prompts import VERSION, JudgeQuestion
from guerdon.rewards.judge.settings import JudgeSettings
from guerdon.rewards.judge.verdicts import Judgement, bounded, read, schema_of
from guerdon.types import MetricResult

if TYPE_CHECKING:
    import aiohttp

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds that bound the first wait before another try, and every wait that no server asked for."""
READS = 2
"""How often a judge is asked in all where its message holds no verdict."""
_MOST_BYTES = 8 << 20
_PASSING = frozenset({408, 409, 425, 429})
_REFUSED_FORM = frozenset({400, 415, 422, 501})
_ANOTHER_SEED = 7919
_TOO_LONG = re.compile(r"context.{0,40}(?:length|size|window)", re.IGNORECASE)
_HINTS: Mapping[int, str] = {
    401: "; is the key right?",
    403: "; may this key use the model?",
    404: "; are the address and the model right?",
}


@dataclass(slots=True)
class Usage:
    """What the questions of one judgement cost so far."""

    requests: int = 0
    """Requests that were answered or failed, further tries included."""
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens_reported: bool = False
    """Whether the server said how many tokens there were."""

    def add(self, usage: Any) -> None:
        """Count the tokens that a server reports for an answer."""
        if not isinstance(usage, Mapping):
            return
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        asked, given = (n if isinstance(n, int) and not isinstance(n, bool) and n >= 0 else 0 for n in counts)
        self.prompt_tokens += asked
        self.completion_tokens += given
        self.tokens_reported = self.tokens_reported or bool(asked or given)

    def metrics(self, settings: JudgeSettings) -> dict[str, MetricResult]:
        """Who judged and what the judgement cost."""
        who = f"{settings.endpoint.model}, prompts {VERSION}"
        found = {
            "judge": MetricResult(VERSION, reason=who),
            "requests": MetricResult(self.requests),
            "cached": MetricResult(self.cached),
        }
        if self.tokens_reported or not self.requests:
            found["prompt_tokens"] = MetricResult(self.prompt_tokens)
            found["completion_tokens"] = MetricResult(self.completion_tokens)
            if (price := settings.price(self.prompt_tokens, self.completion_tokens)) is not None:
                found["cost"] = MetricResult(price)
        return found


@dataclass(frozen=True, slots=True)
class JudgeClient:
    """Asks a judge over HTTP; one client for all questions of a judgement."""

    settings: JudgeSettings
    session: aiohttp.ClientSession
    usage: Usage
    ends: float
    """When the judgement must be over, by the monotonic clock."""

    @property
    def endpoint(self) -> JudgeEndpoint:
        """Where the judge is."""
        return self.settings.endpoint

    async def judgement(self, question: JudgeQuestion, seed: int) -> Judgement:
        """The verdict on a question. A message without one is asked for once more, under another seed.

        Raises RemoteError where the judge does not answer, InvalidResultError where its messages hold no verdict.
        """
        for again in range(READS):
            try:
                return await self._judgement(question, seed + again * _ANOTHER_SEED)
            except InvalidResultError as error:
                failure = error
        raise failure

    async def _judgement(self, question: JudgeQuestion, seed: int) -> Judgement:
        request = {
            "model": self.endpoint.model,
            "messages": list(question.messages),
            "temperature": self.settings.temperature,
            "seed": seed,
            "max_tokens": self.settings.max_tokens,
        }
        cache = self.settings.cache
        if cache is None:
            return read(await self._message(request, question), question)
        key = cache.key(self.endpoint.address, {**request, "schema": schema_of(question)})
        if (kept := await cache.get(key)) is not None:
            self.usage.cached += 1
            return read(kept, question)
        message = await self._message(request, question)
        judgement = read(message, question)
        await cache.put(key, message)
        return judgement

    async def _message(self, request: Mapping[str, Any], question: JudgeQuestion) -> str:
        """The judge's message, after as many requests as it takes to learn what its server takes."""
        server = KNOWN.of(self.endpoint)
        while True:
            body = server.body(request, schema_of(question))
            status, answer = await self._answer(body)
            if status == 200:
                KNOWN.learn(self.endpoint, server)
                return message_of(answer)
            complaint = self._complaint(answer)
            too_long = _TOO_LONG.search(complaint) is not None
            other = server.after(complaint, body, may_lower=not too_long) if status in _REFUSED_FORM else None
            if other is None:
                hint = "; max_characters= shortens what it reads" if too_long else _HINTS.get(status, "")
                raise RemoteError(f"{self.endpoint.url} answered {status}: {complaint}{hint}", status=status)
            server = other

    async def _answer(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        """The status and the JSON of an answer that is no fault. Raises RemoteError where every try ended in one."""
        data = json.dumps(body).encode()
        tries = 0
        while True:
            tries += 1
            self.usage.requests += 1
            wait = 0.0
            try:
                async with asyncio.timeout(self.settings.request_seconds):
                    status, headers, content = await self._once(data)
            except (TimeoutError, OSError, library().ClientError) as error:
                fault = f"{self.endpoint.url} {self._broke_off(error)}"
            else:
                answer = _json(content)
                if isinstance(answer, Mapping):
                    self.usage.add(answer.get("usage"))
                passing = status in _PASSING or (status >= 500 and status != 501)
                if not passing and not (status == 200 and not _is_completion(answer)):
                    return status, answer
                wait = retry_after(headers) or 0.0
                said = self._complaint(answer) if passing else "no chat completion"
                fault = f"{self.endpoint.url} answered {status}: {said}"
                if "insufficient_quota" in json.dumps(answer):
                    raise RemoteError(fault, status=status)
            await self._pause(fault, tries, wait)

    async def _once(self, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        # A redirect is not followed: neither the key nor the texts go where nobody sent them.
        async with self.session.post(
            self.endpoint.url, data=data, headers=headers, allow_redirects=False
        ) as response:
            content = b""
            while len(content) <= _MOST_BYTES and (part := await response.content.readany()):
                content += part
            if len(content) > _MOST_BYTES:
                raise RemoteError(f"{self.endpoint.url} answered with more than {_MOST_BYTES >> 20} MiB")
            return response.status, response.headers, self.endpoint.struck_out(content)

    async def _pause(self, fault: str, tries: int, asked: float) -> None:
        """Wait until the next try. Raises RemoteError where there is to be none, or not in time."""
        times = f" ({tries} tries)" if tries > 1 else ""
        if tries > self.settings.retries:
            raise RemoteError(f"{fault}{times}")
        wait = max(asked, backoff(tries, first=FIRST_WAIT, longest=LONGEST_WAIT))
        if time.monotonic() + wait >= self.ends:
            raise RemoteError(f"{fault}{times}; the next try, in {wait:.3g} s, would come after the deadline")
        await asyncio.sleep(wait)

    def _complaint(self, answer: Any) -> str:
        """What a server says against a request."""
        error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
        if isinstance(error, Mapping):
            parts = [error.get(name) for name in ("message", "code", "param", "detail")]
            error = " ".join(part if isinstance(part, str) else json.dumps(part) for part in parts if part)
        text = error if isinstance(error, str) else json.dumps(error)
        return bounded(text, 300) or "nothing"

    def _broke_off(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError):
            return f"did not answer within {self.settings.request_seconds:g} s"
        inner = getattr(error, "os_error", error)
        reason = getattr(inner, "strerror", None) or str(inner) or type(error).__name__
        return f"cannot be asked: {reason}"


def message_of(answer: Any) -> str:
    """The text of the judge's message. Raises InvalidResultError where it refused, was cut short or called a tool."""
    choice = answer["choices"][0]
    message = choice["message"]
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        raise InvalidResultError(f"the judge refused: {bounded(refusal, 300)}")
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        raise InvalidResultError("the judge's answer was held back by its server's content filter")
    if finish == "length":
        raise InvalidResultError("the judge's answer was cut off; max_tokens= lets it be longer")
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str) or not content.strip():
        called = "called a tool in place of a verdict" if message.get("tool_calls") else "answered nothing"
        raise InvalidResultError(f"the judge {called}")
    return content.encode("utf-8", "replace").decode("utf-8")


def _is_completion(answer: Any) -> bool:
    try:
        return isinstance(answer["choices"][0]["message"], dict)
    except (TypeError, LookupError):
        return False


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
