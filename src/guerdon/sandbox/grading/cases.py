"""The kinds of test, and what came of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.sandbox.execution import Status, Tier


@dataclass(frozen=True, slots=True)
class StdinTest:
    """The program is run with ``stdin``; what it prints is compared with ``expected``."""

    stdin: str
    expected: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """``function(*arguments, **keyword_arguments)`` has to return ``expected``.

    ``function`` is a name at the top of the program, a dotted one (``Solution.twoSum``: a method of an
    instance that is made without arguments) or, where there is no such name, a method of ``Solution``.
    Values are plain data: None, numbers, text, bytes, lists, tuples, sets, dicts, dates, decimals, fractions.
    """

    function: str
    arguments: Sequence[Any] = ()
    keyword_arguments: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Python test code with assertions about ``entry_point``, as HumanEval and MBPP have it.

    The code runs in a second confined process, where ``entry_point`` is a proxy that asks the program; so
    the program is nowhere near the assertions. ``check(candidate)`` is called where the code defines it and
    does not call it itself.
    """

    code: str
    entry_point: str | None = None
    """The function under test; None takes the one name that the code uses and does not define."""
    setup: str = ""
    """Trusted code that the test needs: the prompt's helpers and imports. It runs beside the test."""
    proxied: Sequence[str] = ()
    """Further names of the program that the test may call."""
    live_objects: bool | None = None
    """True runs the test code in the program's own process, for tests that need its objects or files: such a
    verdict can be forged. None decides by the test's code alone, never by what the program does."""


Test = StdinTest | CallTest | AssertTest


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """What came of one test."""

    __test__ = False  # pytest: no test class

    passed: bool
    status: Status
    detail: str = ""
    """One line on what went wrong. It names neither input nor expected value."""
    revealing: str = ""
    """The same with input, output and expectation, for the owner of the tests."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    tier: Tier = "none"
    tamper_resistant: bool = True
    """False where the test had to run in the program's own process."""
