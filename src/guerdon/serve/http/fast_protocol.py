"""FastHttpProtocol: a short path for scoring requests, past the ASGI application.

uvicorn's HTTP protocol makes a scope, an event, a task and two closures for every request, and FastAPI routes it:
36 µs of a processor's time before anything is scored, where parsing and answering takes 15. This protocol answers
requests for the pipeline's endpoints itself and leaves all others to the application. The application answers these
paths as well, where another server runs it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from guerdon.serve.http.endpoints import RewardEndpoint, wants_lines
from guerdon.serve.http.pipeline import InboundRequest, RequestPipeline
from guerdon.serve.http.replies import HttpReply, error_reply, stopping_reply
from guerdon.serve.http.websocket import WebSocketConnection

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_READ_SECONDS = 60.0
"""How long a request may take to arrive."""
_IDLE_SECONDS = 75.0
"""How long a connection is kept on which no request comes."""
SWEEP_SECONDS = 5.0
_SHORT_DIGITS = 6
"""A body of less than 100,000 bytes is read to its end before it is refused, and the connection goes on."""
_LINGER_SECONDS = 2.0
"""How long a body that is refused is read on, so that its sender, who is busy sending, sees the answer."""


class FastRequestCycle:
    """One request and its reply; stands where uvicorn has its cycle of request and response."""

    __slots__ = (
        "_bytes",
        "_chunks",
        "_refusal",
        "_request",
        "body",
        "disconnected",
        "endpoint",
        "headers",
        "keep_alive",
        "message_event",
        "more_body",
        "protocol",
        "request_id",
        "response_complete",
        "started",
    )

    def __init__(
        self,
        protocol: FastHttpProtocol,
        endpoint: RewardEndpoint,
        headers: list[tuple[bytes, bytes]],
        keep_alive: bool,
    ) -> None:
        self.protocol, self.endpoint, self.headers, self.keep_alive = protocol, endpoint, headers, keep_alive
        self.response_complete = self.disconnected = self.started = False
        self.more_body = True
        self.body = b""
        self.message_event = _NO_EVENT
        self.request_id = protocol.request_pipeline.request_id(headers)
        self._chunks: list[bytes] = []
        self._bytes = 0
        self._request: InboundRequest | None = None
        self._refusal: HttpReply | None = None

    def add(self, data: bytes) -> None:
        """Take a chunk of the body; a body that is too large is refused as soon as that is known."""
        if self.response_complete or self._refusal is not None:
            return
        self._bytes += len(data)
        if self._bytes > self.protocol.request_pipeline.admission.max_body:
            self._chunks.clear()
            self.refuse(self.protocol.request_pipeline.admission.too_large())
            return
        self._chunks.append(data)

    def complete(self) -> None:
        """The body is there."""
        self.more_body = False
        if self.response_complete:
            self.protocol.transport.close()
        elif self.started:
            self.begin()

    def begin(self) -> None:
        """Its turn has come on this connection."""
        self.started = True
        if self._refusal is not None:
            self.refuse(self._refusal)
        elif not self.more_body:
            self._ask()

    def _ask(self) -> None:
        protocol = self.protocol
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._request = _FastRequest(self, body)
        protocol.request_pipeline.begin(self._request)

    def refuse(self, reply: HttpReply) -> None:
        """Answer once its turn has come, and a short body with it; of a long one no more is waited for."""
        if not self.started or (self.more_body and self._is_short()):
            self._refusal = reply
            return
        request_pipeline = self.protocol.request_pipeline
        request_pipeline.record_refusal(
            "POST", self.endpoint.path, reply, self.request_id, self.protocol.client_name
        )
        if self.more_body:
            self.keep_alive = False
        self.reply(reply)

    def _is_short(self) -> bool:
        """Whether the rest of the body seems to be on its way already."""
        if self.protocol.expect_100_continue:
            return False
        length = dict(self.headers).get(b"content-length", b"")
        return length.isdigit() and len(length) < _SHORT_DIGITS

    def reply(self, reply: HttpReply) -> None:
        """Write the response, and let the next request on this connection have its turn."""
        if self.response_complete:
            return
        self.response_complete = True
        if not self.disconnected:
            self.protocol.write(self, reply)

    def drop(self) -> None:
        """The connection is gone."""
        self.disconnected = True
        if self._request is not None and not self.response_complete:
            self.protocol.request_pipeline.abandon(self._request)


class _FastRequest(InboundRequest):
    def __init__(self, cycle: FastRequestCycle, body: bytes) -> None:
        protocol = cycle.protocol
        super().__init__(
            protocol.request_pipeline,
            cycle.endpoint,
            "POST",
            cycle.headers,
            cycle.request_id,
            protocol.client_name,
            body,
        )
        self._cycle = cycle

    def send(self, reply: HttpReply) -> None:
        self._cycle.reply(reply)


class _NoEvent:
    def set(self) -> None:
        """Nobody waits for it."""


_NO_EVENT = _NoEvent()


class FastHttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a short path for the pipeline's endpoints."""

    request_pipeline: RequestPipeline
    max_connections: int

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._arriving = True
        self._closing = False
        self._since = monotonic()
        """Since when a request has been arriving, or none has."""
        self.client_name = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client_name = f"{self.client[0]}:{self.client[1]}" if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in (self.cycle, *(cycle for cycle, _ in self.pipeline)):
            if isinstance(cycle, FastRequestCycle):
                cycle.drop()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._arriving = True
        self._since = monotonic()
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        if self._closing:  # what comes after the last response is read and thrown away
            return
        endpoint = self._endpoint()
        if endpoint is None:
            self._fall_back_to_asgi()
            super().on_headers_complete()
            return
        parser, headers = self.parser, self.headers
        before: Any = self.cycle
        keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        cycle = FastRequestCycle(self, endpoint, headers, keep_alive)
        self.cycle = cycle  # type: ignore[assignment]
        if before is None or before.response_complete:
            cycle.started = True
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, None))  # type: ignore[arg-type]
        if (
            refusal := self._connection_refusal()
            or self.request_pipeline.admission.refusal(headers, endpoint)
        ) is not None:
            cycle.refuse(refusal)
        elif self.expect_100_continue:
            self.transport.write(_CONTINUE)

    def _fall_back_to_asgi(self) -> None:
        """Make what uvicorn makes for every request, for those that are not answered here."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers

    def _connection_refusal(self) -> HttpReply | None:
        if len(self.connections) + len(self.request_pipeline.sockets) <= self.max_connections:
            return None
        text = f"the server has {self.max_connections:,} connections, which is all that it takes"
        return error_reply(503, "busy", text, [(b"retry-after", b"1"), (b"connection", b"close")])

    def _endpoint(self) -> RewardEndpoint | None:
        if self.parser.get_method() != b"POST" or self.parser.should_upgrade():
            return None
        path = self.url.partition(b"?")[0].decode("latin-1")
        endpoint = self.request_pipeline.endpoints.get(path) or self.request_pipeline.endpoints.get(
            path.rstrip("/")
        )
        if endpoint is not None and endpoint.streams and wants_lines(self.headers):
            return None
        return endpoint

    def on_body(self, body: bytes) -> None:
        if isinstance(self.cycle, FastRequestCycle):
            self.cycle.add(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._arriving = False
        self._since = monotonic()
        if isinstance(self.cycle, FastRequestCycle):
            self.cycle.complete()
        else:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if isinstance(cycle, FastRequestCycle):
            cycle.begin()
        else:
            super()._start_asgi_task(cycle, app)

    def write(self, cycle: FastRequestCycle, reply: HttpReply) -> None:
        """Write a reply and go on with the connection."""
        body = reply.body
        lines = [STATUS_LINE[reply.status]]
        for name, value in reply.headers:
            lines += (name, b": ", value, b"\r\n")
        lines += (b"x-request-id: ", cycle.request_id.encode("latin-1"), b"\r\n")
        close = not cycle.keep_alive or self.request_pipeline.closes_connections
        if close:
            self._closing = True
            lines.append(b"connection: close\r\n")
        lines += (b"content-length: %d\r\n\r\n" % len(body), body)
        self.transport.write(b"".join(lines))
        if close and cycle.more_body:
            self._linger()
        elif close:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        # As uvicorn does, but for a timer for every response: all connections are swept together.
        self.server_state.total_requests += 1
        if self._closing or self.transport.is_closing():
            return
        self._since = monotonic()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    @property
    def is_arriving(self) -> bool:
        """Whether the body of a request is on its way."""
        cycle = self.cycle
        return isinstance(cycle, FastRequestCycle) and cycle.more_body and not cycle.response_complete

    def refuse_arriving(self) -> None:
        """Answer a request whose body is still on its way, for the server stops."""
        cycle = self.cycle
        if isinstance(cycle, FastRequestCycle) and self.is_arriving and cycle.started:
            cycle.refuse(stopping_reply())

    # A request that never ends, or a connection on which none begins, is not waited for.

    def _linger(self) -> None:
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self._close)

    def _close(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def sweep(self, now: float) -> None:
        """Close a connection whose request does not end, or on which none comes."""
        answering = self.cycle is not None and not self.cycle.response_complete
        patience = _READ_SECONDS if self._arriving else float("inf") if answering else _IDLE_SECONDS
        if now - self._since > patience:
            self._close()

    # Sockets.

    def handle_websocket_upgrade(self) -> None:
        self.connections.discard(self)
        socket = WebSocketConnection(
            self.request_pipeline,
            self.transport,
            self.url,
            self.headers,
            self.client_name,
            self.parser.get_method(),
        )
        self.transport.set_protocol(socket)
        socket.begin()

    def _should_upgrade_to_ws(self) -> bool:
        return True
