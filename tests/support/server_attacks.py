"""The corpus of attacks on a server: what each file of ``tests/serve/corpus`` is, and what must hold beside it.

A file's docstring says what a client does and what must not happen; ``attack`` does it and raises AssertionError where
it has succeeded. Beside it somebody else uses the server all the time, and every one of their answers must be right.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "serve" / "corpus"
PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class ServerAttack:
    """One file of the corpus."""

    name: str
    claim: str
    run: Callable[[Target], None]
    most_mb: int
    """How much more memory the server's process may take meanwhile."""


@dataclass(frozen=True)
class Target:
    """The server under attack."""

    port: int

    def connect(self, timeout: float = PATIENCE_SECONDS) -> socket.socket:
        """A connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def send(self, data: bytes, timeout: float = 5.0) -> bytes:
        """Sends bytes on a connection of their own; what comes back until the server closes or falls silent."""
        with self.connect(timeout) as peer:
            with contextlib.suppress(OSError):
                peer.sendall(data)
            return self.rest(peer)

    @staticmethod
    def rest(peer: socket.socket, quiet: float = 0.5) -> bytes:
        """What still comes until the server closes or says nothing for a while."""
        peer.settimeout(quiet)
        received = b""
        with contextlib.suppress(OSError):
            while more := peer.recv(65536):
                received += more
        return received

    @staticmethod
    def reset(peer: socket.socket) -> None:
        """Closes a connection without good manners."""
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()


def score_request(response: str, *lines: str, path: str = "/v1/score") -> bytes:
    """A request for the score of a response, with further header lines."""
    body = json.dumps({"response": response}).encode()
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    head += [f"Content-Length: {len(body)}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def upgrade_request(path: str = "/ws", *lines: str) -> bytes:
    """The handshake of a WebSocket."""
    head = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"]
    head += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n"


def statuses(received: bytes) -> list[int]:
    """The statuses of the responses in what was received."""
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


def frame(opcode: int, payload: bytes, *, final: bool = True, masked: bool = True) -> bytes:
    """A frame of a WebSocket, with a mask of zeros."""
    size = len(payload)
    second = 0x80 if masked else 0
    head = bytes([opcode | (0x80 if final else 0)])
    if size < 126:
        head += bytes([second | size])
    elif size < 1 << 16:
        head += bytes([second | 126]) + struct.pack(">H", size)
    else:
        head += bytes([second | 127]) + struct.pack(">Q", size)
    return head + (bytes(4) if masked else b"") + payload


class Bystander:
    """Somebody else who uses the server: one request after the other, over one connection as long as it lasts."""

    def __init__(self, port: int) -> None:
        self.answered = 0
        self.wrong: list[str] = []
        self._port = port
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECONDS)
        number = 0
        while not self._ends.is_set():
            number += 1
            response = "x" * (number % 50 + 1)
            try:
                connection.request(
                    "POST",
                    "/v1/score",
                    json.dumps({"response": response}),
                    {"Content-Type": "application/json"},
                )
                answer = connection.getresponse()
                body = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.wrong.append(f"request {number}: {type(error).__name__}: {error}")
                connection.close()
                continue
            if answer.status == 200 and body["score"] == len(response):
                self.answered += 1
            else:
                self.wrong.append(f"request {number}: {answer.status} {body}")
            time.sleep(0.005)
        connection.close()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ends.set()
            self._thread.join()


def peak_mb(pid: int) -> float:
    """The most memory that a process has had."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def forget_peak(pid: int) -> None:
    """Begins to measure the peak anew."""
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def attacks() -> Sequence[ServerAttack]:
    """All files of the corpus, by name."""
    found = []
    for path in sorted(CORPUS.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"server_attack_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(
            ServerAttack(
                path.stem,
                (module.__doc__ or "").partition("\n")[0],
                module.attack,
                getattr(module, "MOST_MB", 200),
            )
        )
    return found
