"""Lane: the short way for requests to be scored, past the ASGI application.

uvicorn's HTTP protocol makes a scope, an event, a task and two closures for every request, and FastAPI routes it:
36 µs of a processor's time before anything is scored, where parsing and answering takes 15. Requests for a path
in the gate's table are answered from here; every other one goes the usual way. The application answers these
paths as well, where another server runs it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from guerdon.serve.gate import Asking, Endpoint, Gate, wants_lines
from guerdon.serve.idempotency import Reply
from guerdon.serve.socket import Socket

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_READ_SECONDS = 60.0
"""How long a request may take to arrive."""


class Exchange:
    """One request and its reply; stands where uvicorn has its cycle of request and response."""

    __slots__ = (
        "_asking",
        "_bytes",
        "_chunks",
        "body",
        "disconnected",
        "endpoint",
        "headers",
        "keep_alive",
        "lane",
        "message_event",
        "more_body",
        "request_id",
        "response_complete",
        "started",
    )

    def __init__(
        self, lane: Lane, endpoint: Endpoint, headers: list[tuple[bytes, bytes]], keep_alive: bool
    ) -> None:
        self.lane, self.endpoint, self.headers, self.keep_alive = lane, endpoint, headers, keep_alive
        self.response_complete = self.disconnected = self.started = False
        self.more_body = True
        self.body = b""
        self.message_event = _NO_EVENT
        self.request_id = lane.gate.request_id(headers)
        self._chunks: list[bytes] = []
        self._bytes = 0
        self._asking: Asking | None = None

    def add(self, data: bytes) -> None:
        """Take a piece of the body; one that is too large is refused as soon as it is known."""
        self._bytes += len(data)
        if self._bytes > self.lane.gate.max_body:
            if not self.response_complete:
                self.refuse(self.lane.gate.too_large())
            return
        self._chunks.append(data)

    def complete(self) -> None:
        """The body is there."""
        self.more_body = False
        if self.started:
            self._ask()

    def begin(self) -> None:
        """Its turn has come on this connection."""
        self.started = True
        if not self.more_body:
            self._ask()

    def _ask(self) -> None:
        if self.response_complete:
            return
        lane = self.lane
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._asking = _Asking(self, body)
        lane.gate.begin(self._asking)

    def refuse(self, reply: Reply) -> None:
        """Answer before the body has come; what is still to come of it is not waited for."""
        gate = self.lane.gate
        gate.refused("POST", self.endpoint.path, reply, self.request_id, self.lane.client_name)
        if self.more_body:
            self.keep_alive = False
        self.reply(reply)

    def reply(self, reply: Reply) -> None:
        """Write the response, and let the next request on this connection have its turn."""
        if self.response_complete:
            return
        self.response_complete = True
        if not self.disconnected:
            self.lane.write(self, reply)

    def drop(self) -> None:
        """The connection is gone."""
        self.disconnected = True
        if self._asking is not None and not self.response_complete:
            self.lane.gate.drop(self._asking)


class _Asking(Asking):
    def __init__(self, exchange: Exchange, body: bytes) -> None:
        lane = exchange.lane
        super().__init__(
            lane.gate,
            exchange.endpoint,
            "POST",
            exchange.headers,
            exchange.request_id,
            lane.client_name,
            body,
        )
        self._exchange = exchange

    def reply(self, reply: Reply) -> None:
        self._exchange.reply(reply)


class _NoEvent:
    def set(self) -> None:
        """Nobody waits for it."""


_NO_EVENT = _NoEvent()


class Lane(HttpToolsProtocol):
    """uvicorn's protocol, with a way of its own for the paths in the gate's table."""

    gate: Gate

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._clock: asyncio.TimerHandle | None = None
        self._arriving = False
        self.client_name = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client_name = f"{self.client[0]}:{self.client[1]}" if self.client else ""
        self._arriving = True
        self._watch_arrival()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arriving = False
        self._watch_arrival()
        for cycle in (self.cycle, *(cycle for cycle, _ in self.pipeline)):
            if isinstance(cycle, Exchange):
                cycle.drop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._arriving is not (self._clock is not None):
            self._watch_arrival()

    def on_message_begin(self) -> None:
        self._arriving = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        endpoint = self._endpoint()
        if endpoint is None:
            super().on_headers_complete()
            return
        parser, headers = self.parser, self.headers
        before: Any = self.cycle
        keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        exchange = Exchange(self, endpoint, headers, keep_alive)
        self.cycle = exchange  # type: ignore[assignment]
        if before is None or before.response_complete:
            exchange.started = True
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, None))  # type: ignore[arg-type]
        if (refusal := self.gate.refuse(headers, endpoint)) is not None and exchange.started:
            exchange.refuse(refusal)
        elif refusal is not None:
            self.transport.close()  # pipelined behind another: it is told nothing rather than out of turn
        elif self.expect_100_continue:
            self.transport.write(_CONTINUE)

    def _endpoint(self) -> Endpoint | None:
        if self.parser.get_method() != b"POST" or self.parser.should_upgrade():
            return None
        path = self.url.partition(b"?")[0]
        endpoint = self.gate.endpoints.get(path.decode("latin-1"))
        if endpoint is not None and endpoint.streams and wants_lines(self.headers):
            return None
        return endpoint

    def on_body(self, body: bytes) -> None:
        if isinstance(self.cycle, Exchange):
            self.cycle.add(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._arriving = False
        if isinstance(self.cycle, Exchange):
            self.cycle.complete()
        else:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if isinstance(cycle, Exchange):
            cycle.begin()
        else:
            super()._start_asgi_task(cycle, app)

    def write(self, exchange: Exchange, reply: Reply) -> None:
        """Write a reply and go on with the connection."""
        body = reply.body
        lines = [STATUS_LINE[reply.status]]
        for name, value in reply.headers:
            lines += (name, b": ", value, b"\r\n")
        lines += (b"x-request-id: ", exchange.request_id.encode("latin-1"), b"\r\n")
        close = not exchange.keep_alive or self.gate.draining
        if close:
            lines.append(b"connection: close\r\n")
        lines += (b"content-length: %d\r\n\r\n" % len(body), body)
        self.transport.write(b"".join(lines))
        if close:
            self.transport.close()
        self.on_response_complete()

    # A request that never ends, or a connection on which none begins, is not waited for.

    def _watch_arrival(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = self.loop.call_later(_READ_SECONDS, self._too_slow) if self._arriving else None

    def _too_slow(self) -> None:
        self._clock = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    # Sockets.

    def handle_websocket_upgrade(self) -> None:
        self._arriving = False
        self._watch_arrival()
        self.connections.discard(self)
        socket = Socket(self.gate, self.transport, self.url, self.headers, self.client_name)
        self.transport.set_protocol(socket)
        socket.begin()

    def _should_upgrade_to_ws(self) -> bool:
        return True
