"""OrderedHttpProtocol: requests of one connection, bounded in size and answered in the order in which they came.

Bytes go to the parser in small pieces, and none while a response is due: what a caller sends ahead waits unparsed.
So no head, no line of chunks and no pipeline grows without a bound, and nothing overtakes a response: neither the
refusal of what cannot be read nor a WebSocket.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from time import monotonic
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.config import Config
from uvicorn.server import ServerState

from guerdon.serve.http.fast_cycle import FastRequestCycle
from guerdon.serve.http.replies import HttpReply
from guerdon.serve.http.request_head import (
    MessageSize,
    bad_request,
    head_refusal,
    is_websocket_handshake,
    without_upgrade,
)
from guerdon.serve.http.timed_protocol import TimedHttpProtocol

_LOGGED_BYTES = 200
"""How much of the target of what is no request is logged."""
_PIECE = 4_096
"""What the parser gets at once, but for a body whose length is known."""


class OrderedHttpProtocol(TimedHttpProtocol):
    """What a subclass gets of a connection: one request after the other, each understood in one way only."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.url: bytes = b""
        self.headers = []
        self._final = self._discards = False
        """No request follows the one that was read; what comes belongs to none."""
        self._ignores_upgrade = self._advancing = False
        self._size: MessageSize | None = None
        """Made where a message does not come at once."""
        self._held: list[bytes] = []
        """What came while a response was due."""
        self._upgrade: tuple[bytes, list[tuple[bytes, bytes]]] | None = None
        """A handshake that waits for the responses before it."""
        self.client_name = ""

    over_limit = False
    """There was no room for this connection, and none could be made."""

    # What a subclass says.

    @abstractmethod
    def connection_refusal(self) -> HttpReply | None:
        """The reply to every request of this connection, where it takes none."""

    @abstractmethod
    def begin_request(self, by_name: dict[bytes, bytes], version: str) -> None:
        """Take a request whose head is there."""

    @abstractmethod
    def begin_socket(self, target: bytes, headers: list[tuple[bytes, bytes]], rest: bytes) -> None:
        """Take over the connection for a WebSocket; ``rest`` came behind the handshake."""

    @abstractmethod
    def send_continue(self) -> None:
        """Have a caller that waits for it send the body."""

    @abstractmethod
    def write(self, cycle: FastRequestCycle, reply: HttpReply) -> None:
        """Write a reply and go on with the connection."""

    def data_received(self, data: bytes) -> None:
        if self._closing or self.transport.is_closing():
            return
        if self._final and (self._discards or not self._arriving):
            return
        if self._held or self._is_due():
            self._held.append(data)
            self.flow.pause_reading()
            self._advance()
        else:
            self._feed(data)

    def _is_due(self) -> bool:
        """Whether a response has to go out before more is read."""
        current = self._current
        if not self._arriving and current is not None and not current.response_complete:
            return True
        return bool(self.pipeline) or self._upgrade is not None or self.flow.write_paused

    def _feed(self, data: bytes) -> None:
        """Parse what came, up to where a response has to go out first."""
        position, size = 0, len(data)
        while position < size and not self._closing:
            if self._final and not (self._arriving and not self._discards):
                return
            if position and self._is_due():  # before the first piece the caller has looked
                self._held.insert(0, data[position:])
                self.flow.pause_reading()
                return
            piece = data
            if position or size > _PIECE:
                room = _PIECE if self._in_head else max(_PIECE, self._length - self._body_bytes)
                piece = data[position : position + room]
            before = self._body_bytes
            try:
                self.parser.feed_data(piece)
            except HttpParserUpgrade as upgrade:
                position += upgrade.args[0]
                if self._upgrade is not None:
                    self._arriving = False
                    self._held.insert(0, data[position:])
                    self._advance()
                    return
                self._ignore_upgrade()
            except HttpParserError:
                self._on_garbage()
                return
            else:
                position += len(piece)
                if self._arriving and not self._discards and not self._closing:
                    self._count(len(piece), self._body_bytes - before)

    def _count(self, size: int, body: int) -> None:
        """Refuse a head without an end, and a body that is framing for the most part."""
        self._size = self._size or MessageSize()
        if self._in_head:
            if refusal := self._size.head_refusal(size, self.url, self.headers):
                self._refuse(refusal)
        elif self._length < 0 and (refusal := self._size.framing_refusal(size - body, self._body_bytes)):
            self._refuse_body(refusal)

    def on_message_begin(self) -> None:
        self._arriving = self._in_head = True
        self._since = monotonic()
        self._body_bytes = self._length = 0
        self._size = None
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are no headers: the request was let in without them
            self.headers.append((name.lower(), value.rstrip()))

    def on_headers_complete(self) -> None:
        if self._final or self._closing:  # what comes after the last request is read and thrown away
            self._discards = True
            return
        self._in_head = False
        parser, headers = self.parser, self.headers
        by_name = dict(headers)
        version = parser.get_http_version()
        refusal = head_refusal(self.url, version, headers, by_name)
        if self.over_limit:
            refusal = refusal or self.connection_refusal()
        if refusal is not None:
            self._refuse(refusal)
        elif parser.should_upgrade():
            self._on_upgrade_head(by_name, version)
        else:
            if b"content-length" in by_name:
                self._length = int(by_name[b"content-length"])
            elif b"transfer-encoding" in by_name:
                self._length = -1
            self.begin_request(by_name, version)

    def on_message_complete(self) -> None:
        if self._discards or self._ignores_upgrade or self._upgrade is not None:
            return
        self._arriving = False
        self._since = monotonic()
        cycle = self.cycle
        if not cycle.keep_alive:
            self._final = True
        if isinstance(cycle, FastRequestCycle):
            cycle.complete()
        else:
            super().on_message_complete()

    def _on_garbage(self) -> None:
        if self._discards or self._closing:
            return
        reply = bad_request("this is no request of HTTP/1.1")
        if self._in_head or not self._arriving:
            self._refuse(reply)
        else:
            self._refuse_body(reply)

    def _refuse(self, reply: HttpReply) -> None:
        """Answer what is no request in its turn, and read nothing after it."""
        self._final = self._discards = True
        cycle = self._no_request()
        self.enqueue(cycle)
        cycle.refuse(reply)

    def _no_request(self) -> FastRequestCycle:
        path = self.url.partition(b"?")[0][:_LOGGED_BYTES].decode("latin-1")
        return FastRequestCycle(self, None, self.headers, dict(self.headers), keep_alive=False, path=path)

    def _refuse_body(self, reply: HttpReply) -> None:
        """Answer a request whose body cannot be read in its turn, and read nothing after it."""
        self._final = self._discards = True
        cycle: Any = self.cycle
        if isinstance(cycle, FastRequestCycle):
            cycle.fail(reply)
            return
        cycle.disconnected, cycle.waiting_for_100_continue = True, False
        cycle.message_event.set()
        refused = self._no_request()
        if cycle is not self._current:
            self.pipeline[0] = (refused, None)  # type: ignore[assignment]
        elif cycle.response_started:
            self._close()
            return
        else:
            self._current = refused
            refused.started = True
        refused.refuse(reply)

    def _on_upgrade_head(self, by_name: dict[bytes, bytes], version: str) -> None:
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(bad_request("this server is no proxy", 405))
        elif not is_websocket_handshake(method, version, by_name):
            self._ignores_upgrade = True
        elif b"transfer-encoding" in by_name or by_name.get(b"content-length", b"0") != b"0":
            self._refuse(bad_request("a WebSocket handshake has no body"))
        else:
            self._upgrade = self.url, self.headers

    def _ignore_upgrade(self) -> None:
        """Read a head again without its wish: the parser would take the body for the next request."""
        if not self._ignores_upgrade:
            return
        self._ignores_upgrade = False
        version = self.parser.get_http_version()
        head = without_upgrade(self.parser.get_method(), self.url, version, self.headers)
        self.parser = HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        try:
            self.parser.feed_data(head)
        except HttpParserError:
            self._on_garbage()

    def on_response_complete(self) -> None:
        # As uvicorn does, but for a timer for every response: all connections are swept together.
        self.server_state.total_requests += 1
        if self._closing or self.transport.is_closing():
            return
        self._since = monotonic()
        current = self._current
        if type(current) is not FastRequestCycle and current.more_body and self._is_long():
            self._closing = True
            self._linger()
        elif self.pipeline or self._held or self._upgrade is not None:
            self._advance()
        else:
            self.flow.resume_reading()

    def _advance(self) -> None:
        """Go on with what waited for a response, one request after the other."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while not self._closing and not self.transport.is_closing() and not self.flow.write_paused:
                current = self._current
                busy = current is not None and not current.response_complete
                if busy and (self.pipeline or self._upgrade is not None or not self._arriving):
                    return
                if self.pipeline:
                    self._start_asgi_task(*self.pipeline.pop())
                elif self._upgrade is not None:
                    self._begin_socket()
                elif self._held:
                    held, self._held = b"".join(self._held), []
                    self._feed(held)
                else:
                    self.flow.resume_reading()
                    return
        finally:
            self._advancing = False

    def _begin_socket(self) -> None:
        assert self._upgrade is not None
        (target, headers), rest = self._upgrade, b"".join(self._held)
        self._upgrade, self._closing = None, True
        self._held.clear()
        self.connections.discard(self)
        self.flow.resume_reading()
        self.begin_socket(target, headers, rest)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._advance()
