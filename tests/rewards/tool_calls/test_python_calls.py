"""Calls in Python's way: literals only, whatever the text."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pytest

from guerdon.rewards.tool_calls.python import python_calls, python_literal


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1", 1),
        ("-2.5e3", -2500.0),
        ("+.5", 0.5),
        ("True", True),
        ("false", False),
        ("null", None),
        ("'it\\'s'", "it's"),
        ('"a\\n\\u00e9\\x41"', "a\néA"),
        ('"\\d\\s"', "\\d\\s"),
        ('"\\777"', "\\777"),
        ('r"\\n"', "\\n"),
        ("\"a\" 'b'", "ab"),
        ('"""two\nlines"""', "two\nlines"),
        ("[1, [2], ]", [1, [2]]),
        ("(1, 2)", [1, 2]),
        ("(1,)", [1]),
        ("(1)", 1),
        ("()", []),
        ('{"a": {"b": None}}', {"a": {"b": None}}),
        ("{}", {}),
    ],
)
def test_literals(source: str, value: Any) -> None:
    assert python_literal(source) == (value, True)
    calls = python_calls(f"[a.b(x={source})]")
    assert calls is not None
    assert [(call.name, call.arguments, call.problem) for call in calls] == [("a.b", {"x": value}, "")]


@pytest.mark.parametrize(
    "source",
    [
        "x",
        "f()",
        "1 + 1",
        "1 if x else 2",
        "f'{x}'",
        "b'x'",
        "007",
        "1j",
        "...",
        "{1: 2}",
        "{'a': 1, 'a': 2}",
        "{1, 2}",
        "[1",
        "'open",
        "lambda: 1",
        "not True",
        "--1",
        "x.y",
        "'a'[0]",
        '"\\x"',
        "__import__('os').system('true')",
    ],
)
def test_what_is_no_literal(source: str) -> None:
    assert python_literal(source) == (None, False)
    assert python_calls(f"f(a={source})") is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f()", ["f"]),
        ("[f(), g.h(a=1)]", ["f", "g.h"]),
        ("f()\ng()", ["f", "g"]),
        ("f(); g()", ["f", "g"]),
        ("# no()\nf()  # no()", ["f"]),
        ("f(class=1, from='x')", ["f"]),
        ("größe(länge=1)", ["größe"]),
        ("[]", []),
        ("", []),
    ],
)
def test_rows_of_calls(text: str, names: list[str]) -> None:
    assert [call.name for call in python_calls(text) or ()] == names


@pytest.mark.parametrize(
    "text", ["x = f()", "f", "f(", "f())", "import os", "f(a=1) or g()", "[f() g()]", "f()(a=1)"]
)
def test_other_code_is_none(text: str) -> None:
    assert python_calls(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [("f(1)", "an argument has no name"), ("f(a=1, a=2)", "the argument a is given twice")],
)
def test_calls_that_cannot_be_compared(text: str, problem: str) -> None:
    calls = python_calls(text)
    assert calls is not None
    assert calls[0].problem == problem


@pytest.mark.parametrize(
    "text",
    [
        "f(a=" + "[" * 90_000,
        "f(a=" + "-" * 90_000 + "1)",
        "a" + ".a" * 60_000 + "()",
        "f(a=" + "'" * 90_001 + ")",
        'f(a="' + "\\" * 90_001 + '")',
        "f(a=" + "9" * 90_000 + ")",
        "f(a='''" * 10_000,
        "f(" * 60_000,
        "f(a=1)" * 10**6,
        'f(a="\\d\\q")',
        "f(a=1if x else 2)",
        "f(a='\ud800\x00')",
    ],
)
def test_hostile_texts_end_and_warn_of_nothing(text: str) -> None:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        python_calls(text)
    assert time.perf_counter() - start < 10
