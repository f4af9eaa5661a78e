"""Socket: one client's WebSocket, on which it asks for scores and gets them as they come."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import cached_property
from http import HTTPStatus
from time import perf_counter
from urllib.parse import parse_qs

from pydantic_core import from_json

from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.openenv import TYPES, OpenEnvCodec, OpenEnvFormat, SessionCommand
from guerdon.serve.http.idempotency import HttpReply
from guerdon.serve.http.pipeline import Headers, InboundRequest, RequestPipeline, RewardEndpoint, error_reply
from guerdon.serve.http.websocket_frames import (
    CLOSE,
    GOING_AWAY,
    NORMAL,
    PING,
    TEXT,
    FrameError,
    FrameReader,
    accept_of,
    close_frame,
    pong_frame,
    text_frame,
)

_IN_FLIGHT = 512
"""Messages of one socket that may wait for their answers; more are not read until there is room."""
_LOOK_AGAIN = 0.02
_SESSION_LENGTH = 128
_TYPE_BYTES = 64
"""Where a message of OpenEnv's has its type."""
_OPENENV = next(index for index, format in enumerate(FORMATS) if isinstance(format, OpenEnvFormat))
GOODBYE_SECONDS = 2.0
"""How long a client has to take note that the server closes the conversation."""
_UNREAD_SECONDS = 0.5


class WebSocketConnection(asyncio.Protocol):
    """Answers each text frame by one or several, in the order in which the answers come."""

    def __init__(
        self,
        pipeline: RequestPipeline,
        transport: asyncio.Transport,
        url: bytes,
        headers: Headers,
        client: str,
    ) -> None:
        self._pipeline, self._transport, self._headers, self.client = pipeline, transport, headers, client
        path, _, query = url.decode("latin-1").partition("?")
        self._path = path
        self._endpoint = pipeline.socket_endpoints.get(path)
        self._session = parse_qs(query).get("session", [""])[0][:_SESSION_LENGTH]
        self._reader = FrameReader(pipeline.max_body)
        self._flying: dict[InboundRequest, None] = {}
        self._out: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._paused = self._stuck = self._closing = self._looking = self._deaf = self._garbled = False
        self._environment: _OpenEnvSession | None = None

    def begin(self) -> None:
        """Answer the handshake."""
        known = dict(self._headers)
        accept = accept_of(known.get(b"sec-websocket-key", b""))
        reply = self._pipeline.refuse(self._headers, self._endpoint)
        if self._endpoint is None:
            reply = reply or error_reply(404, "not_found", f"no socket is served at {self._path}")
        elif known.get(b"sec-websocket-version") != b"13" or accept is None:
            version = [(b"sec-websocket-version", b"13")]
            reply = reply or error_reply(
                426, "input", "a WebSocket handshake of version 13 is needed", version
            )
        if reply is not None or accept is None:
            self._refuse(reply or error_reply(400, "input", "this is no handshake"))
            return
        lines = b"upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: " + accept
        self._transport.write(b"HTTP/1.1 101 Switching Protocols\r\n" + lines + b"\r\n\r\n")
        self._pipeline.sockets.add(self)

    def _refuse(self, reply: HttpReply) -> None:
        request_id = self._pipeline.request_id(self._headers)
        self._pipeline.refused("GET", self._path, reply, request_id, self.client)
        known = (*reply.headers, (b"x-request-id", request_id.encode("latin-1")))
        headers = b"".join(name + b": " + value + b"\r\n" for name, value in known)
        status = b"HTTP/1.1 %d %s\r\n" % (reply.status, HTTPStatus(reply.status).phrase.encode())
        length = b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(reply.body)
        self._transport.write(status + headers + length + reply.body)
        self._transport.close()

    # What comes.

    def data_received(self, data: bytes) -> None:
        if self._garbled:
            return
        try:
            for kind, payload in self._reader.feed(data):
                if kind == CLOSE:
                    self._part()
                    return
                if self._closing or self._deaf:
                    continue  # read all the same: what lies unread when a socket is closed resets the connection
                if kind == TEXT:
                    self._ask(payload)
                elif kind == PING:
                    self._write(pong_frame(payload))
        except FrameError as error:
            self._garbled = True
            if not self._closing:
                self._say_goodbye(error.code, error.reason)
            return
        self._hold_back()

    def _ask(self, payload: bytes) -> None:
        endpoint = self._endpoint
        assert endpoint is not None
        if (self._environment is not None or b'"type"' in payload[:_TYPE_BYTES]) and self._is_turn(payload):
            return
        inbound = _WebSocketRequest(self, self._pipeline, endpoint, payload)
        self._flying[inbound] = None
        # A client that comes back sends again what was not answered, word for word.
        key = (self._session, self._path, len(payload), hash(payload)) if self._session else None
        self._pipeline.begin_known(inbound, key)

    def _is_turn(self, payload: bytes) -> bool:
        """Whether a frame is OpenEnv's, as all are that come after the first such; it is answered then."""
        assert self._endpoint is not None
        if self._environment is None:
            if self._path.endswith("/v1/ws") or not _has_type(payload):
                return False
            self._environment = _OpenEnvSession(self, self._pipeline, self._endpoint)
        self._environment.receive(payload)
        return True

    def fly(self, inbound: InboundRequest) -> None:
        """Have a turn of OpenEnv's answered."""
        self._flying[inbound] = None
        self._pipeline.begin_known(inbound, None)

    def answer(self, inbound: InboundRequest, reply: HttpReply) -> None:
        """Write the frames of a reply."""
        self._flying.pop(inbound, None)
        if self._closing:
            return
        for line in reply.body.split(b"\n"):
            self._write(text_frame(line))
        if self._paused:
            self._hold_back()

    def _hold_back(self) -> None:
        """Read no more while too much is in flight, or while the client does not take its answers."""
        if self._closing:
            return
        dispatcher = self._endpoint.dispatcher if self._endpoint is not None else None
        full = dispatcher is not None and dispatcher.is_full
        waiting = 0 if self._environment is None else self._environment.waiting
        hold = self._stuck or full or len(self._flying) + waiting >= _IN_FLIGHT
        if hold and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not hold:
            self._transport.resume_reading()
        self._paused = hold
        if full and not self._looking and not self._transport.is_closing():
            self._looking = True
            self._loop.call_later(_LOOK_AGAIN, self._look_again)

    def _look_again(self) -> None:
        self._looking = False
        if self._paused and not self._closing and not self._transport.is_closing():
            self._hold_back()

    def pause_writing(self) -> None:
        self._stuck = True
        self._hold_back()

    def resume_writing(self) -> None:
        self._stuck = False
        self._hold_back()

    # What goes.

    def say(self, text: bytes) -> None:
        """Write a text frame."""
        self._write(text_frame(text))

    def _write(self, data: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        """Write the answers that came in this turn of the loop at once."""
        out, self._out = self._out, []
        if not self._transport.is_closing():
            self._transport.write(b"".join(out))

    def close(self, reason: str, code: int = GOING_AWAY) -> None:
        """End the conversation; what is in flight has been answered."""
        self._say_goodbye(code, reason)

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self._flying

    def stop_reading(self) -> None:
        """Take no more messages; those that come are for the server that the client connects to next."""
        self._deaf = True

    def _part(self) -> None:
        """The client closes the conversation, or has taken note that the server did."""
        if not self._closing:
            self._say_goodbye(NORMAL, "")
        self._finish()

    def _say_goodbye(self, code: int, reason: str) -> None:
        if self._closing:
            return
        self._write(close_frame(code, reason))
        self._closing = True
        for inbound in self._flying:
            self._pipeline.drop(inbound)
        self._flying.clear()
        if self._paused and not self._transport.is_closing():
            self._transport.resume_reading()  # for the client's own close frame
        # Of a client whose frames cannot be read its own goodbye cannot be either.
        self._loop.call_later(_UNREAD_SECONDS if self._garbled else GOODBYE_SECONDS, self._finish)

    def _finish(self) -> None:
        """Let the client close: closing while it sends would take back what it has not read yet."""
        self._flush()
        if self._transport.is_closing() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._transport.write_eof()
        if self._paused:
            self._transport.resume_reading()
        self._loop.call_later(GOODBYE_SECONDS, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._pipeline.sockets.discard(self)
        for inbound in self._flying:
            self._pipeline.drop(inbound)
        self._flying.clear()


class _WebSocketRequest(InboundRequest):
    method = "WS"
    headers: Headers = ()

    def __init__(
        self, socket: WebSocketConnection, pipeline: RequestPipeline, endpoint: RewardEndpoint, payload: bytes
    ) -> None:
        # What the base class does, but for the id, which is made where somebody asks for it.
        self._pipeline, self.endpoint, self.body, self.choices = pipeline, endpoint, payload, endpoint.choices
        self._socket, self.client = socket, socket.client
        self.started = perf_counter()

    @cached_property
    def request_id(self) -> str:  # type: ignore[override]
        return self._pipeline.new_id()

    def reply(self, reply: HttpReply) -> None:
        self._socket.answer(self, reply)


class _OpenEnvSession:
    """A client of OpenEnv's: its messages carry no number, so each is answered before the next is read."""

    def __init__(
        self, socket: WebSocketConnection, pipeline: RequestPipeline, endpoint: RewardEndpoint
    ) -> None:
        self._socket, self._pipeline, self._endpoint = socket, pipeline, endpoint
        self._session = OpenEnvCodec()
        self._messages: deque[bytes] = deque()
        self._busy = False

    @property
    def waiting(self) -> int:
        """Messages that wait for those before them."""
        return len(self._messages)

    def receive(self, payload: bytes) -> None:
        """Take a message."""
        self._messages.append(payload)
        self._go_on()

    def _go_on(self) -> None:
        while self._messages and not self._busy:
            turn = self._session.receive(self._messages.popleft())
            if turn.answer is not None:
                self._socket.say(turn.answer)
            elif turn.op == "close":
                self._messages.clear()
                self._socket.close("", NORMAL)
            else:
                self._busy = True
                self._socket.fly(_OpenEnvRequest(self, self._socket, self._pipeline, self._endpoint, turn))

    def answer(self, step: _OpenEnvRequest, reply: HttpReply) -> None:
        """Send what came of a message, and take the next."""
        self._busy = False
        body = self._session.answer(step.turn, reply.status, reply.body)
        self._socket.answer(step, HttpReply(reply.status, body))
        self._go_on()


class _OpenEnvRequest(_WebSocketRequest):
    def __init__(
        self,
        environment: _OpenEnvSession,
        socket: WebSocketConnection,
        pipeline: RequestPipeline,
        endpoint: RewardEndpoint,
        turn: SessionCommand,
    ) -> None:
        super().__init__(socket, pipeline, endpoint, turn.body)
        self._environment, self.turn = environment, turn
        self.choices = ((_OPENENV, turn.op),)

    def reply(self, reply: HttpReply) -> None:
        self._environment.answer(self, reply)


def _has_type(payload: bytes) -> bool:
    """Whether a frame is a message of OpenEnv's."""
    try:
        value = from_json(payload)
    except ValueError:
        return False
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in TYPES
