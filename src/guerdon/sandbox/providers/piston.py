"""Piston, engineer-man's code execution engine: one request to ``/api/v2/execute`` for a program."""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.sandbox.execution import Execution, Status
from guerdon.sandbox.providers.base import (
    SOURCE_NAMES,
    Provider,
    RunRequest,
    code,
    number,
    outcome,
    parsed,
    part,
    text,
)
from guerdon.sandbox.providers.http import Http, Retries, parts_of
from guerdon.sandbox.providers.transport import ServiceError

DEFAULT_ADDRESS = "http://localhost:2000"
LANGUAGES = {
    "python": "python",
    "javascript": "javascript",
    "typescript": "typescript",
    "c": "c",
    "cpp": "c++",
    "rust": "rust",
    "go": "go",
    "java": "java",
    "bash": "bash",
    "csharp": "csharp",
    "php": "php",
    "ruby": "ruby",
    "kotlin": "kotlin",
    "lua": "lua",
    "perl": "perl",
    "r": "rscript",
    "scala": "scala",
    "swift": "swift",
}
CHUNK = 1 << 16
"""Characters by which an output that was cut can be shorter than the server allows: it drops what it read last."""
SETTINGS = {
    "run_timeout": "PISTON_RUN_TIMEOUT={ms} (in milliseconds) or use Limits(wall_s={s:g})",
    "run_cpu_time": "PISTON_RUN_CPU_TIME={ms} (in milliseconds) or use Limits(cpu_s={s:g})",
    "run_memory_limit": "PISTON_RUN_MEMORY_LIMIT={ms} (in bytes) or use Limits(memory_mb={mb})",
}


class Piston(Provider):
    """Programs on a Piston server.

    ``address`` is the server's; without a path, ``/api/v2`` is meant. By default it is ``PISTON_ENDPOINT`` of the
    environment or port 2000 here. ``api_key`` (or ``PISTON_API_KEY``) is sent as the Authorization header.

    The newest installed version of a language is taken. Older servers report no reason for a kill and
    ignore ``cpu_s``. A server keeps 1024 characters of output unless PISTON_OUTPUT_MAX_SIZE says otherwise; where
    that is less than ``output_kb``, a longer output is ``unavailable``. It adds a line break to an input that ends
    without one. Raises InputError for what is not an address.

    >>> Piston("http://pistons.internal:2000").name
    'Piston'
    """

    name: ClassVar[str] = "Piston"

    def __init__(
        self, address: str | None = None, *, api_key: str | None = None, retries: Retries | None = None
    ) -> None:
        address = address or os.environ.get("PISTON_ENDPOINT") or DEFAULT_ADDRESS
        key = api_key or os.environ.get("PISTON_API_KEY", "")
        self._http = Http(
            address if parts_of(address)[3] else address.rstrip("/") + "/api/v2",
            name=self.name,
            headers={"Content-Type": "application/json", **({"Authorization": key} if key else {})},
            secrets=(key,),
            key_hint="set PISTON_API_KEY to its key",
            retries=retries,
        )
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}

    def languages(self) -> tuple[str, ...]:
        return tuple(LANGUAGES)

    def execute(self, run: RunRequest) -> Execution:
        own = LANGUAGES[run.language]
        limits = run.limits
        name = SOURCE_NAMES.get(run.language, "main")
        while name in run.files:
            name = "_" + name
        request = {
            "language": own,
            "version": self._version(own),
            "files": [
                {"name": name, "content": run.program, "encoding": "utf8"},
                # Piston compiles every utf8 file, so data is sent as base64.
                *(
                    {"name": path, "content": base64.b64encode(data).decode(), "encoding": "base64"}
                    for path, data in run.files.items()
                ),
            ],
            "stdin": run.stdin_text(),
            "args": list(run.arguments),
            "run_timeout": round(limits.wall_s * 1000),
            "run_cpu_time": round(limits.cpu_s * 1000),
            "run_memory_limit": limits.memory_mb << 20,
        }
        try:
            body = self._http.request(
                "POST",
                "/execute",
                body=json.dumps(request).encode(),
                within_s=run.within_s,
                # Both streams, once each and once together, for both stages, escaped.
                limit=(limits.output_kb << 10) * 4 * 6 + (4 << 20),
            )
        except ServiceError as error:
            if error.status == 400:
                raise self._explained(error, request) from error
            raise
        return self._execution(parsed(body, self._http), run)

    def _version(self, language: str) -> str:
        """The newest version of a language that the server has."""
        with self._lock:
            if language in self._versions:
                return self._versions[language]
            body = self._http.request("GET", "/runtimes", within_s=30.0, limit=4 << 20)
            try:
                runtimes = json.loads(body)
                found = [
                    (_sortable(runtime["version"]), runtime["version"])
                    for runtime in runtimes
                    if language == runtime["language"] or language in (runtime.get("aliases") or ())
                ]
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise ServiceError(f"{self._http} lists no runtimes: is the address right?") from None
            if not found:
                raise ServiceError(f"{self._http} has no {language}: install it with its package manager")
            self._versions[language] = max(found)[1]
            return self._versions[language]

    def _explained(self, error: ServiceError, request: Mapping[str, Any]) -> ServiceError:
        """A refusal in words that say what to change."""
        try:
            said = text(parsed(error.body, self._http), "message")
        except ServiceError:
            return error
        if "runtime is unknown" in said:
            with self._lock:  # what is installed has changed
                self._versions.pop(request["language"], None)
        found = re.search(r"(\w+) cannot exceed the configured limit of (\d+)", said)
        if found is None or found[1] not in SETTINGS:
            return error
        allowed = int(found[2])
        how = SETTINGS[found[1]].format(ms=request[found[1]], s=allowed / 1000, mb=allowed >> 20)
        return ServiceError(f"{self._http} allows no {found[1]} over {allowed}: start it with {how}")

    def _execution(self, answer: Mapping[str, Any], run: RunRequest) -> Execution:
        compiled, done = part(answer, "compile"), part(answer, "run")
        if compiled is not None and code(compiled, "code") != 0:
            if compiled.get("status") == "XX":
                raise ServiceError(f"{self._http} could not compile: {text(compiled, 'message')[:200]}")
            return Execution(
                status="error",
                exit_code=code(compiled, "code"),
                stdout=text(compiled, "stdout"),
                stderr=text(compiled, "stderr"),
                tier="remote",
                detail="the program does not compile",
            )
        if done is None:
            said = text(answer, "message")[:200]
            raise ServiceError(f"{self._http} answered without a result: {said or 'is the address right?'}")
        status, exit_code, detail = self._status(done, run)
        return Execution(
            status=status,
            exit_code=exit_code,
            stdout=text(done, "stdout"),
            stderr=text(done, "stderr"),
            cpu_s=(number(done, "cpu_time") or 0.0) / 1000,
            wall_s=(number(done, "wall_time") or 0.0) / 1000,
            memory_mb=(number(done, "memory") or 0.0) / (1 << 20),
            tier="remote",
            detail=detail,
        )

    def _status(self, done: Mapping[str, Any], run: RunRequest) -> tuple[Status, int | None, str]:
        reason, signal = done.get("status"), done.get("signal")
        if reason == "XX":
            raise ServiceError(f"{self._http} could not run the program: {text(done, 'message')[:200]}")
        if reason == "TO":
            return "timeout", None, f"over {run.limits.cpu_s:g} s of processor or {run.limits.wall_s:g} s"
        if reason in ("OL", "EL"):
            size = max(len(text(done, name)) for name in ("stdout", "stderr"))
            if size + CHUNK < run.limits.output_kb << 10:
                raise ServiceError(
                    f"{self._http} stopped the program after {size} characters of output: start it with "
                    f"PISTON_OUTPUT_MAX_SIZE={run.limits.output_kb << 10} or use a lower Limits(output_kb=…)"
                )
            return "output_limit", None, f"more than {run.limits.output_kb} KiB of output"
        if signal:
            # Piston does not say that memory ran out; its cgroup's peak does.
            if signal == "SIGKILL" and (number(done, "memory") or 0) >= 0.98 * (run.limits.memory_mb << 20):
                return "memory_limit", None, f"over {run.limits.memory_mb} MiB"
            unsaid = (
                ""
                if "status" in done
                else " (time, memory or PISTON_OUTPUT_MAX_SIZE: this Piston does not say)"
            )
            return "killed", None, f"ended by {str(signal)[:20]}{unsaid}"
        exit_code = code(done, "code")
        if exit_code is None:
            raise ServiceError(f"{self._http} answered with neither an exit code nor a signal")
        return outcome(exit_code)

    def close(self) -> None:
        self._http.close()


def _sortable(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
