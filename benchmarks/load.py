"""A raw client that costs little, and servers as processes whose processor time and memory can be read.

The client writes prepared bytes and looks for where an answer ends; it parses nothing else, so that on a machine
of few processors most of the time is the server's. Linux only: what a server's processes use is read in /proc.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

T = TypeVar("T")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
START_SECONDS = 90
STOP_SECONDS = 20
ANSWER_SECONDS = 60


@dataclass(frozen=True)
class Load:
    """What is asked of a server: one prepared request, over and over, so many at a time."""

    body: bytes
    in_flight: int
    path: str = "/score"
    rewards: int = 1
    """How many rewards one request asks for."""
    socket: bool = False
    """Whether the requests go over one WebSocket, numbered by ``id``, and not over HTTP."""


@dataclass
class Measured:
    """What came of it."""

    rewards: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.rewards / self.seconds

    @property
    def per_cpu_second(self) -> float:
        return self.rewards / max(self.cpu_seconds, 1 / TICKS)

    def latency(self, share: float) -> float:
        """The latency in milliseconds that this share of the requests stayed below."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def median_of(rounds: Sequence[Measured]) -> tuple[float, float]:
    """Rewards a second and a CPU second, each the median of several rounds."""
    return (
        statistics.median(r.per_second for r in rounds),
        statistics.median(r.per_cpu_second for r in rounds),
    )


class Server:
    """A server as a process, ended with its children when the ``with`` block is left."""

    def __init__(
        self, command: Sequence[str], port: int, key: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.port, self.key, self._command, self._env = port, key, list(command), env

    def __enter__(self) -> Server:
        # A file, since a pipe that nobody reads would fill up and stop the server.
        with tempfile.TemporaryFile() as said:
            self.process = subprocess.Popen(
                self._command, env=self._env, stdout=subprocess.DEVNULL, stderr=said
            )
            end = time.monotonic() + START_SECONDS
            while not _answers(self.port):
                if self.process.poll() is not None or time.monotonic() > end:
                    self.process.kill()
                    self.process.wait()
                    said.seek(0)
                    text = said.read().decode(errors="replace")[-2000:]
                    raise RuntimeError(f"{' '.join(self._command)} does not listen:\n{text}")
                time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def header(self) -> bytes:
        """The header line that carries the key."""
        return f"Authorization: Bearer {self.key}\r\n".encode() if self.key else b""

    def cpu_seconds(self) -> float:
        """What all its processes have used so far, those that have ended with them."""
        return cpu_seconds_of(self.process.pid)

    def resident_bytes(self) -> int:
        """What all its processes hold in memory; a page that two of them share counts twice."""
        pages = 0
        for pid, _ in _tree(self.process.pid):
            with contextlib.suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * PAGE


def cpu_seconds_of(pid: int) -> float:
    """What a process and all that it has started have used so far."""
    return sum(sum(map(int, fields[11:15])) for _, fields in _tree(pid)) / TICKS


def _tree(root: int) -> list[tuple[int, list[str]]]:
    """A process and its descendants, with the fields of their stat files from the state on."""
    found: dict[int, list[str]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name of a process may hold spaces and parentheses.
                found[int(entry.name)] = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
    tree, grown = {root}, True
    while grown:
        children = {pid for pid, fields in found.items() if int(fields[1]) in tree}
        grown = not children <= tree
        tree |= children
    return [(pid, found[pid]) for pid in tree if pid in found]


def _answers(port: int) -> bool:
    """Whether a request is answered there, with whatever status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/info")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(main: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, on uvloop where that is installed."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def measure(server: Server, load: Load, seconds: float) -> Measured:
    """Puts a load on a server for so many seconds."""
    return run(_measure(server, load, seconds))


async def _measure(server: Server, load: Load, seconds: float) -> Measured:
    loop = asyncio.get_running_loop()
    measured = Measured()
    clients: list[_Client] = []
    for _ in range(1 if load.socket else load.in_flight):
        made = await loop.create_connection(
            lambda: (_Socket if load.socket else _Connection)(server, load, measured),
            "127.0.0.1",
            server.port,
        )
        clients.append(made[1])
    await asyncio.wait_for(asyncio.gather(*(client.ready for client in clients)), ANSWER_SECONDS)
    used, begun = server.cpu_seconds(), time.perf_counter()
    for client in clients:
        client.start(begun + seconds)
    done = asyncio.gather(*(client.done for client in clients))
    await asyncio.wait_for(done, seconds + ANSWER_SECONDS)
    measured.seconds = time.perf_counter() - begun
    measured.cpu_seconds = server.cpu_seconds() - used
    for client in clients:
        client.transport.close()
    return measured


class _Client(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, server: Server, load: Load, measured: Measured) -> None:
        self._load, self._measured, self._header = load, measured, server.header
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()
        self._until = 0.0
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.ready, self.done):
            if not future.done():
                future.set_exception(ConnectionError(f"the server closed the connection: {exc}"))

    def start(self, until: float) -> None:
        raise NotImplementedError

    def _fail(self, answer: bytes) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"not a reward: {answer[:500]!r}"))


class _Connection(_Client):
    """One connection with one request in flight."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        head = f"POST {self._load.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        length = f"Content-Length: {len(self._load.body)}\r\n\r\n"
        self._request = head.encode() + self._header + length.encode() + self._load.body
        self.ready.set_result(None)

    def start(self, until: float) -> None:
        self._until = until
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        if self._sent < self._until:
            self.transport.write(self._request)
        else:
            self.done.set_result(None)

    def data_received(self, data: bytes) -> None:
        held = self._held = self._held + data if self._held else data
        end = held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = held[:end].lower()
        at = head.find(b"content-length:")
        if not head.startswith(b"http/1.1 200") or at < 0:
            self._fail(held)
            return
        size = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(held) < end + 4 + size:
            return
        self._held = b""
        self._measured.latencies.append(time.perf_counter() - self._sent)
        self._measured.rewards += self._load.rewards
        self._send()


_UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


class _Socket(_Client):
    """A WebSocket with so many requests in flight; a header frame and one chunk answer each."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._sent: dict[int, float] = {}
        self._next = 0
        self.transport.write(_UPGRADE + self._header + b"\r\n")

    def start(self, until: float) -> None:
        self._until = until
        self._send(self._load.in_flight)

    def _send(self, count: int) -> None:
        now = time.perf_counter()
        if now >= self._until:
            if not self._sent:
                self.done.set_result(None)
            return
        frames = []
        for _ in range(count):
            frames.append(_frame(b'{"id":%d,' % self._next + self._load.body[1:]))
            self._sent[self._next] = now
            self._next += 1
        self.transport.write(b"".join(frames))

    def data_received(self, data: bytes) -> None:
        held = self._held + data if self._held else data
        if not self.ready.done():
            end = held.find(b"\r\n\r\n")
            if end < 0:
                self._held = held
            elif held.startswith(b"HTTP/1.1 101"):
                self._held = held[end + 4 :]
                self.ready.set_result(None)
            else:
                self.ready.set_exception(RuntimeError(f"no WebSocket: {held[:500]!r}"))
            return
        answered, at, size = 0, 0, len(held)
        while size - at >= 2:
            length, start = held[at + 1], at + 2
            if length == 126:
                if size - at < 4:
                    break
                length, start = (held[at + 2] << 8) | held[at + 3], at + 4
            if size - start < length:
                break
            answered += self._frame(held[start : start + length])
            at = start + length
        self._held = held[at:]
        if answered:
            self._send(answered)

    def _frame(self, payload: bytes) -> bool:
        if b'"chunk"' not in payload:
            if b'"total_num_chunks"' not in payload:
                self._fail(payload)
            return False
        number = int(payload[payload.index(b":") + 1 : payload.index(b",")])
        self._measured.latencies.append(time.perf_counter() - self._sent.pop(number))
        self._measured.rewards += 1
        return True


def _frame(payload: bytes) -> bytes:
    """A text frame, masked with zeros, which leave it as it is."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, 0x80 | size)) + b"\0\0\0\0" + payload
    return b"\x81\xfe" + struct.pack("!H", size) + b"\0\0\0\0" + payload
