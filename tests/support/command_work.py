"""``guerdon serve`` in a process of its own, and rewards that a test holds up and lets go."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

PATIENCE = 30.0
"""Seconds after which something that is waited for is not going to happen."""

REWARDS = '''
"""Rewards for the tests of the server; a file named go lets go of what is held."""

import os
import pathlib
import time

from guerdon import EmptyMetadata, Response, RewardServer, ServerInfo


def length(response):
    """How long it is."""
    return len(response) / 10


def held(response):
    pathlib.Path(f"started-{response}").touch()
    while not os.path.exists("go"):
        time.sleep(0.01)
    return 1.0


def near(response, tolerance=0.5):
    return tolerance


def failing(response):
    raise KeyError("temper")


class Tidy(RewardServer[EmptyMetadata]):
    """Cleans up after itself."""

    def __init__(self, port=8000, blocking=True, **kwargs):
        super().__init__(port, EmptyMetadata, blocking, **kwargs)

    async def score(self, request):
        return Response(reward=1.0)

    async def info(self):
        return ServerInfo(version="1", name="tidy", description="Tidy.")

    def cleanup(self):
        pathlib.Path("clean").touch()
'''


def until(what: Callable[[], Any], why: str = "it") -> Any:
    """Wait for something to be true, and give it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{why} did not happen within {PATIENCE:g} s")


class Server:
    """A server that is being run; ``with`` ends it."""

    def __init__(self, folder: Path, *args: str, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GUERDON_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "guerdon", "serve", *args, "--port", "0"],
            cwd=folder,
            env={**kept, "GUERDON_SAY_AFTER": "600", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.connections: list[http.client.HTTPConnection] = []
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            found = until(self._found_url, "a server that listens")
        except AssertionError:
            self.__exit__()
            raise AssertionError(self.said) from None
        self.url = found[0]

    def _found_url(self) -> re.Match[str] | None:
        if self.process.poll() is not None:
            raise AssertionError(self.said)
        return re.search(r"https?://[\d.]+:\d+", self.said)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line)

    @property
    def said(self) -> str:
        """What stands on standard error so far."""
        return "".join(self._lines)

    def says(self, text: str) -> None:
        """Wait until it says so."""
        until(lambda: text in self.said, f"{text!r}, but {self.said!r}")

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; gives the exit status."""
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status

    def refuses_connections(self) -> bool:
        try:
            socket.create_connection(self.address, timeout=PATIENCE).close()
        except ConnectionRefusedError:
            return True
        return False

    def started(self, response: str) -> bool:
        """Whether the reward ``held`` has begun with a response."""
        return (self.folder / f"started-{response}").exists()

    def go(self) -> None:
        """Let go of what is held."""
        (self.folder / "go").touch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        for connection in self.connections:
            connection.close()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                self._reader.join(PATIENCE)
                stream.close()


class Caller:
    """One connection to a server, kept open where the server keeps it."""

    def __init__(self, server: Server) -> None:
        self.connection = http.client.HTTPConnection(*server.address, timeout=PATIENCE)
        server.connections.append(self.connection)

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any, Mapping[str, str]]:
        """The status, the JSON and the headers of a response."""
        data = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        self.connection.request(method, path, data, {**sent, **(headers or {})})
        response = self.connection.getresponse()
        text = response.read()
        told = {name.lower(): value for name, value in response.getheaders()}
        return response.status, json.loads(text) if text else None, told

    def score(
        self, response: str, path: str = "/v1/score", **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        return self.ask("POST", path, sample(response), headers)


def ask(server: Server, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """The status and the JSON of one request over a connection of its own."""
    caller = Caller(server)
    try:
        return caller.ask(method, path, body, headers)[:2]
    finally:
        caller.connection.close()


def sample(response: str) -> dict[str, Any]:
    """The body of a request in Guerdon's own format."""
    return {"messages": [{"role": "assistant", "content": response}]}


class Later:
    """A call in a thread, whose result is waited for when it is wanted."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self._call, self._args = call, args
        self._found: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found = self._call(*self._args)
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
        return self._found


Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Runs ``guerdon serve`` in a folder with rewards.py: ``serve("rewards.py::length", "--drain", "1s")``."""
    folder = tmp_path / "serve"
    folder.mkdir()
    (folder / "rewards.py").write_text(REWARDS, encoding="utf-8")
    running: list[Server] = []

    def start(*args: str, **environment: str) -> Server:
        running.append(Server(folder, *args, "--workers", "1", environment=environment))
        return running[-1]

    yield start
    for server in running:
        server.__exit__()
