"""The program under test with its circumstances, and results made of reports."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox.execution import Executor, Report, Status
from guerdon.sandbox.grading.cases import TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.limits import Limits

SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")

MOST_LINES = 10_000_000
REVEALED = 4000
"""Characters of the details for the owner of the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramUnderTest:
    """What is tested, and how."""

    executor: Executor
    source: bytes
    files: Mapping[str, bytes]
    limits: Limits
    compare: Comparison
    tuples_as_lists: bool
    prelude: bool


def result(
    report: Report,
    passed: bool,
    detail: str = "",
    revealing: str = "",
    *,
    status: Status = "ok",
    share: int = 1,
    tamper_resistant: bool = True,
) -> TestResult:
    """A result with the report's measurements, divided among ``share`` tests."""
    return TestResult(
        passed=passed,
        status=status,
        detail=detail,
        revealing=revealing[:REVEALED],
        cpu_s=report.cpu_s / share,
        wall_s=report.wall_s / share,
        memory_mb=report.memory_mb,
        tier=report.tier,
        tamper_resistant=tamper_resistant,
    )


def failed(
    report: Report, detail: str, revealing: str = "", *, share: int = 1, tamper_resistant: bool = True
) -> TestResult:
    """The result of a process that did not end well; its status is the report's."""
    status: Status = "error" if report.status == "ok" else report.status
    return result(
        report, False, detail, revealing, status=status, share=share, tamper_resistant=tamper_resistant
    )


def exception_message(account: Any) -> tuple[str, str]:
    """What to say of an exception that a program accounts for: to everybody, and to the owner of the tests.

    The account is the program's own words, so everybody gets to know no more than a built-in name and a line.
    """
    if not (isinstance(account, list) and len(account) == 3 and isinstance(account[0], list)):
        return "an exception", "an exception"
    names, message, line = account
    known = next((name for name in names if isinstance(name, str) and _is_exception(name)), "an exception")
    where = f" in line {line}" if type(line) is int and 0 < line < MOST_LINES else ""
    own = names[0] if names and isinstance(names[0], str) else known
    return f"{known}{where}", f"{own[:400]}: {as_text(message)}"[:400] + where


def as_text(value: Any) -> str:
    """A value from a program as text for people, whatever it is: at most ``REVEALED`` characters."""
    try:
        return str(value)[:REVEALED]
    except (ValueError, RecursionError, MemoryError):  # an integer of too many digits, a list too deep
        return "…"


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
