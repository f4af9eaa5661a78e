"""What came of a program: one execution, and the job and report that lie beneath it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from guerdon.sandbox.limits import Limits

Status = Literal[
    "ok", "error", "timeout", "output_limit", "memory_limit", "killed", "worker_lost", "unavailable"
]
NO_VERDICT: frozenset[str] = frozenset({"worker_lost", "unavailable"})
"""Statuses that say nothing of the program: there is nothing to score."""

Tier = Literal["native", "bubblewrap", "landlock", "none", "remote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What a program did.

    ``status`` is ``ok`` for exit code 0, ``error`` for any other exit, ``killed`` for a signal that was not
    ours, and names the limit where one was reached. ``worker_lost`` and ``unavailable`` say nothing of the
    program: they are never to be scored.
    """

    status: Status
    exit_code: int | None = None
    """None where a signal ended it."""
    stdout: str = ""
    stderr: str = ""
    """Both as UTF-8; what is not is replaced by U+FFFD."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    """The largest resident set in MiB, the interpreter's own among it."""
    tier: Tier = "none"
    """What stood between the program and this machine."""
    detail: str = ""
    """One line on what went wrong, for people."""
    compiled: bool | None = None
    """False where the compiler refused the program, True where it did not, None where nothing was compiled."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with exit code 0."""
        return self.status == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """One thing for a confined process to do; what it must not know is not in here."""

    kind: Literal["program", "calls", "pair", "command"]
    program: bytes = b""
    """``program``, ``calls``, ``pair``: the Python source under test."""
    stdin: bytes = b""
    questions: bytes = b""
    """``calls``: what is asked of the program. ``pair``: what the tester gets; the program never sees it."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Relative path to content, written to the working directory before the program starts."""
    arguments: tuple[str, ...] = ()
    """``program``: its ``sys.argv[1:]``. ``command``: the whole command line, its first part absolute."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """``command`` only, on top of the sandbox's own."""
    stack_mb: int = 8
    """``command`` only: MiB of the main thread's stack."""
    collect: tuple[str, ...] = ()
    """Files of the working directory to bring back, such as what a compiler made; ``*`` stands for anything."""
    limits: Limits = field(default_factory=Limits)
    reveals: bool = False
    """Whether it holds what is expected of a program, as a checker's job does: it must not leave this machine."""
    steps: int = 1
    """How many tests share the process. Each answer that it writes restarts the clocks of ``limits``."""
    total_wall_s: float | None = None
    """Seconds by the clock for all steps together; None for as many as the limits of the steps add up to."""
    queue_s: float | None = None
    """Seconds that it may wait for a worker, after which its status is ``unavailable``; None for no end."""

    @property
    def longest_s(self) -> float:
        """Seconds by the clock that it may take."""
        all_steps = self.limits.wall_s * self.steps
        return all_steps if self.total_wall_s is None else min(all_steps, self.total_wall_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a SandboxJob, as bytes."""

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    answers: bytes = b""
    """``calls``: the program's answers. ``pair``: what the tester found. At most 16 MiB."""
    collected: Mapping[str, bytes] = field(default_factory=dict)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    tier: Tier = "none"
    detail: str = ""
    compiled: bool | None = None
    """As in Execution."""


class Executor(Protocol):
    """What runs jobs. Safe to call from several threads at once."""

    def execute(self, job: SandboxJob) -> Report:
        """Runs the job and waits for it. Never raises for what the program did."""
        ...
