"""SandboxFusion, Piston and E2B on loopback: small servers of their protocols that really run the programs.

Each keeps what it was sent, and can be told to fail in a way of one's choice before it does well.
"""

from __future__ import annotations

import base64
import email
import email.policy
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from guerdon.sandbox.providers import E2B, Piston, Provider, Retries, SandboxFusion


@dataclass
class Sent:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Fault = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Service

    def handle_any(self) -> None:
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = Sent(self.command, self.path, headers, body)
        with self.server.lock:
            self.server.sent.append(sent)
            self.server.ports.append(self.client_address[1])
            fault = self.server.faults.popleft() if self.server.faults else None
        if fault is not None:
            fault(self)
        else:
            self.server.answer(self, sent)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

    def reply(self, status: int, body: Any = b"", headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.sent: list[Sent] = []
        self.ports: list[int] = []
        self.faults: deque[Fault] = deque()
        self.stopped = threading.Event()
        self.canned: Any = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, handler: Handler, sent: Sent) -> None:
        raise NotImplementedError

    def handle_error(self, *_: Any) -> None:
        pass  # clients that went away are part of the tests

    def server_close(self) -> None:
        socketserver.TCPServer.server_close(self)


@contextmanager
def served(service: Service) -> Iterator[Any]:
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service
    finally:
        service.stopped.set()
        service.shutdown()
        thread.join()
        service.server_close()


def status(code: int, body: Any = b"", **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.reply(code, body, named)


def hang(handler: Handler) -> None:
    handler.server.stopped.wait(30)
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """A byte now and then: no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not handler.server.stopped.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def cut(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"status": "Succ')
    handler.wfile.flush()
    handler.close_connection = True


def drop(handler: Handler) -> None:
    handler.close_connection = True


def garbage(handler: Handler) -> None:
    handler.reply(200, b"<html>welcome</html>")


def huge(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    for _ in range(1 << 10):
        handler.wfile.write(b" " * (1 << 20))


@dataclass
class Ran:
    code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    overran: bool = False


def ran(command: list[str], stdin: bytes, folder: Path, seconds: float) -> Ran:
    started = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=seconds)
            overran = False
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            overran = True
    return Ran(None if overran else process.returncode, stdout, stderr, time.monotonic() - started, overran)


class FusionService(Service):
    """``POST /run_code``: Python and Bash."""

    def answer(self, handler: Handler, sent: Sent) -> None:
        if sent.path != "/run_code":
            return handler.reply(404, {"detail": "Not Found"})
        if self.canned is not None:
            return handler.reply(200, self.canned)
        request = sent.json()
        command = {"python": [sys.executable, "main"], "bash": ["bash", "main"]}[request["language"]]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "main").write_text(request["code"])
            for path, data in request["files"].items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(base64.b64decode(data))
            done = ran(command, (request["stdin"] or "").encode(), folder, request["run_timeout"])
        result = {
            "status": "TimeLimitExceeded" if done.overran else "Finished",
            "execution_time": done.seconds,
            "return_code": done.code,
            "stdout": done.stdout[: 1 << 20].decode(),
            "stderr": done.stderr[: 1 << 20].decode(),
        }
        good = done.code == 0
        handler.reply(
            200,
            {
                "status": "Success" if good else "Failed",
                "message": "",
                "compile_result": None,
                "run_result": result,
                "executor_pod_name": None,
                "files": {},
            },
        )


class PistonService(Service):
    """``GET /api/v2/runtimes`` and ``POST /api/v2/execute``: Python."""

    most_ms = 60_000
    output_max_size = 1 << 20
    runtimes: list[dict[str, Any]] = [  # noqa: RUF012
        {"language": "python", "version": "3.9.4", "aliases": ["py", "python3"]},
        {"language": "python", "version": "3.12.0", "aliases": ["py", "python3"]},
        {"language": "c++", "version": "10.2.0", "aliases": ["cpp", "g++"], "runtime": "gcc"},
    ]

    def answer(self, handler: Handler, sent: Sent) -> None:
        if sent.path == "/api/v2/runtimes":
            return handler.reply(200, self.runtimes)
        if sent.path != "/api/v2/execute":
            return handler.reply(404, {"message": "Not Found"})
        if self.canned is not None:
            return handler.reply(200, self.canned)
        request = sent.json()
        known = {(runtime["language"], runtime["version"]) for runtime in self.runtimes}
        if (request["language"], request["version"]) not in known:
            return handler.reply(400, {"message": f"{request['language']} runtime is unknown"})
        if request["run_timeout"] > self.most_ms:
            message = f"run_timeout cannot exceed the configured limit of {self.most_ms}"
            return handler.reply(400, {"message": message})
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in request["files"]:
                data = file["content"].encode()
                if file["encoding"] == "base64":
                    data = base64.b64decode(data)
                (folder / file["name"]).parent.mkdir(parents=True, exist_ok=True)
                (folder / file["name"]).write_bytes(data)
            stdin = request["stdin"] + ("" if request["stdin"].endswith("\n") else "\n")
            command = [sys.executable, request["files"][0]["name"], *request["args"]]
            done = ran(command, stdin.encode(), folder, request["run_timeout"] / 1000)
        handler.reply(200, {"run": self._run(done), "language": request["language"], "version": "3.12.0"})

    def _run(self, done: Ran) -> dict[str, Any]:
        most = self.output_max_size
        reason = "TO" if done.overran else "RE" if done.code else None
        if len(done.stdout) > most or len(done.stderr) > most:
            reason = "OL" if len(done.stdout) > most else "EL"
        killed = reason in ("TO", "OL", "EL")
        return {
            "signal": "SIGKILL" if killed else None,
            "stdout": done.stdout[:most].decode(),
            "stderr": done.stderr[:most].decode(),
            "output": (done.stdout + done.stderr)[:most].decode(),
            "code": None if killed else done.code,
            "memory": 9_000_000,
            "message": None,
            "status": reason,
            "cpu_time": 20,
            "wall_time": done.seconds * 1000,
        }


class E2BService(Service):
    """E2B's REST interface and the daemon of its sandboxes, all under one address."""

    def __init__(self) -> None:
        super().__init__()
        self.folders: dict[str, Path] = {}
        self.token = "envd-token"
        self.made: list[str] = []
        self.tools = Path(tempfile.mkdtemp())
        for tool in ("python3", "bash", "sh"):
            (self.tools / tool).symlink_to(sys.executable if tool == "python3" else "/bin/" + tool)

    def server_close(self) -> None:
        super().server_close()
        for folder in (*self.folders.values(), self.tools):
            shutil.rmtree(folder, ignore_errors=True)

    def answer(self, handler: Handler, sent: Sent) -> None:
        if sent.method == "POST" and sent.path == "/v2/sandboxes":
            return self._make(handler, sent)
        if sent.method == "DELETE" and (found := re.fullmatch(r"/sandboxes/([\w-]+)", sent.path)):
            folder = self.folders.pop(found[1], None)
            if folder is None:
                return handler.reply(404, {"code": 404, "message": "sandbox not found"})
            shutil.rmtree(folder)
            return handler.reply(204)
        headers = sent.headers
        folder = self.folders.get(headers.get("e2b-sandbox-id", ""))
        if folder is None:
            return handler.reply(502, {"message": "The sandbox was not found", "code": 502})
        if headers.get("x-access-token") != self.token:
            return handler.reply(401, {"code": "unauthenticated", "message": "no access"})
        if sent.path.partition("?")[0] == "/files":
            return self._lay(handler, sent, folder)
        if sent.path == "/process.Process/Start":
            return self._start(handler, sent, folder, headers)
        return handler.reply(404, {"message": "no such route"})

    def _make(self, handler: Handler, sent: Sent) -> None:
        if sent.headers.get("x-api-key") != "e2b_secret":
            return handler.reply(
                401, {"code": 401, "message": f"invalid key {sent.headers.get('x-api-key')}"}
            )
        id = f"sandbox{len(self.made)}"
        self.made.append(id)
        self.folders[id] = Path(tempfile.mkdtemp())
        made = {
            "sandboxID": id,
            "templateID": sent.json()["templateID"],
            "clientID": "c",
            "envdVersion": "0.6.2",
        }
        handler.reply(201, {**made, "envdAccessToken": self.token, "domain": None, "alias": "a"})

    def _lay(self, handler: Handler, sent: Sent, folder: Path) -> None:
        kind = sent.headers["content-type"].encode()
        parts = email.message_from_bytes(
            b"Content-Type: " + kind + b"\r\n\r\n" + sent.body, policy=email.policy.HTTP
        )
        laid = []
        for part in parts.iter_parts():
            path = self._path(str(part.get_filename()), folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(part.get_payload(decode=True)))
            laid.append({"path": str(path), "name": path.name, "type": "file"})
        handler.reply(200, laid)

    def _path(self, path: str, folder: Path) -> Path:
        return Path(path.replace("/home/user", str(folder)))

    def _start(self, handler: Handler, sent: Sent, folder: Path, headers: dict[str, str]) -> None:
        size = int.from_bytes(sent.body[1:5], "big")
        assert sent.body[0] == 0
        assert len(sent.body) == 5 + size
        process = json.loads(sent.body[5:])["process"]
        # No login shell (-l): the profiles of the machine that runs the tests are its own.
        told = [argument for argument in process["args"] if argument != "-l"]
        arguments = [argument.replace("/home/user", str(folder)) for argument in told]
        seconds = int(headers["connect-timeout-ms"]) / 1000
        handler.send_response(200)
        handler.send_header("Content-Type", "application/connect+json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

        def send(message: Any, flags: int = 0) -> None:
            data = json.dumps(message).encode()
            framed = bytes([flags]) + len(data).to_bytes(4, "big") + data
            handler.wfile.write(b"%x\r\n" % len(framed) + framed + b"\r\n")
            handler.wfile.flush()

        send({"event": {"start": {"pid": 7}}})
        cwd = self._path(process.get("cwd") or "/home/user", folder)
        with subprocess.Popen(
            [process["cmd"], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={"PATH": str(self.tools)},
        ) as child:
            error = self._told(child, send, time.monotonic() + seconds)
        send({"error": {"code": "deadline_exceeded", "message": "over"}} if error else {}, 2)
        handler.wfile.write(b"0\r\n\r\n")

    def _told(self, child: subprocess.Popen[bytes], send: Callable[[Any], None], deadline: float) -> bool:
        """Sends what the process writes as it comes. Whether it overran."""
        assert child.stdout
        assert child.stderr
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), child.kill)
        timer.start()
        try:
            while data := os.read(child.stdout.fileno(), 1 << 15):
                send({"event": {"data": {"stdout": base64.b64encode(data).decode()}}})
            while data := os.read(child.stderr.fileno(), 1 << 15):
                send({"event": {"data": {"stderr": base64.b64encode(data).decode()}}})
        except OSError:
            child.kill()
            raise
        finally:
            timer.cancel()
        code = child.wait()
        if time.monotonic() >= deadline:
            return True
        end: dict[str, Any] = {"status": f"exit status {code}", "exited": True}
        if code < 0:
            name = {-9: "killed", -24: "CPU time limit exceeded", -6: "aborted"}.get(code, str(-code))
            end = {"exitCode": -1, "status": f"signal: {name}", "error": f"signal: {name}"}
        elif code > 0:
            end["exitCode"] = code
        send({"event": {"end": end}})
        return False


QUICK = Retries(attempts=3, first_wait_s=0.01)


def provider_for(service: Service) -> Provider:
    """The provider that asks this service."""
    if isinstance(service, FusionService):
        return SandboxFusion(service.address, retries=QUICK)
    if isinstance(service, PistonService):
        return Piston(service.address, retries=QUICK)
    return E2B(service.address, sandbox_address=service.address, api_key="e2b_secret", retries=QUICK)
