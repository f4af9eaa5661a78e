"""Servers as processes of their own, on ports of loopback, for tests that talk to real ones."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_SECONDS = 60
STOP_SECONDS = 30


def _ports() -> Iterator[int]:
    """Ports of this process of pytest-xdist alone, each once in a while.

    They are below those that the system gives to outgoing connections, so that none takes one between its choice
    and its use.
    """
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 6
    ports = list(range(20_000 + 2_000 * number, 22_000 + 2_000 * number))
    random.shuffle(ports)
    return itertools.cycle(ports)


_PORTS = _ports()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable: the ports never end")


@dataclass
class Process:
    """A server's process, and the file that it writes its errors to."""

    command: Sequence[str]
    port: int
    log: Path
    ready: str = "/info"
    """A path that is answered once the server is up."""
    env: Mapping[str, str] | None = None
    folder: Path | None = None
    popen: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers; raises AssertionError with what it said if it does not."""
        with open(self.log, "ab") as log:
            # A session of its own, so that stop() ends its children too.
            self.popen = subprocess.Popen(
                list(self.command),
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        while self.status(self.ready) is None:
            if self.popen.poll() is not None or time.monotonic() > end:
                self.stop()
                raise AssertionError(f"{self.command} does not answer:\n{self.said()}")
            time.sleep(0.05)

    def status(self, path: str, timeout: float = 2.0) -> int | None:
        """The status that a GET is answered with; None where nobody listens."""
        try:
            return ask(self.port, "GET", path, timeout=timeout)[0]
        except (OSError, http.client.HTTPException):
            return None

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-4000:]

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send a signal to the process that was started, and wait for its end; gives its exit status."""
        self.popen.send_signal(number)
        return self.popen.wait(STOP_SECONDS)

    def stop(self) -> None:
        """End it, by force if it does not end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
            if self.popen.poll() is None:
                self.popen.terminate()
                self.popen.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait(STOP_SECONDS)


@contextlib.contextmanager
def running(process: Process) -> Iterator[Process]:
    """The process, started, and ended with the block."""
    process.start()
    try:
        yield process
    finally:
        process.stop()


def guerdon_serve(*arguments: str, log: Path, port: int | None = None, folder: Path | None = None) -> Process:
    """A ``guerdon serve`` that is not started yet."""
    port = port or free_port()
    command = [sys.executable, "-m", "guerdon", "serve", *arguments, "--port", str(port)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GUERDON_")}
    env["GUERDON_SAY_AFTER"] = "600"
    return Process(command, port, log, ready="/health/ready", env=env, folder=folder)


def ask(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,
) -> tuple[int, Any]:
    """The status and the body, read as JSON where it is, of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text.decode(errors="replace")
