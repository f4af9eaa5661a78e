"""What a WebSocket may not do for long: send half a message, flood with pings, read nothing, keep a revoked key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from guerdon.serve.background import BackgroundServer
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import ApiKeys
from guerdon.serve.http.memory_budget import FREE_BYTES, MemoryBudget
from guerdon.serve.http.websocket_frames import FrameError, FrameReader
from guerdon.serve.http.websocket_limits import (
    ARRIVAL_SECONDS,
    CONTROL_FRAMES,
    UNREAD_SECONDS,
    WebSocketLimits,
)
from support import serve_work
from support.serve_work import call, connected, in_background, row, turns

SHAKE = (
    b"GET /ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def close_code(raw: socket.socket, data: bytes) -> int:
    """The code with which the server closes after these bytes."""
    raw.sendall(SHAKE)
    reply = b""
    while b"\r\n\r\n" not in reply:
        reply += raw.recv(1000)
    reply = reply.partition(b"\r\n\r\n")[2]
    with contextlib.suppress(ConnectionError):
        raw.sendall(data)
    while True:
        while len(reply) < 2 or len(reply) < 2 + reply[1]:
            more = raw.recv(100_000)
            assert more
            reply += more
        if reply[0] == 0x88:
            return int.from_bytes(reply[2:4], "big")
        reply = reply[2 + reply[1] :]  # a pong


def written(*frames: Frame) -> bytes:
    return b"".join(frame.serialize(mask=True) for frame in frames)


BEGUN = Frame(Opcode.TEXT, b"a", fin=False)
MISUSES = [
    ("empty fragments", written(BEGUN, *[Frame(Opcode.CONT, b"", fin=False)] * 6000), 1008),
    ("pings", written(*[Frame(Opcode.PING, b"")] * (CONTROL_FRAMES + 1)), 1008),
    ("pongs", written(*[Frame(Opcode.PONG, b"x" * 125)] * (CONTROL_FRAMES + 1)), 1008),
    ("pings in a message", written(BEGUN, *[Frame(Opcode.PING, b"")] * (CONTROL_FRAMES + 1)), 1008),
    ("no UTF-8", written(Frame(Opcode.TEXT, b"\xff")), 1007),
    ("half a close code", written(Frame(Opcode.CLOSE, b"\x03")), 1002),
    ("a reserved close code", written(Frame(Opcode.CLOSE, b"\x03\xee")), 1002),
    ("a reason that is no text", written(Frame(Opcode.CLOSE, b"\x03\xe8\xff")), 1007),
    ("a close code that is echoed", written(Frame(Opcode.CLOSE, b"\x0f\xa0bye")), 4000),
]


def test_misuse_is_closed_and_the_server_goes_on() -> None:
    with in_background(serve_work.act, workers=1) as running:
        found = {}
        for name, data, _ in MISUSES:
            with connected(running.url) as raw:
                found[name] = close_code(raw, data)
        assert found == {name: code for name, _, code in MISUSES}
        assert call(running.url, "/score", turns("abc")).status == 200


def test_nothing_is_read_after_a_close() -> None:
    with in_background(serve_work.act, workers=1) as running, connected(running.url) as raw:
        late = Frame(Opcode.TEXT, json.dumps(turns("abc", id=1)).encode())
        assert close_code(raw, written(Frame(Opcode.CLOSE, b"\x03\xe8"), late, late)) == 1000
        metrics = call(running.url, "/metrics").body.decode()
    assert 'guerdon_samples_total{reward="act"} 1' not in metrics


# Half messages.


def test_half_messages_of_many_sockets_share_a_budget() -> None:
    """Each may hold nearly the largest body; together no more than the server buffers."""
    half = written(Frame(Opcode.TEXT, b"x" * 60_000_000))[:59_000_000]
    options = {"workers": 1, "max_buffered": 240_000_000}
    with in_background(serve_work.act, **options) as running, contextlib.ExitStack() as stack:
        sockets: list[socket.socket] = []
        for _ in range(5):
            raw = stack.enter_context(connected(running.url))
            raw.sendall(SHAKE)
            assert b"101" in raw.recv(1000)
            raw.sendall(half)
            sockets.append(raw)
        assert sockets[0].recv(1000)[2:4] == (1013).to_bytes(2, "big")
        sockets[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            sockets[-1].recv(1000)


def admission(budget: int = 1 << 30, file: Path | None = None) -> AdmissionControl:
    control = AdmissionControl(ApiKeys(file=file), max_body=1 << 20)
    control.buffered = MemoryBudget(budget)
    return control


class Socket:
    """The limits of one socket, whose other end is ``peer``."""

    def __init__(self, control: AdmissionControl, transport: asyncio.Transport, peer: socket.socket) -> None:
        self.reader = FrameReader(1 << 20)
        self.closed: list[int] = []
        self.transport, self.peer = transport, peer
        headers = [(b"x-api-key", b"one")]
        self.limits = WebSocketLimits(control, headers, self.reader, transport, self.close, self.close)

    def close(self, code: int, reason: str) -> None:
        self.closed.append(code)

    def feed(self, data: bytes) -> None:
        for _ in self.reader.feed(data):
            self.limits.on_message()
        self.limits.account()


def on_a_socket(check: Callable[[Socket], None], control: AdmissionControl) -> None:
    async def run() -> None:
        mine, peer = socket.socketpair()
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=mine)
        check(Socket(control, transport, peer))
        transport.abort()
        peer.close()

    asyncio.run(run())


WHOLE = written(Frame(Opcode.TEXT, b"hello"))


@pytest.mark.parametrize(
    "half",
    [b"\x81", WHOLE[:7], written(BEGUN), WHOLE + WHOLE[:3]],
    ids=["a byte", "a frame", "a fragment", "another"],
)
def test_a_message_must_end(half: bytes) -> None:
    def check(found: Socket) -> None:
        now = time.monotonic()
        found.limits.sweep(now + 2 * ARRIVAL_SECONDS, False)
        assert found.closed == []
        found.feed(half)
        found.limits.sweep(now + ARRIVAL_SECONDS - 1, False)
        assert found.closed == []
        found.limits.sweep(
            now + 2 * ARRIVAL_SECONDS, True
        )  # the server does not read: it is not the client's fault
        assert found.closed == []
        found.limits.sweep(now + 4 * ARRIVAL_SECONDS, False)
        assert found.closed == [1008]

    on_a_socket(check, admission())


def test_many_messages_one_behind_the_other_may_take_long() -> None:
    def check(found: Socket) -> None:
        found.feed(WHOLE[:3])
        begun = found.limits._arriving_since
        assert begun is not None
        found.feed(WHOLE[3:] + WHOLE[:3])
        assert found.limits._arriving_since is not None
        assert found.limits._arriving_since > begun
        found.feed(WHOLE[3:])
        assert found.limits._arriving_since is None

    on_a_socket(check, admission())


def test_what_is_held_is_counted_while_it_is_held() -> None:
    control = admission()

    def check(found: Socket) -> None:
        data = written(Frame(Opcode.TEXT, b"x" * 2 * FREE_BYTES))
        found.feed(data[:FREE_BYTES])
        assert control.buffered.used == 0
        found.feed(data[FREE_BYTES:-1])
        assert control.buffered.used == len(data) - 1
        found.feed(data[-1:])
        assert control.buffered.used == 0

    on_a_socket(check, control)


def test_a_client_that_reads_nothing_is_cut_off() -> None:
    def check(found: Socket) -> None:
        found.transport.write(b"x" * 10_000_000)
        found.limits.on_unread(True)
        now = time.monotonic()
        found.limits.sweep(now + UNREAD_SECONDS - 1, True)
        assert not found.transport.is_closing()
        found.limits.sweep(now + UNREAD_SECONDS + 1, True)
        assert found.transport.is_closing()

    on_a_socket(check, admission())


def test_a_few_pings_now_and_then_are_no_flood() -> None:
    def check(found: Socket) -> None:
        for _ in range(3):
            for _ in range(CONTROL_FRAMES):
                found.limits.count_control_frame()
            found.limits._control_since -= 11
        for _ in range(CONTROL_FRAMES):
            found.limits.count_control_frame()
        with pytest.raises(FrameError):
            found.limits.count_control_frame()

    on_a_socket(check, admission())


# Revoked keys.


def opened(server: BackgroundServer, path: str, key: str) -> ClientConnection:
    url = server.url.replace("http", "ws", 1) + path
    return connect(url, compression=None, additional_headers={"X-Api-Key": key})


def replace(file: Path, text: str) -> None:
    fresh = file.with_name("fresh")
    fresh.write_text(text)
    fresh.replace(file)


def test_a_revoked_key_closes_open_sockets(tmp_path: Path) -> None:
    """An idle one, one in the middle of a conversation, and a session of OpenEnv's; other keys' sockets stay."""
    file = tmp_path / "keys"
    file.write_text("one\ntwo\n")
    with (
        in_background(serve_work.act, workers=1, api_keys_file=str(file)) as running,
        opened(running, "/ws", "one") as idle,
        opened(running, "/ws", "one") as busy,
        opened(running, "/ws", "one") as session,
        opened(running, "/ws", "two") as other,
    ):
        session.send('{"type": "reset"}')
        session.recv(timeout=10)
        replace(file, "two\nthree\n")
        for conversation, says in ((busy, True), (idle, False), (session, False)):
            closed = closing(conversation, says)
            assert closed == (1008, "the API key is no longer valid")
        other.send(json.dumps(turns("abc", id=1)))
        assert "error" not in json.loads(other.recv(timeout=10))


def closing(conversation: ClientConnection, says: bool) -> tuple[int, str]:
    """How the server closes a conversation that goes on until then."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            if says:
                conversation.send(json.dumps(turns("abc", id=1)))
                conversation.recv(timeout=10)  # an answer has two frames
            conversation.recv(timeout=10)
    assert conversation.close_code is not None
    return conversation.close_code, conversation.close_reason or ""


def test_a_revoked_key_cuts_off_a_stream(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("one\n")
    body = json.dumps({"samples": [row("sleep 0.1", id=f"s{n}") for n in range(100)]}).encode()
    head = (
        "POST /v1/batch_score HTTP/1.1\r\nhost: localhost\r\nx-api-key: one\r\naccept: application/jsonl\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with (
        in_background(serve_work.act, workers=1, api_keys_file=str(file)) as running,
        connected(running.url) as raw,
    ):
        raw.sendall(head.encode() + body)
        found = raw.recv(1000)
        replace(file, "two\n")
        while b"0\r\n\r\n" not in found and (more := raw.recv(100_000)):
            found += more
    assert b" 200 " in found
    assert b'"score"' in found
    assert b'"done"' not in found


# Who may have whose kept answer.


def asked(server: BackgroundServer, key: str, body: Any) -> tuple[int, str | None]:
    headers = {"x-api-key": key, "idempotency-key": "same"}
    reply = call(server.url, "/v1/score", body, headers=headers)
    return reply.status, reply.headers.get("idempotency-replayed")


def test_idempotency_keys_are_each_callers_own() -> None:
    with in_background(serve_work.act, workers=1, api_key=["one", "two"]) as running:
        assert asked(running, "one", row("abc")) == (200, None)
        assert asked(running, "one", row("abc")) == (200, "true")
        assert asked(running, "one", row("abcd"))[0] == 422
        assert asked(running, "two", row("abcd")) == (200, None)
        assert asked(running, "two", row("abcd")) == (200, "true")
        assert asked(running, "one", row("abc")) == (200, "true")
