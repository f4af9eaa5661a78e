"""The journal over HTTP, in Adaptive's form (adaptive-sdk 0.14.2): past requests, and their replay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from guerdon.serve.dispatch.jobs import PendingRequest
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.http.callers import wait_with_caller
from guerdon.serve.http.pipeline import RequestPipeline
from guerdon.serve.http.replies import STOPPING, error_reply
from guerdon.serve.journal.reader import (
    JournalQuery,
    JournalRecord,
    adaptive_requests,
    read_journal,
    request_url,
)
from guerdon.serve.journal.store import Journal
from guerdon.serve.messages import WorkerReply

_MOST = 1000
_USUAL = 100
_MOST_BYTES = 16 << 20
"""Bytes of bodies that are listed at once."""
_AT_ONCE = 8
"""Recorded requests that are scored again side by side."""


class RequestRecord(BaseModel):
    """A recorded request; its secrets were taken out before it was written."""

    id: str
    req_date: str
    method: str
    url: str
    path: str
    headers: dict[str, str]
    body: str


class ReplayedRequest(BaseModel):
    """How a recorded request is answered now."""

    status_code: int
    url: str
    """Where it was sent when it was recorded; nothing is sent there now."""
    body: str
    request_id: str


def add_journal_routes(
    app: FastAPI, pipeline: RequestPipeline, journal: Journal, check_caller: Callable[[Request], None]
) -> None:
    """Add ``GET /requests`` and ``POST /requests/replay_last/{n}``."""

    reading, replaying = asyncio.Lock(), asyncio.Lock()

    @app.get("/requests", tags=["journal"], summary="The last recorded requests, oldest first")
    async def requests(
        request: Request, last: Annotated[int, Query(ge=1, le=_MOST)] = _USUAL
    ) -> list[RequestRecord]:
        check_caller(request)
        scheme = request.url.scheme

        def read() -> bytes:
            journal.flush()
            return json_bytes(adaptive_requests(journal.path, last, scheme, max_bytes=_MOST_BYTES))

        async with reading:  # one after the other: each takes memory, and time of this process
            body = await asyncio.to_thread(read)
        return Response(body, media_type="application/json")  # type: ignore[return-value]

    @app.post(
        "/requests/replay_last/{n}",
        tags=["journal"],
        summary="Score the last recorded requests again on this server; the results are not recorded",
    )
    async def replay_last(request: Request, n: Annotated[int, Path(ge=1, le=_MOST)]) -> list[ReplayedRequest]:
        check_caller(request)
        if pipeline.admission.draining:
            raise HTTPException(503, STOPPING, {"Retry-After": "1"})
        if replaying.locked():
            raise HTTPException(429, "requests are being scored again already; retry", {"Retry-After": "1"})
        async with replaying:
            replay = asyncio.ensure_future(_replayed(pipeline, journal, n, request.url.scheme))
            try:
                await wait_with_caller(request, replay, replay.cancel)
            except ClientDisconnect:
                return []  # nobody reads it
        return await replay


async def _replayed(
    pipeline: RequestPipeline, journal: Journal, n: int, scheme: str
) -> list[ReplayedRequest]:
    def read() -> list[JournalRecord]:
        journal.flush()
        return list(read_journal(journal.path, JournalQuery(last=n), bodies=True))

    room = asyncio.Semaphore(_AT_ONCE)

    async def again(row: JournalRecord) -> ReplayedRequest:
        async with room:
            status, body = await _answer(pipeline, row)
        text = body.decode("utf-8", "replace")
        return ReplayedRequest(
            status_code=status, url=request_url(row, scheme), body=text, request_id=row.request_id
        )

    return await asyncio.gather(*map(again, await asyncio.to_thread(read)))


async def _answer(pipeline: RequestPipeline, row: JournalRecord) -> tuple[int, bytes]:
    """What the present reward answers to a recorded request, without a request being sent."""
    choices = tuple((i, row.op) for i, format in enumerate(FORMATS) if format.name == row.format)
    dispatcher = pipeline.dispatchers.get(row.reward)
    if dispatcher is None or not choices:
        reply = error_reply(
            404, "not_found", f"{row.reward!r} in the format {row.format!r} is not served here"
        )
        return reply.status, reply.body
    if row.request is None:
        reply = error_reply(410, "input", "the body was too large for the journal")
        return reply.status, reply.body
    again = _RepeatedRequest(choices, row.request)
    dispatcher.submit(again)
    try:
        answer = await again.answer
    except asyncio.CancelledError:
        dispatcher.cancel(again)
        raise
    return answer.status, answer.body


class _RepeatedRequest(PendingRequest):
    """A recorded request that is answered once more."""

    def __init__(self, choices: tuple[tuple[int, str], ...], body: bytes) -> None:
        self.choices, self.body = choices, body
        self.answer: asyncio.Future[WorkerReply] = asyncio.get_running_loop().create_future()

    def done(self, answer: WorkerReply) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
