"""Callers that are slow, idle or many: those give way who keep others from an answer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guerdon.serve.background import BackgroundServer
from support import serve_work
from support.serve_work import call, connected, in_background, raw, replies, turns
from support.served import guerdon_serve, running


def post(text: str, *headers: str) -> bytes:
    return raw("/score", json.dumps(turns(text)).encode(), *headers)


@contextlib.contextmanager
def many(url: str, count: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = stack.enter_context(connected(url))
            if sent:
                connection.sendall(sent)
            opened.append(connection)
        time.sleep(0.1)
        yield opened


@pytest.fixture(scope="module")
def narrow() -> Iterator[BackgroundServer]:
    with in_background(serve_work.act, workers=1, timeout=20, max_connections=20) as server:
        yield server


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /score HTTP/1.1\r\nhost: loc",
        raw("/health/live", b"", method="GET"),
        raw("/score", b"", "content-length: 50000") + b"x" * 100,
    ],
)
def test_idle_and_slow_callers_make_room(narrow: BackgroundServer, sent: bytes) -> None:
    """Also for hundreds of new ones, while whoever waits for an answer keeps the connection."""
    with connected(narrow.url) as waiting:
        waiting.sendall(post("sleep 2"))
        with many(narrow.url, 100, sent):
            if b"50000" in sent:
                time.sleep(1.1)  # a body that has just begun may be a quick one
            for _ in range(30):
                assert call(narrow.url, "/score", turns("abc")).json["reward"] == 3.0
            assert call(narrow.url, "/health/ready").status == 200
        assert replies(waiting, 1)[0].json["reward"] == 7.0


def test_idle_sockets_make_room_last(narrow: BackgroundServer) -> None:
    handshake = raw(
        "/ws", b"", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13",
        "sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==", method="GET",
    )  # fmt: skip
    with many(narrow.url, 60, handshake):
        assert call(narrow.url, "/score", turns("abc")).json["reward"] == 3.0


def test_bodies_are_bounded_over_all_connections() -> None:
    with in_background(serve_work.act, workers=1, max_body=1_000_000, max_buffered=3_000_000) as server:
        begun = raw("/score", b"", "content-length: 1000000") + b" " * 900_000
        with many(server.url, 6, begun):
            time.sleep(0.3)
            reply = call(server.url, "/score", turns("x" * 500_000))
            assert (reply.error[:2], reply.headers["retry-after"]) == ((503, "busy"), "1")
            assert call(server.url, "/health/live").status == 200
        deadline = time.monotonic() + 10
        while call(server.url, "/score", turns("x" * 500_000)).status != 200:
            assert time.monotonic() < deadline, "what callers left behind is still counted"
            time.sleep(0.05)


def test_a_caller_that_sends_and_does_not_read_is_read_no_more() -> None:
    """Its responses would be kept; the bytes that it sends wait in the system instead."""
    with (
        in_background(serve_work.act, workers=1, max_buffered=4_000_000, max_body=100_000) as server,
        connected(server.url) as connection,
    ):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(1.0)
        page = raw("/docs", b"", method="GET") * 50
        with contextlib.suppress(TimeoutError, ConnectionError):
            sent = 0
            while sent < 60_000_000:
                sent += connection.send(page)
            raise AssertionError("all is read, and nothing of the answers was")
        assert call(server.url, "/score", turns("abc")).json["reward"] == 3.0
        memory = Path(f"/proc/{server_pid(server)}/status").read_text(encoding="ascii")
        assert int(memory.partition("VmRSS:")[2].split()[0]) < 400_000


def server_pid(server: BackgroundServer) -> int:
    """The process that listens: a child of this one."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            links = [os.readlink(f"/proc/{name}/fd/{fd}") for fd in os.listdir(f"/proc/{name}/fd")]
            with open("/proc/net/tcp", encoding="ascii") as table:
                lines = [line.split() for line in table][1:]
            listening = {
                f"socket:[{line[9]}]"
                for line in lines
                if line[1].endswith(f":{server.port:04X}") and line[3] == "0A"
            }
            if listening.intersection(links) and int(name) != os.getpid():
                return int(name)
    raise AssertionError("nobody listens")


LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
sys.argv = ["guerdon", *sys.argv[1:]]
runpy.run_module("guerdon", run_name="__main__")
"""


def test_few_open_files_are_no_end(tmp_path: Path) -> None:
    """With a hard limit of 100 files, 300 connections that say nothing keep nobody out."""
    rewards = tmp_path / "rewards.py"
    rewards.write_text("def length(response):\n    return len(response)\n", encoding="utf-8")
    process = guerdon_serve(f"{rewards}::length", "--workers", "1", log=tmp_path / "log")
    arguments = list(process.command)
    process.command = [arguments[0], "-c", LIMITED, *arguments[3:]]
    with running(process):
        assert "connections at once instead of 4096" in process.said()
        opened = []
        try:
            for _ in range(300):
                connection = socket.socket()
                connection.settimeout(5)
                opened.append(connection)
                with contextlib.suppress(OSError):
                    connection.connect(("127.0.0.1", process.port))
            time.sleep(0.5)  # of those that come in one moment the last may be turned away
            for _ in range(20):
                body = {"response": "abc", "prompt": "?"}
                assert call(process.url, "/v1/score", body).json["score"] == 3.0
        finally:
            for connection in opened:
                connection.close()


@pytest.mark.slow(seconds=30)
def test_a_head_that_does_not_end_is_not_waited_for(narrow: BackgroundServer) -> None:
    with connected(narrow.url, timeout=40) as slow, connected(narrow.url, timeout=40) as trickling:
        slow.sendall(b"POST /score HTTP/1.1\r\nhost: localhost\r\n")
        trickling.sendall(raw("/score", b"", "content-length: 1000000"))
        for _ in range(100):
            time.sleep(0.3)
            try:
                slow.sendall(b"a: b\r\n")
                trickling.sendall(b" " * 100)
            except OSError:
                break
        else:
            raise AssertionError("both are still read")


def stop_worker(log: Path, port: int) -> int:
    """Stop the worker of a server whose reward gives its process's number; gives that number."""
    pid = int(call(f"http://127.0.0.1:{port}", "/v1/score", {"response": "pid", "prompt": "?"}).json["score"])
    os.kill(pid, signal.SIGSTOP)
    return pid


PID = "import os\n\ndef pid(response):\n    return os.getpid()\n"


@pytest.mark.slow(seconds=40)
def test_a_worker_that_is_stopped_is_seen_while_nobody_asks_and_replaced(tmp_path: Path) -> None:
    rewards = tmp_path / "rewards.py"
    rewards.write_text(PID, encoding="utf-8")
    process = guerdon_serve(f"{rewards}::pid", "--workers", "1", "--timeout", "15s", log=tmp_path / "log")
    with running(process):
        stopped = stop_worker(process.log, process.port)
        until = time.monotonic() + 14
        while (reply := call(process.url, "/health/ready")).status == 200:
            assert time.monotonic() < until, "nobody noticed"
            time.sleep(0.1)
        assert reply.json["reasons"] == ["pid: no worker answers"]
        answer = call(process.url, "/v1/score", {"response": "pid", "prompt": "?"}, timeout=60)
        assert answer.json["score"] not in (None, stopped)
        while call(process.url, "/health/ready").status != 200:
            time.sleep(0.1)
        assert "pid answers again" in process.said() or "has not answered" in process.said()


@pytest.mark.slow(seconds=20)
def test_calls_at_a_stopped_worker_go_to_the_other(tmp_path: Path) -> None:
    rewards = tmp_path / "rewards.py"
    rewards.write_text(PID, encoding="utf-8")
    process = guerdon_serve(f"{rewards}::pid", "--workers", "2", "--timeout", "60s", log=tmp_path / "log")
    with running(process):
        stopped = stop_worker(process.log, process.port)
        found = {
            call(process.url, "/v1/score", {"response": "pid", "prompt": "?"}, timeout=60).json["score"]
            for _ in range(10)
        }
        assert stopped not in found
        assert call(process.url, "/health/ready").status == 200
