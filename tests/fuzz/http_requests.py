"""HTTP: what the server's protocol answers is what two libraries read of the same bytes, in their order.

An input is a byte that says how it is read, a byte for the sizes of the pieces, and either the bytes that a caller
sends or orders, each of which becomes a piece of a request. The bytes go in pieces into the protocol, with a
transport in memory; httptools reads them as a whole, and h11, which shares no code with it, reads them as well.
What the protocol answers with 200 both must have read as that request, unless h11 refuses it. What it refuses must
be the last on its connection, and no answer, no request and no byte counted may be left behind.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha1
from typing import Any, cast

import h11
import httptools
import uvicorn
from uvicorn.server import ServerState

from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.dispatch.jobs import PendingRequest
from guerdon.serve.http.access_log import ServerLog
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import ApiKeys
from guerdon.serve.http.connections import ConnectionLimit
from guerdon.serve.http.fast_protocol import FastHttpProtocol
from guerdon.serve.http.metrics import Metrics
from guerdon.serve.http.pipeline import RequestPipeline
from guerdon.serve.messages import WorkerReply

_RAW, _ORDERS = 0, 1
_MAX_BODY = 2_000
_LONGEST = 1 << 14
_LAST = {400, 405, 414, 431, 501, 505}
"""Statuses of what is no request: nothing may follow them."""
_UNSCORED = {403, 404, 413, 415, 422, 426}

Message = tuple[bytes, bytes]
"""Method and body of a request."""


def _post(body: bytes, *headers: bytes, target: bytes = b"/score") -> bytes:
    head = b"\r\n".join((b"POST %s HTTP/1.1" % target, b"host: a", *headers))
    return head + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body


_CHUNKED = b"POST /score HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
_UPGRADE = (b"connection: upgrade", b"upgrade: h2c")
_SOCKET = b"GET /ws HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
_FRAGMENTS = (
    b"POST /score HTTP/1.1\r\nhost: a\r\n",
    b"POST /sc%6Fre HTTP/1.1\r\nhost: a\r\n",
    b"GET /info HTTP/1.1\r\nhost: a\r\n",
    b"POST http://a/score HTTP/1.1\r\nhost: a\r\n",
    b"POST /score HTTP/1.0\r\n",
    b"HEAD / HTTP/1.1\r\nhost: a\r\n",
    b"OPTIONS * HTTP/1.1\r\nhost: a\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\n",
    b"\r\n",
    b"content-length: 2\r\n\r\n{}",
    b"content-length: 2\r\n\r\n{}",
    b"content-length: 3\r\n",
    b"content-length: 0\r\n\r\n",
    b"content-length: 50\r\n\r\n" + b"GET /in HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n..",
    b"content-length: 9999\r\n\r\n",
    b"transfer-encoding: chunked\r\n\r\n",
    b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"transfer-encoding: gzip\r\n",
    b"2\r\n{}\r\n",
    b"10;a=b\r\n0123456789abcdef\r\n",
    b"0\r\n\r\n",
    b"0\r\nhost: b\r\n\r\n",
    b"fffffffff\r\n",
    b"connection: close\r\n",
    b"connection: upgrade\r\n",
    b"connection: keep-alive\r\n",
    b"upgrade: h2c\r\n",
    b"upgrade: websocket\r\n",
    b"expect: 100-continue\r\n",
    b"host: b\r\n",
    b"origin: http://a\r\n",
    b"content-type: application/json \r\n",
    b"content-type: text/plain\r\n",
    b"idempotency-key: k\r\n",
    b"a: b\r\n c\r\n",
    b"a : b\r\n",
    b"a: b\n",
    b"a: \x80\xff\r\n",
    b"{}",
    b"x" * 300,
    b"\n",
    b"\r",
    b"\0",
    b"POST /score HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}",
    b"POST /score HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}",
    b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n",
    _CHUNKED,
    _SOCKET,
)

SEEDS: Sequence[bytes] = (
    bytes((_RAW, 255)) + _post(b"{}") + _post(b"[1]") + b"GET /info HTTP/1.1\r\nhost: a\r\n\r\n",
    bytes((_RAW, 1))
    + _post(b"{}", target=b"/sc%6Fre")
    + _post(b"x" * 70, b"connection: close")
    + _post(b"{}"),
    bytes((_RAW, 9)) + _CHUNKED + b"2\r\n{}\r\n3;a=b\r\nabc\r\n0\r\nt: v\r\n\r\n" + _post(b"{}"),
    bytes((_RAW, 30)) + _post(_post(b"in"), *_UPGRADE) + _post(b"{}"),
    bytes((_RAW, 50)) + _post(b"{}") + _SOCKET + _post(b"{}"),
    bytes((_RAW, 7)) + _post(b"{}", b"expect: 100-continue") + _post(b"y" * 3_000) + _post(b"{}"),
    bytes((_RAW, 2)) + _post(b"{}", b"content-length: 4") + _post(b"{}", b"transfer-encoding: chunked"),
    bytes((_RAW, 80))
    + b"POST /score HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}"
    + _post(b"{}"),
    bytes((_RAW, 200)) + b"\r\n\r\nHEAD / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc" + _post(b"{}"),
    bytes((_RAW, 4)) + _post(b"{}", target=b"http://b/score") + b"GET / HTTP/2.0\r\n\r\n",
    bytes((_ORDERS, 60, *range(len(_FRAGMENTS)))),
    bytes((_ORDERS, 11, 43, 44, 0, 9, 1, 16, 2, 8, 43)),
    bytes((_ORDERS, 3, 0, 24, 26, 13, 43, 0, 15, 18, 19, 21, 43)),
)


# What is there: the protocol, with everything of the server's but its workers and its application.


class _Transport(asyncio.Transport):
    """Keeps what is written, and hands over what a caller sends in pieces, while reading is not paused."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.written = bytearray()
        self.protocol: Any = None
        self.paused = self.closing = self.lost = self.half_closed = False

    def write(self, data: Any) -> None:
        assert not self.lost, "written after the connection was gone"
        assert not self.half_closed, "written after the end"
        self.written += data

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            self._loop.call_soon(self.lose)

    abort = close

    def lose(self) -> None:
        self.closing = True
        if not self.lost:
            self.lost = True
            self.protocol.connection_lost(None)

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.half_closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default


class _Workers:
    """Answers requests when it is told to, each with what it read; stands where a dispatcher does."""

    takes_requests = True

    def __init__(self) -> None:
        self.waiting: list[PendingRequest] = []

    def submit(self, request: PendingRequest) -> None:
        self.waiting.append(request)

    def cancel(self, request: PendingRequest) -> None:
        if request in self.waiting:
            self.waiting.remove(request)

    def answer(self) -> None:
        for request in self.waiting[:]:
            if request in self.waiting:
                self.waiting.remove(request)
                reply = WorkerReply(1, 0.0, 200, _echo((b"POST", request.body)), choice=request.choices[0])
                request.done(reply)


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def _echo(message: Message) -> bytes:
    return message[0] + b" " + sha1(message[1]).hexdigest().encode()


async def _application(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        body += event["body"]
        if not event["more_body"]:
            break
    reply = b"" if scope["method"] == "HEAD" else _echo((scope["method"].encode(), body))
    headers = [(b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})


class _Server:
    """One event loop and one pipeline for all inputs."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._on_error)
        self.errors: list[Any] = []
        self.complaints = _Complaints()
        for name in ("guerdon.serve", "uvicorn.error"):
            logging.getLogger(name).addHandler(self.complaints)
            logging.getLogger(name).propagate = False
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self.workers = _Workers()
        self.admission = AdmissionControl(ApiKeys((), None), max_body=_MAX_BODY, max_buffered=1 << 20)
        pipeline = RequestPipeline(
            {"echo": cast(Dispatcher, self.workers)},
            self.admission,
            metrics=Metrics(),
            log=ServerLog(quiet=True),
        )
        bound = {"request_pipeline": pipeline, "limit": ConnectionLimit(10, list)}
        self._protocol = type("FuzzedProtocol", (FastHttpProtocol,), bound)
        config = uvicorn.Config(
            _application,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        config.load()
        self._config = config

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.errors.append(context.get("exception") or context["message"])

    def _within(self, job: Callable[..., None], *arguments: Any) -> None:
        """Do something as a callback of the loop, which is quicker than to have the loop call it."""
        asyncio._set_running_loop(self.loop)
        try:
            job(*arguments)
        finally:
            asyncio._set_running_loop(None)

    def turn(self) -> None:
        """Let the loop do what is to be done."""
        for _ in range(3):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def answers(self, data: bytes, pieces: Iterator[int]) -> tuple[bytes, bool]:
        """What is written in answer to bytes that come in pieces, and whether the server closes the connection."""
        transport, state = _Transport(self.loop), ServerState()
        self.errors.clear()
        self.complaints.records.clear()
        transport.protocol = self._protocol(self._config, state, {}, self.loop)
        self._within(transport.protocol.connection_made, transport)
        position = 0
        while position < len(data) and not (transport.closing or transport.half_closed):
            size = next(pieces)
            if not transport.paused:
                self._within(transport.protocol.data_received, data[position : position + size])
                position += size
            elif not self.workers.waiting:
                assert self._turned(transport), "paused, and nothing is awaited"
            if size % 3 == 0 or transport.paused:
                self.turn()
                self._within(self.workers.answer)
        for _ in range(500):
            if not self.workers.waiting and not self._turned(transport):
                break
            self._within(self.workers.answer)
        closed = transport.closing or transport.half_closed
        self._within(transport.lose)
        self.turn()
        assert not self.errors, self.errors
        assert not self.complaints.records, self.complaints.records[0].getMessage()
        assert not self.workers.waiting, "a request was left behind"
        assert self.admission.buffered.used == 0, "bytes are counted that nobody holds"
        assert not state.connections, "a connection was left behind"
        assert not state.tasks, "a task was left behind"
        return bytes(transport.written), closed

    def _turned(self, transport: _Transport) -> bool:
        """Turn the loop; whether that brought anything."""
        before = len(transport.written), len(self.workers.waiting), transport.paused
        self.turn()
        return before != (len(transport.written), len(self.workers.waiting), transport.paused)


# What the libraries read.


class _Reader:
    """What httptools reads of the bytes as a whole."""

    def __init__(self, data: bytes) -> None:
        self.messages: list[Message] = []
        self.closes: list[bool] = []
        self.upgraded = False
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.upgraded = True
        except httptools.HttpParserError:
            pass

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_headers_complete(self) -> None:
        version = self._parser.get_http_version()
        self._closes = version != "1.1" or not self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        self.messages.append((self._parser.get_method(), self._body))
        self.closes.append(self._closes)


def _read_by_h11(data: bytes) -> list[Message]:
    """The requests that h11 reads, up to what it refuses."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    messages: list[Message] = []
    method, body = b"", b""
    try:
        connection.receive_data(data)
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                method, body = event.method, b""
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                messages.append((method, body))
                if method == b"CONNECT":
                    return messages
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is h11.MUST_CLOSE:
                    return messages
                connection.start_next_cycle()
            else:
                return messages
    except h11.RemoteProtocolError:
        return messages


def _responses(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, "a response without an end"
        lines = head.split(b"\r\n")
        version, status = lines[0].split(b" ")[:2]
        assert version == b"HTTP/1.1"
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])
        }
        length = int(headers.get(b"content-length", b"0"))
        assert len(data) >= length, "a body that is shorter than announced"
        if status != b"100":
            found.append((int(status), data[:length]))
        data = data[length:]
    return found


_server: _Server | None = None


def check(data: bytes) -> None:
    """Compare the answers with what the libraries read."""
    global _server
    _server = _server or _Server()
    mode, pace, rest = data[:1] or b"\0", (data[1:2] or b"\0")[0], data[2:]
    if mode[0] & 1 == _ORDERS:
        rest = b"".join(_FRAGMENTS[order % len(_FRAGMENTS)] for order in rest)
    rest = rest[:_LONGEST]
    pick = random.Random(pace)
    widest = 2 + pace * 20
    pieces = iter(lambda: pick.randrange(1, widest) if pace != 255 else _LONGEST, 0)
    written, closed = _server.answers(rest, pieces)
    found = _responses(written)
    reader, second = _Reader(rest), _read_by_h11(rest)
    for number, (status, body) in enumerate(found):
        last = number == len(found) - 1
        if status in _LAST:
            assert last, "an answer follows what is no request"
            assert closed, "a connection goes on after what is no request"
            return
        assert status == 200 or status in _UNSCORED, status
        if number < len(second) and status == 200:
            assert body in (b"", _echo(second[number])), "h11 reads another request"
        if not reader.upgraded or number < len(reader.messages) - 1:
            assert number < len(reader.messages) or (status in _UNSCORED and last), (
                "an answer without a request"
            )
            if status == 200:
                assert body in (b"", _echo(reader.messages[number])), "httptools reads another request"
    if closed or reader.upgraded:
        return
    assert len(found) == len(reader.messages), "a request without an answer"
    assert not any(reader.closes), "a connection that had to be closed was not"
