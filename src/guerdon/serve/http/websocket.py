"""WebSocketConnection: a WebSocket over which a client sends samples and gets scores as they are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from http import HTTPStatus
from time import perf_counter
from urllib.parse import parse_qs

from guerdon.serve.http.api_keys import caller_of
from guerdon.serve.http.endpoints import RewardEndpoint
from guerdon.serve.http.openenv_session import OpenEnvSession, is_openenv_message
from guerdon.serve.http.pipeline import InboundRequest, RequestPipeline
from guerdon.serve.http.replies import HeaderPairs, HttpReply, error_reply
from guerdon.serve.http.websocket_frames import (
    CLOSE,
    GOING_AWAY,
    PING,
    TEXT,
    TRY_AGAIN,
    FrameError,
    FrameReader,
    accept_of,
    close_frame,
    pong_frame,
    text_frame,
)
from guerdon.serve.http.websocket_limits import WebSocketLimits

_MAX_IN_FLIGHT = 512
"""Messages of one socket that may wait for their answers; more are not read until there is room."""
_CHECK_SECONDS = 0.02
_SESSION_LENGTH = 128
_TYPE_BYTES = 64
"""Where a message of OpenEnv's has its type."""
CLOSE_SECONDS = 2.0
"""How long a client has to take note that the server closes the conversation."""
_UNREADABLE_SECONDS = 0.5
_ABSENT = object()


class WebSocketConnection(asyncio.Protocol):
    """Answers each text frame by one or several, in the order in which the answers come."""

    def __init__(
        self,
        pipeline: RequestPipeline,
        transport: asyncio.Transport,
        url: bytes,
        headers: HeaderPairs,
        client: str,
        method: bytes = b"GET",
    ) -> None:
        self._pipeline, self._transport, self._headers, self.client = pipeline, transport, headers, client
        path, _, query = url.decode("latin-1").partition("?")
        self._path, self._method = path, method
        self._endpoint = pipeline.socket_endpoints.get(path)
        self._session_id = parse_qs(query).get("session", [""])[0][:_SESSION_LENGTH]
        self._admission = pipeline.admission
        self._caller = caller_of(headers) if len(self._admission.keys) else ()
        self._reader = FrameReader(self._admission.max_body)
        self._limits = WebSocketLimits(
            self._admission, headers, self._reader, transport, self._start_close, self._give_up
        )
        self._in_flight: dict[_WebSocketRequest, None] = {}
        self._in_flight_bytes = 0
        """Bytes of the messages that are in flight."""
        self._out: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._paused = self._write_paused = self._closing = self._check_scheduled = self._ignores_messages = (
            self._unreadable
        ) = False
        self._session: OpenEnvSession | None = None

    def begin(self) -> None:
        """Answer the handshake."""
        reply = self._admission.refusal(self._headers, self._endpoint) or _handshake_refusal(
            self._endpoint, self._path, self._method, self._headers
        )
        accept = accept_of(dict(self._headers).get(b"sec-websocket-key", b""))
        if reply is not None or accept is None:
            self._refuse(reply or error_reply(400, "input", "Sec-WebSocket-Key must be 16 bytes in base64"))
            return
        lines = b"upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: " + accept
        self._transport.write(b"HTTP/1.1 101 Switching Protocols\r\n" + lines + b"\r\n\r\n")
        self._pipeline.sockets.add(self)

    def _refuse(self, reply: HttpReply) -> None:
        request_id = self._pipeline.request_id(dict(self._headers).get(b"x-request-id"))
        self._pipeline.record_refusal("GET", self._path, reply, request_id, self.client)
        self._transport.write(_refusal_bytes(reply, request_id))
        self._transport.close()

    # What comes.

    def data_received(self, data: bytes) -> None:
        if self._unreadable:
            return
        self._limits.check_key()
        has_message = False
        try:
            for kind, payload in self._reader.feed(data):
                if kind == CLOSE:
                    self._unreadable = True  # nothing may come after it
                    self._reader.drop()
                    self._on_close_frame(payload)
                    break
                if self._closing or self._ignores_messages:
                    continue  # read all the same: what lies unread when a socket is closed resets the connection
                if kind == TEXT:
                    has_message = True
                    self._on_text(payload)
                else:
                    self._limits.count_control_frame()
                    if kind == PING:
                        self._write(pong_frame(payload))
        except FrameError as error:
            self._give_up(error.code, error.reason)
            return
        if has_message:
            self._limits.on_message()
        self._limits.account()
        self._account_in_flight()
        self._adjust_reading()

    def _account_in_flight(self) -> None:
        session = self._session
        size = self._in_flight_bytes + (0 if session is None else session.waiting_bytes)
        if not self._limits.account_in_flight(size) and not self._closing:
            self._start_close(TRY_AGAIN, "too many bytes wait for answers; try again")

    def _give_up(self, code: int, reason: str) -> None:
        """Close, and read nothing of what still comes."""
        self._unreadable = True
        self._reader.drop()
        self._limits.release()
        if not self._closing:
            self._start_close(code, reason)

    def sweep(self, now: float) -> None:
        """Close a socket whose key was revoked, whose message does not end, or whose client takes no answer."""
        self._limits.sweep(now, self._paused)

    def _on_text(self, payload: bytes) -> None:
        endpoint = self._endpoint
        assert endpoint is not None
        if (self._session is not None or b'"type"' in payload[:_TYPE_BYTES]) and self._to_session(payload):
            return
        inbound = _WebSocketRequest(self, self._pipeline, endpoint, payload)
        self._in_flight[inbound] = None
        self._in_flight_bytes += len(payload)
        # A client that connects again sends what was not answered again, byte for byte.
        session = self._session_id
        key = (self._caller, session, self._path, len(payload), hash(payload)) if session else None
        self._pipeline.begin_with_key(inbound, key)

    def _to_session(self, payload: bytes) -> bool:
        """Give OpenEnv's session a frame, if it is for it: all frames are that come after the first such."""
        if self._session is None:
            if self._path.endswith("/v1/ws") or not is_openenv_message(payload):
                return False
            self._session = OpenEnvSession(self)
        self._session.receive(payload)
        return True

    def score(self, body: bytes, choice: tuple[int, str], on_reply: Callable[[HttpReply], None]) -> None:
        """Start a request of OpenEnv's session."""
        assert self._endpoint is not None
        inbound = _SessionRequest(self, self._pipeline, self._endpoint, body)
        inbound.choices, inbound.respond = (choice,), on_reply
        self._in_flight[inbound] = None
        self._in_flight_bytes += len(body)
        self._pipeline.begin_with_key(inbound, None)

    def answer_session(self, inbound: _SessionRequest, reply: HttpReply) -> None:
        """Give OpenEnv's session the reply to its request."""
        self._settle(inbound)
        if self._closing:
            return
        inbound.respond(reply)
        if self._paused:
            self._adjust_reading()

    def answer(self, inbound: _WebSocketRequest, reply: HttpReply) -> None:
        """Write the frames of a reply."""
        self._settle(inbound)
        if self._closing:
            return
        for line in reply.body.split(b"\n"):
            self._write(text_frame(line))
        if self._paused:
            self._adjust_reading()

    def _settle(self, inbound: _WebSocketRequest) -> None:
        if self._in_flight.pop(inbound, _ABSENT) is None:
            self._in_flight_bytes -= inbound.size
            if self._limits.counts_in_flight:
                self._account_in_flight()

    def _adjust_reading(self) -> None:
        """Read no more while too much is in flight, or while the client does not take its answers."""
        if self._closing:
            return
        dispatcher = self._endpoint.dispatcher if self._endpoint is not None else None
        full = dispatcher is not None and dispatcher.is_full
        session = self._session
        waiting, waiting_bytes = (0, 0) if session is None else (session.waiting, session.waiting_bytes)
        hold = (
            self._write_paused
            or full
            or len(self._in_flight) + waiting >= _MAX_IN_FLIGHT
            or self._in_flight_bytes + waiting_bytes >= self._admission.max_body
        )
        if hold and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not hold:
            self._transport.resume_reading()
        self._paused = hold
        if full and not self._check_scheduled and not self._transport.is_closing():
            self._check_scheduled = True
            self._loop.call_later(_CHECK_SECONDS, self._check_again)

    def _check_again(self) -> None:
        self._check_scheduled = False
        if self._paused and not self._closing and not self._transport.is_closing():
            self._adjust_reading()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._limits.on_unread(True)
        self._adjust_reading()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._limits.on_unread(False)
        self._adjust_reading()

    # What goes.

    def send_text(self, text: bytes) -> None:
        """Write a text frame."""
        self._write(text_frame(text))

    def _write(self, data: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        """Write the answers that came in this turn of the loop at once."""
        out, self._out = self._out, []
        if out and not self._transport.is_closing():  # after write_eof even nothing must not be written
            self._transport.write(b"".join(out))

    def close(self, reason: str, code: int = GOING_AWAY) -> None:
        """End the conversation; what is in flight has been answered."""
        self._start_close(code, reason)

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self._in_flight

    def stop_reading(self) -> None:
        """Take no more messages; those that come are for the server that the client connects to next."""
        self._ignores_messages = True

    def _on_close_frame(self, payload: bytes) -> None:
        """The client closes the conversation, or has taken note that the server did."""
        if not self._closing:
            code = int.from_bytes(payload[:2], "big") if payload else None
            self._start_close(code, "")
        self._finish()

    def _start_close(self, code: int | None, reason: str) -> None:
        if self._closing:
            return
        self._write(close_frame(code, reason))
        self._closing = True
        self._abandon_all()
        if self._paused and not self._transport.is_closing():
            self._transport.resume_reading()  # for the client's own close frame
        # Of a client whose frames cannot be read its own goodbye cannot be either.
        self._loop.call_later(_UNREADABLE_SECONDS if self._unreadable else CLOSE_SECONDS, self._finish)

    def _abandon_all(self) -> None:
        """Nobody waits for answers any more; requests whose replies are kept for a retry go on, and count."""
        for inbound in list(self._in_flight):
            self._pipeline.abandon(inbound)
            if inbound.key is None:
                self._settle(inbound)

    def _finish(self) -> None:
        """Let the client close: closing while it sends would take back what it has not read yet."""
        self._flush()
        if self._transport.is_closing() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._transport.write_eof()
        if self._paused:
            self._transport.resume_reading()
        self._loop.call_later(CLOSE_SECONDS, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = self._unreadable = True
        self._reader.drop()
        self._limits.release()
        self._pipeline.sockets.discard(self)
        self._abandon_all()


def _refusal_bytes(reply: HttpReply, request_id: str) -> bytes:
    by_name = (*reply.headers, (b"x-request-id", request_id.encode("latin-1")))
    headers = b"".join(name + b": " + value + b"\r\n" for name, value in by_name)
    status = b"HTTP/1.1 %d %s\r\n" % (reply.status, HTTPStatus(reply.status).phrase.encode())
    length = b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(reply.body)
    return status + headers + length + reply.body


def _handshake_refusal(
    endpoint: RewardEndpoint | None, path: str, method: bytes, headers: HeaderPairs
) -> HttpReply | None:
    if endpoint is None:
        return error_reply(404, "not_found", f"no socket is served at {path}")
    if method != b"GET":
        return error_reply(405, "method", "a WebSocket handshake is a GET request", [(b"allow", b"GET")])
    if dict(headers).get(b"sec-websocket-version") != b"13":
        version = [(b"sec-websocket-version", b"13")]
        return error_reply(426, "input", "a WebSocket handshake of version 13 is needed", version)
    return None


class _WebSocketRequest(InboundRequest):
    method = "WS"
    headers: HeaderPairs = ()

    def __init__(
        self, socket: WebSocketConnection, pipeline: RequestPipeline, endpoint: RewardEndpoint, payload: bytes
    ) -> None:
        # As in the base class, but for the id, which is made only where a recorder asks for it.
        self._pipeline, self.endpoint, self.body, self.choices = pipeline, endpoint, payload, endpoint.choices
        self._socket, self.client, self.size = socket, socket.client, len(payload)
        self.started = perf_counter()

    @cached_property
    def request_id(self) -> str:  # type: ignore[override]
        return self._pipeline.new_id()

    def send(self, reply: HttpReply) -> None:
        self._socket.answer(self, reply)


class _SessionRequest(_WebSocketRequest):
    """A request of an OpenEnv session, which frames the reply itself."""

    respond: Callable[[HttpReply], None]

    def send(self, reply: HttpReply) -> None:
        self._socket.answer_session(self, reply)
