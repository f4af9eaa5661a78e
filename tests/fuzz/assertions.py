"""The reader of assertions: any text of a test becomes calls and what has to hold, or is declined.

What it reads means what Python means: where a test compares literals only, Python evaluates it as well.
"""

from __future__ import annotations

import ast
import tracemalloc
import warnings
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.sandbox.grading.assert_tests import plan_assert_test
from guerdon.sandbox.grading.assertions import Assertions, read_assertions
from guerdon.sandbox.grading.cases import AssertTest
from guerdon.sandbox.grading.operations import NotPlainError
from guerdon.sandbox.grading.syntax import alone, too_long

_ANSWER = 3
_MEMORY = 512 << 20
_LONGEST = 4_000

SEEDS: Sequence[bytes] = (
    b"assert f(1) == 3",
    b"assert f([1, 2], k=(3, {'a': 4})) == {'b': 5} and f(2) != 4\nassert not f(1) is None",
    b"import math\nassert math.isclose(f(2), 3.0, rel_tol=1e-9)\nassert abs(f(1) - 3) < 1e-6",
    b"def check(candidate):\n    assert candidate(1) == 3\n    for x in [1, 2]:\n        assert candidate(x) in (3, x)",
    b"x = [1, 2] * 3\ny = (x[0], x[1:]) + (2 ** 8,)\nassert f(x) == len(sorted(set(x))) + 1\nassert f(y) <= max(x)",
    b"METADATA = {}\nif __name__ == '__main__':\n    f(3)\n    assert round(f(2) / 7, 2) == .43",
    b"assert sorted(f(1)) == list(range(3)) or all(f(2)) and any([f(3)])",
)


def check(data: bytes) -> None:
    """Reads the text as a test of ``f``."""
    source = data.decode("utf-8", "replace")[:_LONGEST]
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _plan(source)
            _read(source)
        assert tracemalloc.get_traced_memory()[1] < _MEMORY
    finally:
        tracemalloc.stop()


def _plan(source: str) -> None:
    try:
        plan = plan_assert_test(AssertTest(source, entry_point="f"))
    except InputError:
        return
    assert plan.mode in ("calls", "pair", "live")


def _read(source: str) -> None:
    try:
        if too_long(source, 50_000):
            return
        tree = alone(lambda: ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    try:
        found = read_assertions(tree, ["f"], [])
    except NotPlainError:
        return
    assert found.calls
    left_out = (ast.FunctionDef, ast.For, ast.Pow, ast.ImportFrom)
    nodes = list(ast.walk(tree))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    if modules <= {"math"} and not any(isinstance(node, left_out) for node in nodes):
        assert _outcome_of_reading(found) == _outcome_of_running(tree, len(found.calls)), source


def _outcome_of_reading(found: Assertions) -> str:
    for assertion in found.assertions:
        try:
            if not assertion.holds([lambda: _ANSWER] * len(found.calls)):
                return "failed"
        except Exception:
            return "failed"
    return "passed"


def _outcome_of_running(tree: ast.Module, calls: int) -> str:
    def f(*arguments: Any, **keywords: Any) -> int:
        return _ANSWER

    try:
        exec(compile(tree, "test.py", "exec"), {"f": f, "__name__": "__main__"})
    except Exception:
        return "failed"
    return "passed"
