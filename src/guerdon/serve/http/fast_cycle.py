"""FastRequestCycle: one request on a connection and its reply, without an ASGI application."""

from __future__ import annotations

from typing import Protocol

from guerdon.serve.http.endpoints import RewardEndpoint
from guerdon.serve.http.pipeline import InboundRequest, RequestPipeline
from guerdon.serve.http.replies import HeaderPairs, HttpReply

SHORT_BYTES = 100_000
"""A body shorter than this is read to its end before it is refused, and the connection goes on."""


class CycleOwner(Protocol):
    """The connection of a cycle."""

    request_pipeline: RequestPipeline
    client_name: str

    def write(self, cycle: FastRequestCycle, reply: HttpReply) -> None: ...
    def send_continue(self) -> None: ...


class _NoEvent:
    def set(self) -> None:
        """Nobody waits for it."""


class FastRequestCycle:
    """One request and its reply; stands where uvicorn has its cycle of request and response.

    ``endpoint`` is None for what is no request, which has a refusal only. ``length`` is the body's, -1 where it
    is not known.
    """

    # What most requests leave as it is costs nothing here when a cycle is made.
    response_complete = disconnected = started = False
    more_body = True
    body = b""
    message_event = _NoEvent()
    _bytes = 0
    _request: InboundRequest | None = None
    _refusal: HttpReply | None = None

    def __init__(
        self,
        owner: CycleOwner,
        endpoint: RewardEndpoint | None,
        headers: HeaderPairs,
        by_name: dict[bytes, bytes],
        keep_alive: bool,
        length: int = -1,
        expects: bool = False,
        path: str = "",
    ) -> None:
        self.path = path if endpoint is None else endpoint.path
        self.owner, self.endpoint, self.headers, self.keep_alive = owner, endpoint, headers, keep_alive
        self.length, self.expects = length, expects
        self.by_name = by_name
        self.request_id = owner.request_pipeline.request_id(by_name.get(b"x-request-id"))
        self._chunks: list[bytes] = []

    def add(self, data: bytes) -> None:
        """Take a chunk of the body; a body that is too large is refused as soon as that is known."""
        if self.response_complete or self._refusal is not None:
            return
        admission = self.owner.request_pipeline.admission
        size = len(data)
        if self._bytes + size > admission.max_body:
            self.refuse(admission.too_large())
        elif not admission.buffered.take(size):
            self.refuse(admission.no_memory())
        else:
            self._bytes += size
            self._chunks.append(data)

    def complete(self) -> None:
        """The body is there."""
        self.more_body = False
        if self.started and not self.response_complete:
            if self._refusal is None:
                self._ask()
            else:
                self.refuse(self._refusal)

    def begin(self) -> None:
        """Its turn has come on this connection."""
        self.started = True
        if self._refusal is not None:
            self.refuse(self._refusal)
        elif not self.more_body:
            self._ask()
        elif self.expects and not self._bytes:
            self.owner.send_continue()

    def _ask(self) -> None:
        chunks, self._chunks = self._chunks, []
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        owner, endpoint = self.owner, self.endpoint
        assert endpoint is not None
        pipeline = owner.request_pipeline
        self._request = request = _FastRequest(
            pipeline, endpoint, "POST", self.headers, self.request_id, owner.client_name, body
        )
        request.cycle = self
        pipeline.begin(request, self.by_name)

    def refuse(self, reply: HttpReply) -> None:
        """Answer once its turn has come, and a short body with it; of a long one no more is waited for."""
        self._forget_body()
        if not self.started or (self.more_body and self._is_short()):
            self._refusal = reply
            return
        pipeline = self.owner.request_pipeline
        pipeline.record_refusal("POST", self.path, reply, self.request_id, self.owner.client_name)
        if self.more_body:
            self.keep_alive = False
        self.reply(reply)

    def fail(self, reply: HttpReply) -> None:
        """Answer once its turn has come, and end the connection: what comes after it cannot be read."""
        self.length, self.keep_alive = -1, False
        self.refuse(reply)

    def _is_short(self) -> bool:
        """Whether the rest of the body seems to be on its way already."""
        return not self.expects and 0 <= self.length < SHORT_BYTES

    def reply(self, reply: HttpReply) -> None:
        """Write the response, and let the next request on this connection have its turn."""
        if self.response_complete:
            return
        self.response_complete = True
        if self._bytes:
            self._forget_body()
        if not self.disconnected:
            self.owner.write(self, reply)

    def drop(self) -> None:
        """The connection is gone."""
        self.disconnected = True
        if self._request is None:
            self._forget_body()
        elif not self.response_complete:
            if self._request.key is None:
                self._forget_body()
            self.owner.request_pipeline.abandon(self._request)

    def _forget_body(self) -> None:
        self.owner.request_pipeline.admission.buffered.release(self._bytes)
        self._bytes = 0
        self._chunks.clear()


class _FastRequest(InboundRequest):
    cycle: FastRequestCycle
    """Set once it is made: an ``__init__`` of its own would cost as much as what it saves to write."""

    def send(self, reply: HttpReply) -> None:
        self.cycle.reply(reply)
