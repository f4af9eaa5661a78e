"""FastHttpProtocol: a short path for scoring requests, past the ASGI application.

uvicorn's HTTP protocol makes a scope, an event, a task and two closures for every request, and FastAPI routes it:
36 µs of a processor's time before anything is scored, where parsing and answering takes 15. This protocol answers
requests for the pipeline's endpoints itself and leaves all others to the application. The application answers these
paths as well, where another server runs it.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from guerdon.serve.http.endpoints import RewardEndpoint, wants_lines
from guerdon.serve.http.fast_cycle import FastRequestCycle
from guerdon.serve.http.ordered_protocol import OrderedHttpProtocol
from guerdon.serve.http.replies import JSON_ALONE, HttpReply, error_reply, stopping_reply
from guerdon.serve.http.websocket import WebSocketConnection

_SCORED = (
    STATUS_LINE[200] + b"content-type: application/json\r\nx-request-id: %s\r\ncontent-length: %d\r\n\r\n%s"
)
"""What nearly every reply is."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class FastHttpProtocol(OrderedHttpProtocol):
    """uvicorn's protocol, with a short path for the pipeline's endpoints."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client_name = f"{self.client[0]}:{self.client[1]}" if self.client else ""
        count = len(self.connections) + len(self.request_pipeline.sockets)
        self.over_limit = count > self.limit.limit and not self.limit.make_room(count, self)
        if self.over_limit and self.limit.is_far_exceeded(count):
            transport.abort()

    def begin_request(self, by_name: dict[bytes, bytes], version: str) -> None:
        if b"expect" in by_name:
            self.expect_100_continue = version != "1.0" and by_name[b"expect"].lower() == b"100-continue"
        endpoint = self._endpoint()
        if endpoint is None:
            self._fall_back_to_asgi()
            return
        headers = self.headers
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        expects = self.expect_100_continue
        cycle = FastRequestCycle(self, endpoint, headers, by_name, keep_alive, self._length, expects)
        self.enqueue(cycle)
        refusal = self.request_pipeline.admission.refusal(headers, endpoint, by_name)
        if refusal is not None:
            cycle.refuse(refusal)
        elif expects and cycle.started:
            cycle.begin()

    def _fall_back_to_asgi(self) -> None:
        """Make what uvicorn makes for every request, for those that are not answered here."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        HttpToolsProtocol.on_message_begin(self)
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        HttpToolsProtocol.on_headers_complete(self)

    def _endpoint(self) -> RewardEndpoint | None:
        if self.parser.get_method() != b"POST":
            return None
        pipeline = self.request_pipeline
        endpoint = pipeline.targets.get(self.url)
        if endpoint is None:
            path = self.url.partition(b"?")[0].decode("latin-1")
            endpoint = pipeline.endpoints.get(path) or pipeline.endpoints.get(path.rstrip("/"))
        if endpoint is not None and endpoint.streams and wants_lines(self.headers):
            return None
        return endpoint

    def on_body(self, body: bytes) -> None:
        if self._discards:
            return
        self._body_bytes += len(body)
        if isinstance(self.cycle, FastRequestCycle):
            self.cycle.add(body)
        else:
            super().on_body(body)

    def send_continue(self) -> None:
        """Have a caller that waits for it send the body."""
        if not self.transport.is_closing():
            self.transport.write(_CONTINUE)

    def write(self, cycle: FastRequestCycle, reply: HttpReply) -> None:
        """Write a reply and go on with the connection."""
        body = reply.body
        request_id = cycle.request_id.encode("latin-1")
        close = not cycle.keep_alive or self.request_pipeline.closes_connections
        if reply.status == 200 and reply.headers is JSON_ALONE and not close:
            response = _SCORED % (request_id, len(body), body)
        else:
            lines = [STATUS_LINE[reply.status]]
            for name, value in reply.headers:
                lines += (name, b": ", value, b"\r\n")
            lines += (b"x-request-id: ", request_id, b"\r\n")
            if close:
                self._closing = True
                lines.append(b"connection: close\r\n")
            response = b"".join((*lines, b"content-length: %d\r\n\r\n" % len(body), body))
        if not self.transport.is_closing():
            self.transport.write(response)
        if close and cycle.more_body:
            self._linger()
        elif close:
            self._close()
        self.on_response_complete()

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

    def connection_refusal(self) -> HttpReply | None:
        if not self.over_limit or self.url.startswith(b"/health"):
            return None
        text = f"the server has {self.limit.limit:,} connections, which is all that it takes"
        return error_reply(503, "busy", text, [(b"retry-after", b"1"), (b"connection", b"close")])

    def begin_socket(self, target: bytes, headers: list[tuple[bytes, bytes]], rest: bytes) -> None:
        socket = WebSocketConnection(self.request_pipeline, self.transport, target, headers, self.client_name)
        self.transport.set_protocol(socket)
        socket.begin()
        if rest and not self.transport.is_closing():
            socket.data_received(rest)
