"""Jobs at a remote provider: programs as they are, call tests through a script that is sent with them."""

from __future__ import annotations

import ast
import base64
import functools
import json
import secrets
import threading
import zlib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any, Final

from guerdon.sandbox.execution import Execution, Executor, Report, SandboxJob, Status
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers.base import ALIASES, Provider, number

OLDEST: Final = (3, 11)
"""The oldest Python that can run the questions."""
START_S: Final = 1.0
"""Seconds that the script itself may take, to start and to report."""
INTERPRETER_MB: Final = 64
REPORT_KB: Final = 1 << 10
"""More than the script reports: it keeps to 768 KiB, whatever the program answers."""
PADDING: Final = 540_000
"""Random bytes that make a report as long as reports get."""
UNPACKED: Final = 64 << 20
# What the script may report: never that there was no verdict, for then a program could excuse itself.
REPORTED: Final[dict[str, Status]] = {
    "ok": "ok",
    "error": "error",
    "timeout": "timeout",
    "output_limit": "output_limit",
    "memory_limit": "memory_limit",
    "killed": "killed",
}


class RemoteExecutor(Executor):
    """Runs jobs at a provider. Safe to use from several threads at once.

    ``program`` and ``calls`` run there; ``language`` is that of the programs, and only Python answers calls.
    ``pair`` needs two processes side by side and ``command`` a machine of one's own: both are ``unavailable``, as is
    everything that the service itself gets wrong.

    Neither request nor script holds anything that is expected of a program. A job that does, such as a checker's,
    goes to ``near``, an executor on this machine; without one it is ``unavailable``.
    """

    def __init__(self, provider: Provider, *, language: str = "python", near: Executor | None = None) -> None:
        self.provider = provider
        self.language = ALIASES.get(language.lower(), language.lower())
        self.near = near
        self._lock = threading.Lock()
        self._able = False

    def execute(self, job: SandboxJob) -> Report:
        name = self.provider.name
        if job.reveals:
            if self.near is not None:
                return self.near.execute(job)
            return _refused(f"a checker knows what is expected, which {name} must not: use a local sandbox")
        if job.collect:
            return _refused(f"{name} brings no files back: use a local sandbox")
        if job.kind == "program":
            return self._program(job)
        if job.kind == "calls":
            return self._calls(job)
        if job.kind == "pair":
            return _refused(
                f"{name} cannot keep a test apart from the program: use a local sandbox for such tests"
            )
        return _refused(f"{name} runs no commands: give it a program and a language")

    def close(self) -> None:
        """Closes the provider."""
        self.provider.close()

    def _program(self, job: SandboxJob) -> Report:
        try:
            program = job.program.decode()
        except UnicodeDecodeError:
            return Report(status="error", tier="remote", detail="the program is not UTF-8")
        done = self.provider.run(
            program,
            language=self.language,
            stdin=job.stdin,
            files=job.files,
            arguments=job.arguments,
            limits=job.limits,
        )
        return _report(done)

    def _calls(self, job: SandboxJob) -> Report:
        if self.language != "python":
            return _refused(
                f"only Python programs can be called, not {self.language}: use tests by input and output"
            )
        if _live(job.questions):
            return _refused(
                f"{self.provider.name} must not learn what is expected, and a test with live objects holds that: "
                "use a local sandbox"
            )
        problem = self._problem()
        if problem:
            return problem
        return self._asked(job, _modules())

    def _problem(self) -> Report | None:
        """What keeps the service from answering call tests; asked until it can.

        A program and the script share a process and cannot be distinguished, so the script is tried once
        without a program.
        """
        with self._lock:
            if self._able:
                return None
            tried = self._asked(SandboxJob(kind="calls"), [])
            if tried.status in ("ok", "unavailable"):
                self._able = tried.status == "ok"
                return None if self._able else tried
        shown = tried.stderr.decode().strip().rpartition("\n")[2][:200]
        why = shown or tried.detail or tried.status
        return _refused(f"{self.provider.name} cannot run the script that call tests need: {why}")

    def _asked(self, job: SandboxJob, modules: list[tuple[str, str]]) -> Report:
        marker = f"<{secrets.token_hex(16)}>"
        limits = job.limits
        order = {
            "marker": marker,
            "modules": modules,
            "padding": 0 if modules else PADDING,
            "program": base64.b64encode(job.program).decode(),
            "questions": base64.b64encode(job.questions).decode(),
            "cpu_s": limits.cpu_s,
            "wall_s": limits.wall_s,
            "memory_mb": limits.memory_mb,
            "output_kb": limits.output_kb,
        }
        done = self.provider.run(
            f"{_driver()}\n\nmain({json.dumps(order)!r})\n",
            stdin=job.stdin,
            files=job.files,
            limits=_all_of(limits, max(1, job.steps)),
        )
        if done.status == "unavailable":
            return _report(done)
        reported = _found(done.stdout, marker)
        if reported is None:
            lost: Status = "error" if done.status == "ok" else done.status
            return replace(
                _report(done), status=lost, detail=done.detail or "the program ended what asked it"
            )
        if not modules and tuple(reported.get("python") or ()) < OLDEST:
            version = ".".join(str(part) for part in reported.get("python") or ["unknown"])
            wanted = ".".join(map(str, OLDEST))
            return _refused(f"{self.provider.name} has Python {version}; call tests need {wanted} or later")
        return _taken(reported, limits)


def _live(questions: bytes) -> bool:
    """Whether the questions hold test code, which runs in the program's process: inside/calls.py has the form."""
    try:
        options = json.loads(questions.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(options, dict) and bool(options.get("live"))


def _all_of(limits: Limits, steps: int) -> Limits:
    """What the service has to allow for all steps, so that the script's own clocks end them."""
    return replace(
        limits,
        cpu_s=limits.cpu_s * steps + START_S,
        wall_s=limits.wall_s * steps + START_S,
        # The script starts a process, and so needs the interpreter twice.
        memory_mb=limits.memory_mb + 2 * INTERPRETER_MB,
        output_kb=max(limits.output_kb, REPORT_KB),
        processes=limits.processes + 1,
    )


def _found(stdout: str, marker: str) -> dict[str, Any] | None:
    """What the script reported, None where it did not come to that."""
    _, mark, rest = stdout.rpartition(marker)
    line, end, _ = rest.partition("\n")
    if not mark or not end:
        return None
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(base64.b64decode(line, validate=True), UNPACKED)
        value = json.loads(text)
    except (ValueError, RecursionError, zlib.error):
        return None
    return value if isinstance(value, dict) else None


def _taken(reported: Mapping[str, Any], limits: Limits) -> Report:
    """A report of what the script claims: every part of it may be the program's own invention."""
    status = REPORTED.get(str(reported.get("status")), "error")
    exit_code = reported.get("code")
    exit_code = exit_code if isinstance(exit_code, int) and not isinstance(exit_code, bool) else None
    signal = None
    if exit_code is not None and not 0 <= exit_code <= 255:
        signal = -exit_code if -64 <= exit_code < 0 else None
        exit_code = None
    stderr = _bytes(reported.get("stderr"))
    if status == "error" and stderr.rstrip().rpartition(b"\n")[2].startswith(b"MemoryError"):
        status = "memory_limit"
    details: dict[Status, str] = {
        "timeout": f"over {limits.cpu_s:g} s of processor or {limits.wall_s:g} s",
        "output_limit": f"more than {limits.output_kb} KiB of output, or answers too large",
        "memory_limit": f"over {limits.memory_mb} MiB",
        "killed": f"ended by signal {signal}",
    }
    ended = status not in ("timeout", "output_limit")
    return Report(
        status=status,
        exit_code=exit_code if ended else None,
        signal=signal if ended else None,
        stdout=_bytes(reported.get("stdout")),
        stderr=stderr,
        answers=_bytes(reported.get("answers")),
        cpu_s=number(reported, "cpu_s") or 0.0,
        wall_s=number(reported, "wall_s") or 0.0,
        memory_mb=number(reported, "memory_mb") or 0.0,
        tier="remote",
        detail=details.get(status, ""),
    )


def _bytes(text: object) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""


def _report(done: Execution) -> Report:
    return Report(
        status=done.status,
        exit_code=done.exit_code,
        stdout=done.stdout.encode(),
        stderr=done.stderr.encode(),
        cpu_s=done.cpu_s,
        wall_s=done.wall_s,
        memory_mb=done.memory_mb,
        tier="remote",
        detail=done.detail,
    )


def _refused(detail: str) -> Report:
    return Report(status="unavailable", tier="remote", detail=detail)


@functools.cache
def _driver() -> str:
    return resources.files(__package__).joinpath("driver.py").read_text(encoding="utf-8")


@functools.cache
def _modules() -> list[tuple[str, str]]:
    """Name and source of what answers questions, and before it what it imports from beside it."""
    found: dict[str, str] = {}
    _collect("calls", found)
    return list(found.items())


def _collect(name: str, found: dict[str, str]) -> None:
    source = resources.files("guerdon.sandbox.inside").joinpath(f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.level or node.module == "inside"):
            # `from .values import dumps` names the module; `from . import values` imports it.
            beside = [node.module] if node.level and node.module else [alias.name for alias in node.names]
            for other in beside:
                if other not in found and other != name:
                    _collect(other, found)
    found[name] = source
