"""The program under test with its circumstances, and results made of reports."""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
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
    return value[:REVEALED] if isinstance(value, str) else shortened(value)[:REVEALED]


def shortened(value: Any) -> str:
    """The value as Python writes it; of a long one the beginning, so that no more is written than is shown.

    >>> shortened([1, ("x", {2: 3.5})])
    "[1, ('x', {2: 3.5})]"
    """
    try:
        return repr(_beginning(value, [REVEALED]))
    except (ValueError, RecursionError, MemoryError):  # an integer of too many digits, a list too deep
        return "…"


def _beginning(value: Any, left: list[int]) -> Any:
    """The value without what stands behind so many of its items and characters."""
    left[0] -= 1
    if isinstance(value, str | bytes | bytearray):
        cut = value[: max(0, left[0])]
        left[0] -= len(cut)
        return cut
    if isinstance(value, list | tuple | set | frozenset | deque):
        items = [_beginning(item, left) for item in islice(value, max(0, left[0])) if left[0] > 0]
        return items if type(value) is list else type(value)(items)
    if isinstance(value, dict):
        pairs = islice(value.items(), max(0, left[0]))
        return {key: _beginning(item, left) for key, item in pairs if left[0] > 0}
    return value


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
