"""What the tests of a running server share: rewards that behave as they are told, and raw HTTP."""

from __future__ import annotations

import asyncio
import ctypes
import http.client
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from guerdon import EmptyMetadata, EvaluateResult, MetricResult, Response, RewardServer, ServerInfo
from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve

SLOW_PATTERN = re.compile(r"(a+)+$")
HOLDS = "a" * 26 + "b"
"""For SLOW_PATTERN: some seconds in C code that holds the GIL."""


def act(response: str) -> Any:
    """Does what the completion says; whatever is no order is scored by its length."""
    order, _, argument = response.partition(" ")
    if order == "sleep":
        time.sleep(float(argument))
    elif order == "loop":
        until = time.monotonic() + float(argument or "inf")
        while time.monotonic() < until:
            pass
    elif order == "hold":
        SLOW_PATTERN.match("a" * int(argument) + "b")
    elif order == "exit":
        raise SystemExit(3)
    elif order == "leave":
        os._exit(3)
    elif order == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif order == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif order == "oom":
        bytearray(1 << 42)
    elif order == "fork":
        return len(response) if os.fork() else 0.125
    elif order == "garbage":
        for number in range(3, 256):
            if _is_socket(number):
                os.write(number, b"garbage" * 9)
    elif order == "close":
        os.closerange(3, 256)
    elif order == "raise":
        raise ValueError(argument)
    elif order == "nan":
        return float("nan")
    elif order == "text":
        return "good"
    elif order == "none":
        return None
    elif order == "rich":
        metrics = {"a": MetricResult(0.25, True, "fine"), "b": MetricResult(0.75, False, "so so")}
        return EvaluateResult(0.5, reason="half", metrics=metrics)
    return float(len(response))


def in_background(*rewards: Any, **options: Any) -> BackgroundServer:
    """A server of these rewards in a background process, on a free port."""
    running = serve(*rewards, port=0, blocking=False, **options)
    assert isinstance(running, BackgroundServer)
    return running


def _is_socket(number: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(number)):
            return True
    except OSError:
        return False


async def act_async(response: str) -> Any:
    """As ``act``, and what only a coroutine can do."""
    order, _, argument = response.partition(" ")
    if order == "await":
        await asyncio.sleep(float(argument or 1e6))
    elif order == "swallow":
        while True:
            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                continue
    elif order == "cancel":
        raise asyncio.CancelledError
    await asyncio.sleep(0)
    return act(response)


async def act_at_once(response: str) -> Any:
    """An async function that awaits nothing."""
    return act(response)


def act_together(completions: list[Any], **columns: Any) -> list[Any]:
    """The whole batch at once."""
    return [act(_text(completion)) for completion in completions]


async def act_together_async(completions: list[Any], **columns: Any) -> list[Any]:
    """The whole batch at once, on the loop."""
    return [await act_async(_text(completion)) for completion in completions]


def _text(completion: Any) -> str:
    return str(completion if isinstance(completion, str) else completion[-1]["content"])


class ActServer(RewardServer[EmptyMetadata]):
    """A RewardServer that does as it is told."""

    def __init__(self, port: int = 8000, blocking: bool = True, **kwargs: Any) -> None:
        super().__init__(port, EmptyMetadata, blocking, **kwargs)

    async def score(self, request: Any) -> Any:
        result = act(request.turns[-1].content)
        return Response(reward=result) if isinstance(result, float) else result

    async def info(self) -> ServerInfo:
        return ServerInfo(version="7", name="Act", description="Acts.")


class AsyncActServer(ActServer):
    """The same with a ``score`` that awaits."""

    async def score(self, request: Any) -> Any:
        return Response(reward=await act_async(request.turns[-1].content))


# HTTP.


def turns(text: str, **more: Any) -> dict[str, Any]:
    """A request in Adaptive's form."""
    return {"turns": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}], **more}


def row(text: str, **more: Any) -> dict[str, Any]:
    """A sample in chat form."""
    return {
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}],
        **more,
    }


class Reply:
    """A response: status, headers by name in lower case, body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str]:
        """Status, kind and message of a refusal."""
        said = self.json
        return self.status, said["error"]["kind"], said["error"]["message"]

    def __repr__(self) -> str:
        return f"Reply({self.status}, {self.body[:300]!r})"


def call(
    url: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    method: str | None = None,
    timeout: float = 60.0,
) -> Reply:
    """One request on a connection of its own; a body that is no bytes is sent as JSON."""
    place = urlsplit(url)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=timeout)
    try:
        sent = {"content-type": "application/json"} if body is not None else {}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        asked = method or ("GET" if body is None else "POST")
        connection.request(asked, path, data, {**sent, **(headers or {})})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, response.read())
    finally:
        connection.close()


def connected(url: str, timeout: float = 20.0) -> socket.socket:
    """A raw connection."""
    place = urlsplit(url)
    return socket.create_connection((place.hostname, place.port), timeout=timeout)


def raw(path: str, body: bytes, *headers: str, method: str = "POST", version: str = "1.1") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/{version}", "host: localhost", *headers]
    told = any(line.lower().startswith(("transfer-encoding", "content-length")) for line in lines)
    if method == "POST" and not told:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def replies(connection: socket.socket, count: int, methods: Sequence[str] = ()) -> list[Reply]:
    """The next responses on a connection, in the order in which they come."""
    file = connection.makefile("rb")
    found = []
    for position in range(count):
        line = file.readline()
        if not line:
            break
        status = int(line.split()[1])
        headers = {}
        while (line := file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        method = methods[position] if methods else "POST"
        length = 0 if method == "HEAD" or status == 100 else int(headers.get("content-length", 0))
        found.append(Reply(status, headers, file.read(length)))
    return found


def process_is_there(pid: int) -> bool:
    """Whether a process runs, zombies left out."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def hold_the_gil(seconds: float) -> None:
    """Sleep in C code without giving up the GIL."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def in_thread(job: Callable[[], Any]) -> threading.Thread:
    """Run something beside the test."""
    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    return thread
