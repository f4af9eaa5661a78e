"""Requests through the ASGI application: one whole response, or JSON lines that are sent as results come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.base import RewardInfo, json_bytes
from guerdon.serve.formats.v1 import result_of
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import KeyCheck
from guerdon.serve.http.callers import wait_with_caller
from guerdon.serve.http.pipeline import InboundRequest, RequestPipeline
from guerdon.serve.http.replies import HttpReply
from guerdon.serve.messages import WorkerReply

Update = tuple[int, Sequence[Outcome]] | WorkerReply
"""Outcomes with the position of the first one, or the reply that ends a stream."""


class HeldBody:
    """A body while it is read, within the limits of admission."""

    def __init__(self, admission: AdmissionControl) -> None:
        self._admission = admission
        self._size = 0
        self.body = b""
        self.is_streamed = False
        """It is held until its response has been streamed."""

    async def read(self, request: Request) -> HttpReply | None:
        """Read a request's body; the reply to one that is too large. Raises ClientDisconnect."""
        admission, chunks = self._admission, []
        async for chunk in request.stream():
            if self._size + len(chunk) > admission.max_body:
                return admission.too_large()
            if not admission.buffered.take(len(chunk)):
                return admission.no_memory()
            self._size += len(chunk)
            chunks.append(chunk)
        self.body = b"".join(chunks)
        return None

    def release(self) -> None:
        """Count the body as held no more."""
        self._admission.buffered.release(self._size)
        self._size = 0


class StreamedLines(StreamingResponse):
    """JSON lines; however the stream ends, nothing goes on for it and its body is held no more."""

    def __init__(self, lines: AsyncIterator[bytes], inbound: AsgiRequest, held: HeldBody) -> None:
        super().__init__(lines, media_type="application/jsonl")
        self._inbound, self._held = inbound, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._inbound.abandon()
            self._held.release()


class AsgiRequest(InboundRequest):
    """A request whose reply, or whose outcomes one by one, a coroutine awaits."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.future: asyncio.Future[HttpReply] = asyncio.get_running_loop().create_future()
        self.updates: asyncio.Queue[Update] = asyncio.Queue()
        self.sample_ids: list[Any] = []

    def abandon(self) -> None:
        """The caller is gone, or has all that it gets."""
        self._pipeline.abandon(self)

    def send(self, reply: HttpReply) -> None:
        if not self.future.done():
            self.future.set_result(reply)

    def done(self, reply: WorkerReply) -> None:
        if self.parse_only:
            self.updates.put_nowait(reply)
        else:
            super().done(reply)

    def on_parsed(self, context: Any) -> None:
        self.sample_ids = context

    def on_outcomes(self, start: int, outcomes: Sequence[Outcome]) -> None:
        self.updates.put_nowait((start, outcomes))


async def start_stream(
    pipeline: RequestPipeline, inbound: AsgiRequest, request: Request
) -> HttpReply | AsyncIterator[bytes]:
    """Start a batch whose results are sent one by one: its JSON lines, or the reply to a request that is refused.

    Raises ClientDisconnect.
    """
    inbound.plain, inbound.parse_only = False, True
    inbound.choices = tuple(choice for choice in inbound.choices if FORMATS[choice[0]].name == "v1")
    inbound.endpoint.dispatcher.submit(inbound)
    waiting = asyncio.ensure_future(inbound.updates.get())
    try:
        await wait_with_caller(request, waiting, inbound.abandon)
    finally:
        waiting.cancel()
    first = waiting.result()
    if isinstance(first, WorkerReply) and first.status:
        pipeline.respond(inbound, first)
        return await inbound.future
    return _lines(pipeline, inbound, first)


async def _lines(pipeline: RequestPipeline, inbound: AsgiRequest, first: Update) -> AsyncIterator[bytes]:
    """One line for each result; the last line has their number."""
    description = inbound.endpoint.dispatcher.description
    assert description is not None
    reward = RewardInfo(description.name, description.version, description.parameters)
    item = first
    keys = pipeline.admission.keys
    generation = keys.generation
    while not isinstance(item, WorkerReply):
        if keys.generation != generation:
            generation = keys.generation
            if keys.check(inbound.headers) is not KeyCheck.OK:
                return  # revoked: the stream is cut off
        start, outcomes = item
        yield b"".join(
            json_bytes({"index": start + i, **result_of(outcome, inbound.sample_ids[start + i], reward)})
            + b"\n"
            for i, outcome in enumerate(outcomes)
        )
        item = await inbound.updates.get()
    if item.status:  # it failed midway: without a last line the caller knows that the stream was cut off
        pipeline.respond(inbound, item)
        return
    pipeline.record_streamed(inbound, item)
    yield json_bytes({"done": len(item.outcomes)}) + b"\n"
