"""What every remote provider is: something that runs a program elsewhere and gives back what it did."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

from guerdon.errors import InputError
from guerdon.sandbox.execution import Execution, Status
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers.transport import ServiceError, TransientError

COMPILE_S = 30.0
"""Seconds that a provider's compiler may take where the service lets the caller say so."""
SLACK_S = 30.0
"""Seconds that a service may take beyond the program's own: to queue, to start, to answer."""
AGAIN_S = 0.5
"""Seconds before a program is run for the second time, where the service failed it in the midst."""

ALIASES = {
    "py": "python",
    "python3": "python",
    "js": "javascript",
    "node": "javascript",
    "nodejs": "javascript",
    "c++": "cpp",
    "golang": "go",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
}
SOURCE_NAMES = {
    "python": "main.py",
    "javascript": "main.js",
    "c": "main.c",
    "cpp": "main.cpp",
    "rust": "main.rs",
    "go": "main.go",
    "java": "Main.java",
    "bash": "main.sh",
}
"""What a program's file is called where a provider lets the caller say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One program to be run, checked: what a provider's service is asked."""

    program: str
    language: str
    stdin: bytes
    files: Mapping[str, bytes]
    arguments: tuple[str, ...]
    limits: Limits

    def stdin_text(self) -> str:
        """The input as text, for services that take nothing else; ServiceError where it is none."""
        try:
            return self.stdin.decode()
        except UnicodeDecodeError:
            raise ServiceError("this provider takes UTF-8 input only: send other bytes as a file") from None

    @property
    def within_s(self) -> float:
        """Seconds after which the service itself counts as lost: it ends the program far earlier."""
        return self.limits.wall_s + COMPILE_S + SLACK_S


class Provider(ABC):
    """Runs programs on somebody else's machine. Safe to use from several threads at once.

    A provider gets a program and its input, never what is expected of it. What goes wrong with the service is
    an Execution with the status ``unavailable``, which is never to be scored; so a service that fails, is
    overloaded or answers nonsense makes no program look wrong.
    """

    name: ClassVar[str]

    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that this provider is known to run, in Guerdon's words."""

    @abstractmethod
    def execute(self, run: RunRequest) -> Execution:
        """Runs a checked program. Raises ServiceError where the service gives no usable answer."""

    @abstractmethod
    def close(self) -> None:
        """Ends what is still open at the service and closes connections. Further runs are unavailable."""

    def run(
        self,
        program: str,
        *,
        language: str = "python",
        stdin: str | bytes = b"",
        files: Mapping[str, bytes] | None = None,
        arguments: tuple[str, ...] = (),
        limits: Limits | None = None,
    ) -> Execution:
        """Runs a program and waits for it. ``files`` are written to its working directory.

        Raises InputError for a path that leaves the working directory. Whatever else keeps the program from
        running is the status ``unavailable`` with a detail that says what to do.
        """
        limits = limits or Limits()
        language = ALIASES.get(language.lower(), language.lower())
        if language not in self.languages():
            known = ", ".join(self.languages())
            return unavailable(f"{self.name} runs no {language}: it runs {known}")
        try:
            program.encode()
            given = stdin.encode() if isinstance(stdin, str) else stdin
        except UnicodeEncodeError:
            return Execution(
                status="error", tier="remote", detail="the program or its input is not valid text"
            )
        run = RunRequest(
            program=program,
            language=language,
            stdin=given,
            files=checked_files(files or {}),
            arguments=arguments,
            limits=limits,
        )
        started = time.monotonic()
        try:
            try:
                done = self.execute(run)
            except TransientError:  # what requests retry themselves does not come here as TransientError
                time.sleep(AGAIN_S)
                done = self.execute(run)
        except ServiceError as error:
            return unavailable(str(error), wall_s=time.monotonic() - started)
        return within_output(done, limits)

    def __enter__(self) -> Provider:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def unavailable(detail: str, *, wall_s: float = 0.0) -> Execution:
    """No verdict, and why."""
    return Execution(status="unavailable", tier="remote", detail=detail, wall_s=wall_s)


def within_output(done: Execution, limits: Limits) -> Execution:
    """The execution with its output cut to the limit, and its status changed where it was longer."""
    most = limits.output_kb * 1024
    stdout, stderr = done.stdout.encode(), done.stderr.encode()
    if len(stdout) <= most and len(stderr) <= most:
        return done
    over = done.status in ("ok", "error")
    return replace(
        done,
        status="output_limit" if over else done.status,
        stdout=stdout[:most].decode("utf-8", "replace"),
        stderr=stderr[:most].decode("utf-8", "replace"),
        detail=f"more than {limits.output_kb} KiB of output" if over else done.detail,
    )


def checked_files(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files; InputError for a path that is empty, absolute or leaves the folder."""
    for path in files:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path or "\n" in path:
            raise InputError(f"{path!r} is not a path inside the working directory")
    return files


def parsed(body: bytes, service: object) -> dict[str, Any]:
    """The object that a service answered with; ServiceError where it is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ServiceError(
            f"{service} answered with something other than JSON: is the address right?"
        ) from None
    if not isinstance(value, dict):
        raise ServiceError(f"{service} answered with JSON that is not an object: is the address right?")
    return value


def part(value: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """An object within an answer; None where it is absent or null."""
    found = value.get(name)
    if found is not None and not isinstance(found, dict):
        raise ServiceError(f"the answer's {name} is not an object")
    return found


def text(value: Mapping[str, Any], name: str) -> str:
    """A text within an answer, "" where it is absent or null; half characters become U+FFFD."""
    found = value.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise ServiceError(f"the answer's {name} is not text")
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def number(value: Mapping[str, Any], name: str) -> float | None:
    """A number of 0 or more within an answer; None where it is absent, null or neither."""
    found = value.get(name)
    good = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1e15
    return float(found) if good and found is not None else None


def code(value: Mapping[str, Any], name: str) -> int | None:
    """An exit code within an answer; None where there is none."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def outcome(exit_code: int) -> tuple[Status, int | None, str]:
    """Status, exit code and detail of an exit as Python's subprocess counts it: a signal is negative."""
    if exit_code < 0:
        return "killed", None, f"ended by signal {-exit_code}"
    return ("ok" if exit_code == 0 else "error"), exit_code, ""
