"""E2B, virtual machines by the second: a fresh one for each program, through E2B's HTTP interface.

E2B's own package has some twenty dependencies, so this module calls the service itself: its REST interface to make and
kill a sandbox, and the daemon in it (envd) to write files and to run a process, which is a Connect stream of JSON.
The Jupyter kernel of E2B's code interpreter is left aside: a kernel has neither standard input nor an exit code.

A sandbox is never used twice. Its user may become root there, so a program could change the interpreter for the next
one. It is killed as soon as the program has ended, and E2B ends it by itself should that request be lost.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shlex
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.sandbox.execution import Execution, Status
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers.base import (
    COMPILE_S,
    SLACK_S,
    SOURCE_NAMES,
    Provider,
    RunRequest,
    parsed,
    part,
)
from guerdon.sandbox.providers.connect_rpc import CONTENT_TYPE, ConnectError, enveloped, messages
from guerdon.sandbox.providers.http import Http, Retries
from guerdon.sandbox.providers.transport import ServiceError, TransientError

DOMAIN = "e2b.app"
TEMPLATE = "code-interpreter-v1"
ENVD_PORT = 49983
USER = "user"
FOLDER = "/home/user/run"
INPUT = "/home/user/.stdin"
MAKE_S = 60.0
"""Seconds that the making of a sandbox may take."""
SHARED_DOMAINS = frozenset({"e2b.app", "e2b.dev"})
"""Domains where all sandboxes answer under one name, so that connections are kept between them."""

# What runs a source, and what makes it ready; {source} is its name, quoted.
COMMANDS: dict[str, tuple[str, str]] = {
    "python": ("", "python3 {source}"),
    "javascript": ("command -v node", "node {source}"),
    "bash": ("", "bash {source}"),
    "c": ("gcc -O2 -o ../program {source} -lm", "../program"),
    "cpp": ("g++ -O2 -std=c++17 -o ../program {source}", "../program"),
    "rust": ("rustc -O -o ../program {source}", "../program"),
    "go": ("go build -o ../program {source}", "../program"),
    "java": ("command -v java", "java {source}"),
}
# Reserve far more address space than they use.
UNLIMITED_MEMORY = frozenset({"javascript", "go", "java"})


@dataclass(frozen=True, slots=True)
class _RemoteSandbox:
    """A sandbox at E2B: its id, and the headers that let its daemon hear us."""

    id: str
    daemon: Http
    headers: Mapping[str, str]
    shared: bool


@dataclass(slots=True)
class _Process:
    """What a process in a sandbox did, as it comes in."""

    stdout: bytearray
    stderr: bytearray
    started: float
    exit_code: int | None = None
    signal: str = ""
    timed_out: bool = False
    flooded: bool = False
    wall_s: float = 0.0


class E2B(Provider):
    """Programs in E2B's sandboxes, one for each program, without access to the internet.

    ``api_key`` is by default ``E2B_API_KEY`` of the environment, ``domain`` ``E2B_DOMAIN`` or e2b.app. ``address``
    (or ``E2B_API_URL``) and ``sandbox_address`` (or ``E2B_SANDBOX_URL``) are for servers of one's own.
    ``template`` must have what the programs need: python3, node, gcc and so on.

    Raises InputError where there is no key, or for what is not an address.

    >>> E2B(api_key="e2b_0123").name
    'E2B'
    """

    name: ClassVar[str] = "E2B"

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        domain: str | None = None,
        sandbox_address: str | None = None,
        template: str = TEMPLATE,
        retries: Retries | None = None,
    ) -> None:
        key = api_key or os.environ.get("E2B_API_KEY", "")
        if not key:
            raise InputError("E2B needs a key: set E2B_API_KEY or give api_key")
        self._domain = domain or os.environ.get("E2B_DOMAIN") or DOMAIN
        self._secrets = (key,)
        self._retries = retries
        self._template = template
        self._sandbox_address = sandbox_address or os.environ.get("E2B_SANDBOX_URL") or None
        self._http = Http(
            address or os.environ.get("E2B_API_URL") or f"https://api.{self._domain}",
            name=self.name,
            headers={"X-API-Key": key, "Content-Type": "application/json"},
            secrets=self._secrets,
            key_hint="set E2B_API_KEY to a valid key",
            retries=retries,
        )
        self._lock = threading.Condition()
        self._making = 0
        self._daemons: dict[str, Http] = {}
        self._alive: set[str] = set()
        self._closed = False

    def languages(self) -> tuple[str, ...]:
        return tuple(COMMANDS)

    def execute(self, run: RunRequest) -> Execution:
        machine = self._made(run.limits)
        try:
            self._write_files(machine, run)
            done = self._ran(machine, run)
            with self._lock:
                if machine.id not in self._alive:  # close() took it from under the program
                    raise ServiceError("E2B was closed while the program ran")
            return done
        finally:
            self._kill(machine)

    def _made(self, limits: Limits) -> _RemoteSandbox:
        with self._lock:
            if self._closed:
                raise ServiceError("E2B was closed: open the sandbox again")
            self._making += 1
        try:
            return self._make(limits)
        finally:
            with self._lock:
                self._making -= 1
                self._lock.notify_all()

    def _make(self, limits: Limits) -> _RemoteSandbox:
        request = {
            "templateID": self._template,
            # After so many seconds E2B ends it, whatever becomes of us.
            "timeout": math.ceil(limits.wall_s + COMPILE_S + 2 * SLACK_S),
            "allow_internet_access": False,
            "metadata": {"made-by": "guerdon"},
        }
        body = self._http.request(
            "POST",
            "/v2/sandboxes",
            body=json.dumps(request).encode(),
            # A lost answer and a second attempt make one sandbox, not two.
            headers={"Idempotency-Key": str(uuid.uuid4())},
            within_s=MAKE_S,
            limit=1 << 20,
        )
        made = parsed(body, self._http)
        id, domain = made.get("sandboxID"), made.get("domain") or self._domain
        if not isinstance(id, str) or not re.fullmatch(r"[A-Za-z0-9-]{1,100}", id):
            raise ServiceError(f"{self._http} answered without a sandboxID: is the address right?")
        if not isinstance(domain, str) or not re.fullmatch(r"[A-Za-z0-9.-]{1,200}", domain):
            raise ServiceError(f"{self._http} answered with no valid domain")
        with self._lock:
            self._alive.add(id)
        headers = {
            "E2b-Sandbox-Id": id,
            "E2b-Sandbox-Port": str(ENVD_PORT),
            "Authorization": "Basic " + base64.b64encode(f"{USER}:".encode()).decode(),
        }
        for name, field in (
            ("X-Access-Token", "envdAccessToken"),
            ("E2B-Traffic-Access-Token", "trafficAccessToken"),
        ):
            token = made.get(field)
            if isinstance(token, str) and token.isascii() and token.isprintable():
                headers[name] = token
        return self._machine(id, domain, headers)

    def _machine(self, id: str, domain: str, headers: Mapping[str, str]) -> _RemoteSandbox:
        shared = self._sandbox_address or (f"https://sandbox.{domain}" if domain in SHARED_DOMAINS else None)
        address = shared or f"https://{ENVD_PORT}-{id}.{domain}"
        with self._lock:
            daemon = self._daemons.get(address)
            if daemon is None:
                daemon = Http(address, name="E2B's sandbox", secrets=self._secrets, retries=self._retries)
                if shared:
                    self._daemons[address] = daemon
        return _RemoteSandbox(id, daemon, headers, shared is not None)

    def _kill(self, machine: _RemoteSandbox) -> None:
        if not machine.shared:
            machine.daemon.close()
        with suppress(ServiceError):  # it ends by itself, at the time it was made for
            self._delete(machine.id)

    def _delete(self, id: str) -> None:
        with self._lock:
            if id not in self._alive:
                return
            self._alive.discard(id)
        self._http.request("DELETE", f"/sandboxes/{id}", within_s=30.0, limit=1 << 20)

    def _write_files(self, machine: _RemoteSandbox, run: RunRequest) -> None:
        """Lays program, input and files into the sandbox, in one request."""
        contents = {f"{FOLDER}/{path}": data for path, data in run.files.items()}
        contents[f"{FOLDER}/{_source(run)}"] = run.program.encode()
        contents[INPUT] = run.stdin
        boundary = uuid.uuid4().hex
        body = bytearray()
        for path, data in contents.items():
            name = path.replace("\\", "\\\\").replace('"', '\\"')
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            body += head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n"
        body += f"--{boundary}--\r\n".encode()
        machine.daemon.request(
            "POST",
            f"/files?username={USER}",
            body=bytes(body),
            headers={**machine.headers, "Content-Type": f"multipart/form-data; boundary={boundary}"},
            within_s=60.0,
            limit=4 << 20,
        )

    def _ran(self, machine: _RemoteSandbox, run: RunRequest) -> Execution:
        source = shlex.quote(_source(run))
        prepare, start = (command.format(source=source) for command in COMMANDS[run.language])
        if prepare:
            made = self._process(machine, prepare, COMPILE_S, run.limits)
            if made.exit_code == 127 or (made.exit_code and prepare.startswith("command ")):
                tool = prepare.removeprefix("command -v ").split()[0]
                raise ServiceError(f"E2B's template {self._template} has no {tool}: choose one that has it")
            if made.exit_code != 0:
                timed_out = (
                    "the compiler overran its time" if made.timed_out else "the program does not compile"
                )
                return _execution(made, "error", made.exit_code, timed_out)
        limits = run.limits
        bounds = [f"ulimit -St {math.ceil(limits.cpu_s)}", f"ulimit -Ht {math.ceil(limits.cpu_s) + 1}"]
        bounds += [f"ulimit -f {limits.scratch_mb << 10}"]
        if run.language not in UNLIMITED_MEMORY:
            bounds += [f"ulimit -v {limits.memory_mb << 10}"]
        arguments = " ".join(map(shlex.quote, run.arguments))
        script = " && ".join([*bounds, f"exec {start} {arguments} < {INPUT}"])
        return self._ended(self._process(machine, script, limits.wall_s, limits), run)

    def _process(self, machine: _RemoteSandbox, script: str, wall_s: float, limits: Limits) -> _Process:
        """Runs a shell script in the sandbox and reads what it does."""
        seen = _Process(bytearray(), bytearray(), time.monotonic())
        request = {
            "process": {"cmd": "/bin/bash", "args": ["-l", "-c", script], "cwd": FOLDER},
            "stdin": False,
        }
        headers = {
            **machine.headers,
            "Content-Type": CONTENT_TYPE,
            "Connect-Protocol-Version": "1",
            "Connect-Timeout-Ms": str(math.ceil(wall_s * 1000)),
        }
        try:
            with machine.daemon.opened(
                "POST",
                "/process.Process/Start",
                body=enveloped(request),
                headers=headers,
                within_s=wall_s + SLACK_S,
            ) as answer:
                for message in messages(answer):
                    if self._took(seen, part(message, "event") or {}, limits):
                        break
        except ConnectError as error:
            if error.code != "deadline_exceeded":
                raise ServiceError(f"E2B's sandbox did not run the program: {error}") from error
            seen.timed_out = True
        seen.wall_s = time.monotonic() - seen.started
        # The daemon kills at the deadline and may still report the end.
        seen.timed_out = seen.timed_out or ("kill" in seen.signal and seen.wall_s >= wall_s)
        if not (seen.timed_out or seen.flooded or seen.signal) and seen.exit_code is None:
            raise TransientError("E2B's sandbox ended the stream before the program had ended")
        return seen

    def _took(self, seen: _Process, event: Mapping[str, Any], limits: Limits) -> bool:
        """Takes one event in. Whether it was the last that matters."""
        if data := part(event, "data"):
            for name, stream in (("stdout", seen.stdout), ("stderr", seen.stderr)):
                stream += _decoded(data.get(name))
                seen.flooded = seen.flooded or len(stream) > limits.output_kb << 10
            return seen.flooded
        end = part(event, "end")
        if end is None:
            return False
        # JSON of protobuf leaves zeros out.
        exit_code, status = end.get("exitCode", 0), str(end.get("status", ""))
        if status.startswith("signal:"):
            seen.signal = status.removeprefix("signal:").removesuffix("(core dumped)").strip().lower()
        elif isinstance(exit_code, int) and end.get("exited", False):
            seen.exit_code = exit_code
        return True

    def _ended(self, seen: _Process, run: RunRequest) -> Execution:
        if seen.flooded:
            return _execution(seen, "output_limit", None, f"more than {run.limits.output_kb} KiB of output")
        if seen.timed_out:
            return _execution(seen, "timeout", None, f"over {run.limits.wall_s:g} s")
        if "cpu time" in seen.signal:
            return _execution(seen, "timeout", None, f"over {run.limits.cpu_s:g} s of processor")
        if seen.signal:
            return _execution(seen, "killed", None, f"ended by signal: {seen.signal[:40]}")
        last_line = bytes(seen.stderr).rstrip().rpartition(b"\n")[2]
        if seen.exit_code and run.language == "python" and last_line.startswith(b"MemoryError"):
            return _execution(seen, "memory_limit", seen.exit_code, f"over {run.limits.memory_mb} MiB")
        return _execution(seen, "ok" if seen.exit_code == 0 else "error", seen.exit_code, "")

    def close(self) -> None:
        """Kills the sandboxes that still run and closes connections."""
        with self._lock:
            self._closed = True
            # A sandbox that is being made is known, and can be killed, when its answer has come.
            self._lock.wait_for(lambda: self._making == 0, timeout=MAKE_S)
            alive, daemons = list(self._alive), list(self._daemons.values())
        for id in alive:
            with suppress(ServiceError):  # it ends by itself
                self._delete(id)
        for http in (*daemons, self._http):
            http.close()


def _source(run: RunRequest) -> str:
    name = SOURCE_NAMES[run.language]
    while name in run.files:
        name = "_" + name
    return name


def _execution(seen: _Process, status: Status, exit_code: int | None, detail: str) -> Execution:
    return Execution(
        status=status,
        exit_code=exit_code,
        stdout=seen.stdout.decode("utf-8", "replace"),
        stderr=seen.stderr.decode("utf-8", "replace"),
        wall_s=seen.wall_s,
        tier="remote",
        detail=detail,
    )


def _decoded(data: object) -> bytes:
    """The bytes of a protobuf field as JSON has them."""
    if data is None:
        return b""
    try:
        return base64.b64decode(data if isinstance(data, str) else "!", validate=True)
    except ValueError:
        raise ServiceError("E2B's sandbox sent output that is not base64") from None
