"""SandboxFusion, ByteDance's code sandbox: one request to ``/run_code`` for a program."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.sandbox.execution import Execution
from guerdon.sandbox.providers.base import (
    COMPILE_S,
    Provider,
    RunRequest,
    code,
    number,
    outcome,
    parsed,
    part,
    text,
)
from guerdon.sandbox.providers.http import Http, Retries
from guerdon.sandbox.providers.transport import ServiceError, TransientError

DEFAULT_ADDRESS = "http://localhost:8080"
LANGUAGES = {
    "python": "python",
    "javascript": "nodejs",
    "typescript": "typescript",
    "cpp": "cpp",
    "rust": "rust",
    "go": "go",
    "java": "java",
    "bash": "bash",
    "csharp": "csharp",
    "php": "php",
    "ruby": "ruby",
    "kotlin": "kotlin_script",
    "lua": "lua",
    "perl": "perl",
    "r": "R",
    "scala": "scala",
    "swift": "swift",
}
# The service limits memory as address space, compilers among it. These reserve far more than they use and would
# not start.
UNLIMITED_MEMORY = frozenset({"javascript", "typescript", "go", "java", "csharp", "kotlin", "scala"})
CAPTURED_BYTES = 1 << 20
"""What the service keeps of each output; it says nothing of the rest."""


class SandboxFusion(Provider):
    """Programs on a SandboxFusion server.

    ``address`` is the server's, by default ``SANDBOX_FUSION_ENDPOINT`` of the environment or port 8080 here.
    ``api_key`` (or ``SANDBOX_FUSION_API_KEY``) goes along as a bearer token, for servers behind a gateway.

    The server limits time by the clock only (``wall_s``), passes no arguments, and limits memory for Python, C++,
    Rust and Bash. Raises InputError for what is not an address.

    >>> SandboxFusion("http://fusion.internal:8080").name
    'SandboxFusion'
    """

    name: ClassVar[str] = "SandboxFusion"

    def __init__(
        self, address: str | None = None, *, api_key: str | None = None, retries: Retries | None = None
    ) -> None:
        key = api_key or os.environ.get("SANDBOX_FUSION_API_KEY", "")
        self._http = Http(
            address or os.environ.get("SANDBOX_FUSION_ENDPOINT") or DEFAULT_ADDRESS,
            name=self.name,
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {key}"} if key else {}),
            },
            secrets=(key,),
            key_hint="set SANDBOX_FUSION_API_KEY to its key",
            retries=retries,
        )

    def languages(self) -> tuple[str, ...]:
        return tuple(LANGUAGES)

    def execute(self, run: RunRequest) -> Execution:
        if run.arguments:
            raise ServiceError(f"{self.name} passes no arguments to a program: send them as input or a file")
        limited = run.language not in UNLIMITED_MEMORY
        request = {
            "code": run.program,
            "language": LANGUAGES[run.language],
            "stdin": run.stdin_text(),
            "files": {path: base64.b64encode(data).decode() for path, data in run.files.items()},
            "fetch_files": [],
            "compile_timeout": COMPILE_S,
            "run_timeout": run.limits.wall_s,
            "memory_limit_MB": run.limits.memory_mb if limited else -1,
        }
        # JSON makes at most six bytes of one.
        limit = 4 * 6 * CAPTURED_BYTES + (1 << 20)
        body = self._http.request(
            "POST", "/run_code", body=json.dumps(request).encode(), within_s=run.within_s, limit=limit
        )
        return self._execution(parsed(body, self._http), run)

    def _execution(self, answer: Mapping[str, Any], run: RunRequest) -> Execution:
        if answer.get("status") not in ("Success", "Failed"):
            # The message holds the whole program; its last line is the reason.
            said = text(answer, "message").strip().rpartition("\n")[2][-200:]
            raise TransientError(f"{self._http} could not run the program: {said or answer.get('status')}")
        compiled, done = part(answer, "compile_result"), part(answer, "run_result")
        if done is None:
            if compiled is None:
                raise ServiceError(f"{self._http} answered without a result: is the address right?")
            return self._not_compiled(compiled)
        return self._ended(done, run, limited=run.language not in UNLIMITED_MEMORY)

    def _not_compiled(self, compiled: Mapping[str, Any]) -> Execution:
        timed_out = compiled.get("status") == "TimeLimitExceeded"
        if not timed_out and not code(compiled, "return_code"):
            raise ServiceError(f"{self._http} compiled the program and did not run it")
        return Execution(
            status="error",
            exit_code=code(compiled, "return_code"),
            stdout=text(compiled, "stdout"),
            stderr=text(compiled, "stderr"),
            tier="remote",
            detail="the compiler overran its time" if timed_out else "the program does not compile",
        )

    def _ended(self, done: Mapping[str, Any], run: RunRequest, *, limited: bool) -> Execution:
        status = done.get("status")
        seen: dict[str, Any] = {
            "stdout": text(done, "stdout"),
            "stderr": text(done, "stderr"),
            "cpu_s": number(done, "cpu_time") or 0.0,
            "wall_s": number(done, "execution_time") or 0.0,
            "tier": "remote",
        }
        if status == "TimeLimitExceeded":
            return Execution(status="timeout", detail=f"over {run.limits.wall_s:g} s", **seen)
        exit_code = code(done, "return_code")
        if status != "Finished" or exit_code is None:
            raise ServiceError(f"{self._http} answered with the unknown status {str(status)[:40]!r}")
        word, exit_code, detail = outcome(exit_code)
        last_line = seen["stderr"].rstrip().rpartition("\n")[2]
        if limited and word == "error" and last_line.startswith("MemoryError"):
            word, detail = "memory_limit", f"over {run.limits.memory_mb} MiB"
        if any(len(seen[name].encode()) >= CAPTURED_BYTES for name in ("stdout", "stderr")):
            if run.limits.output_kb << 10 > CAPTURED_BYTES:
                raise ServiceError(f"{self._http} keeps 1024 KiB of output: use Limits(output_kb=1024)")
            word, detail = "output_limit", f"{CAPTURED_BYTES >> 10} KiB of output or more"
        return Execution(status=word, exit_code=exit_code, detail=detail, **seen)

    def close(self) -> None:
        self._http.close()
