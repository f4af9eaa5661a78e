"""Parsing from many threads at once, which Python 3.11 takes for an error of its own."""

from __future__ import annotations

import ast
import threading

import pytest

from guerdon.sandbox.grading.syntax import alone

SOURCE = "f(" * 60 + "1" + ")" * 60 + "\n" + "[" + "1," * 2000 + "]"


def test_many_threads_parse() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                alone(lambda: compile(ast.parse(SOURCE), "f", "exec"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_what_parses_elsewhere_is_met_by_another_try() -> None:
    seen: list[int] = []

    def work() -> str:
        seen.append(1)
        if len(seen) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=39, after=35)")
        return "done"

    assert alone(work) == "done"
    assert len(seen) == 3


def test_other_errors_pass() -> None:
    with pytest.raises(SyntaxError):
        alone(lambda: ast.parse("1 +"))
    with pytest.raises(SystemError, match="always"):
        alone(_always)


def _always() -> None:
    raise SystemError("always")
