"""Test code with assertions, as HumanEval and MBPP have it, and the function that it asks for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.code.python import Broken, defined, parsed, preamble
from guerdon.rewards.code.suite import SampleTests
from guerdon.rewards.code.values import list_of, plain, text_of
from guerdon.rewards.common.parameters import shown
from guerdon.sandbox.grading.cases import AssertTest

Row = Mapping[str, Any]


def assert_suite(row: Row, stub: str) -> SampleTests:
    """MBPP (``test_list``), or one text of test code: HumanEval and what has its form (``test``).

    >>> row = {"test": "def check(candidate):\\n    assert candidate(2) == 4\\n", "entry_point": "double"}
    >>> assert_suite(row, "").entry_point
    'double'
    """
    if row.get("test_list") is not None:
        extra = plain(row.get("challenge_test_list")) or []
        items = [*list_of(row["test_list"], "test_list"), *list_of(extra, "challenge_test_list")]
        if wrong := [item for item in items if not isinstance(item, str)]:
            raise InputError(f"test_list must hold assertions in text, not {shown(wrong[0])}")
        return assertion_tests(items, row, stub)
    test = plain(row["test"])
    if isinstance(test, list):
        return assertion_tests([text_of(item, "test") for item in test], row, stub)
    code = text_of(test, "test")
    tree = _tree(code, "test")
    _checked(tree, "test")
    if not any(map(_asserts, ast.walk(tree))):
        raise InputError("test holds no assertion")
    name = _entry_point(row, [code], stub)
    setup = _joined(_given_setup(row), preamble(stub, name) if name else "")
    return SampleTests(form="humaneval", tests=(AssertTest(code, name, setup),), entry_point=name)


def assertion_tests(items: Sequence[str], row: Row, stub: str) -> SampleTests:
    """Assertions in text, each a test of its own."""
    for i, item in enumerate(items):
        tree = _tree(item, f"assertion {i + 1}")
        _checked(tree, f"assertion {i + 1}")
        if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
            raise InputError(f"assertion {i + 1} asserts nothing: {shown(item)}")
    name = _entry_point(row, items, stub)
    setup = _joined(_given_setup(row), preamble(stub, name) if name else "")
    tests = tuple(AssertTest(item, name, setup) for item in items)
    return SampleTests(form="mbpp", tests=tests, entry_point=name)


def _tree(code: str, what: str) -> ast.Module:
    tree = parsed(code)
    if isinstance(tree, Broken):
        raise InputError(f"{what} is not Python: {tree}")
    return tree


def _asserts(node: ast.AST) -> bool:
    """Whether a part of the code can find something wrong: an assertion, a method of unittest or numpy, a raise."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.startswith("assert") or name in ("raises", "fail")
    return isinstance(node, ast.Assert | ast.Raise)


def _checked(tree: ast.Module, what: str) -> None:
    """Refuses ``assert (f(1) == 2, "why")``, a tuple, which holds whatever is in it. Raises InputError."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            raise InputError(
                f"{what} asserts a tuple in line {node.lineno}, which always holds; leave out its brackets"
            )


def _given_setup(row: Row) -> str:
    """Imports and code that the data gives for its tests."""
    imports = [
        text_of(line, "test_imports") for line in list_of(row.get("test_imports") or [], "test_imports")
    ]
    setup = _joined(*imports, text_of(row.get("test_setup_code") or "", "test_setup_code"))
    _tree(setup, "test_setup_code")
    return setup


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part.strip())


def _entry_point(row: Row, codes: Sequence[str], stub: str) -> str | None:
    """The function under test: as the row says, else the one that all test code calls and none defines."""
    given = plain(row.get("entry_point"))
    if given is not None and given != "":
        return text_of(given, "entry_point")
    setup = _joined(_given_setup(row))
    called = [_called(parsed(code)) - _bound(parsed(setup)) for code in codes]
    common = set.intersection(*called) if called else set()
    if len(common) > 1:
        prompt = parsed(stub)
        common &= _bound(prompt) if isinstance(prompt, ast.Module) else common
    return common.pop() if len(common) == 1 else None


def _called(tree: ast.Module | Broken) -> set[str]:
    if isinstance(tree, Broken):
        return set()
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {call.id for call in calls if isinstance(call, ast.Name) and not hasattr(builtins, call.id)}
    inner = {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    return names - _bound(tree) - inner


def _bound(tree: ast.Module | Broken) -> set[str]:
    return {name for name, _ in defined(tree)} if isinstance(tree, ast.Module) else set()
