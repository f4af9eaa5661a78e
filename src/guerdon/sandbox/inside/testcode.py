"""Trusted test code: how it is run and what is said of it."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from . import solution

FILE = "test.py"
_MESSAGE = 300
_IMPORTING = ("__import__", "import_module", "importlib.import_module")


@dataclass(frozen=True, slots=True)
class TestPlan:
    """One test, read from its code outside."""

    code: str
    setup: str = ""
    entry_point: str = ""
    proxied: Sequence[str] = ()
    imports: Sequence[str] = ()
    """Modules of the standard library that the code uses without importing them."""
    after: Sequence[tuple[str, bool]] = ()
    """Functions of the code that it does not call itself, and whether they take the entry point."""
    expects: Sequence[str] = ()
    """Exceptions that the code names as what it waits for."""
    copied_back: Sequence[int] = ()
    """Lines whose calls may change their arguments."""
    handed_back: Sequence[int] = ()
    """Lines whose calls have arguments that are made of what the program returned."""


def prepare(plan: TestPlan, module: ModuleType) -> None:
    """Makes the module the one that runs: ``__main__``, with what the code takes for granted."""
    module.__dict__["__name__"] = "__main__"
    sys.modules["__main__"] = module
    for name in plan.imports:
        module.__dict__.setdefault(name, importlib.import_module(name))


def run(plan: TestPlan, module: ModuleType, *, beside_program: bool = False) -> list[Any]:
    """Runs the code in the module, and says what came of it: a word, a line of the code, a message.

    ``["passed", 0, ""]``, ``["failed", …]`` for an assertion that does not hold, ``["error", …]`` for another
    exception and ``["unable", …]`` where the code needs a module that is not there. ``beside_program``, only what an
    import of the code itself raises says so: a program may raise what it likes.
    """
    prepare(plan, module)
    try:
        _execute(plan, module)
    except BaseException as error:  # nothing that ends the code early may look like its end
        outcome = verdict_of(error)
        if beside_program and outcome[0] == "unable" and not _imports(plan.code, outcome[1]):
            outcome[0] = "error"
        return outcome
    return ["passed", 0, ""]


def _imports(code: str, line: int) -> bool:
    """Whether the code imports something in that line."""
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in _IMPORTING
            and any(isinstance(part, ast.Constant) for part in node.args[:1])
        )
    )


def _execute(plan: TestPlan, module: ModuleType) -> None:
    space = module.__dict__
    code = compile(plan.code, FILE, "exec", dont_inherit=True)
    _disarm_unittest(plan.code)
    exec(code, space)
    for name, takes_entry_point in plan.after:
        if takes_entry_point:
            space[name](space[plan.entry_point])
        else:
            space[name]()
    if "unittest" in plan.code:
        _run_cases(space)


def _disarm_unittest(code: str) -> None:
    """``unittest.main()`` would read the command line and exit; the cases are run here instead."""
    if "unittest" in code:
        import unittest

        unittest.main = lambda *_, **__: None  # type: ignore[assignment]


def _run_cases(space: dict[str, Any]) -> None:
    """Runs the classes of test methods, and raises the first failure. Skipped tests are no passed ones."""
    import unittest

    class FirstFailureResult(unittest.TestResult):
        first: BaseException | None = None

        def _note(self, error: Any) -> None:
            self.first = self.first or error[1]

        def addError(self, test: Any, err: Any) -> None:  # noqa: N802
            super().addError(test, err)
            self._note(err)

        def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
            super().addFailure(test, err)
            self._note(err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
            super().addSubTest(test, subtest, err)
            if err is not None:
                self._note(err)

    cases = [
        value for value in space.values()
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == "__main__"
    ]  # fmt: skip
    if not cases:
        return
    result = FirstFailureResult()
    loader = unittest.TestLoader()
    for case in dict.fromkeys(cases):
        loader.loadTestsFromTestCase(case).run(result)
    if result.first is not None:
        raise result.first
    if not result.wasSuccessful():
        raise AssertionError("a test passed that was expected to fail")
    if result.testsRun <= len(result.skipped):
        raise AssertionError("every test was skipped")


def verdict_of(error: BaseException) -> list[Any]:
    """The outcome for an exception that ended the test code."""
    lines = list(_lines(error.__traceback__))
    try:
        message = str(error)[:_MESSAGE]
    except BaseException:  # an exception of live objects may raise at every touch
        message = ""
    name = type(error).__name__
    if isinstance(error, AssertionError):
        return ["failed", lines[-1] if lines else 0, message]
    if isinstance(error, ImportError) and not _passed(error.__traceback__, solution.FILE):
        return ["unable", lines[-1] if lines else 0, f"{name}: {message}"]
    return ["error", lines[-1] if lines else 0, f"{name}: {message}"]


def _lines(trace: TracebackType | None) -> Iterator[int]:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            yield trace.tb_lineno
        trace = trace.tb_next


def _passed(trace: TracebackType | None, file: str) -> bool:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            return True
        trace = trace.tb_next
    return False
