"""Arguments in the notation of Java and JavaScript, under the types that BFCL declares."""

from __future__ import annotations

import time
from typing import Any

import pytest

from guerdon.rewards.tool_calls.languages import value_in
from guerdon.rewards.tool_calls.reward import tool_calls


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "-5", -5),
        ("integer", "5L", "5L"),
        ("integer", "count", "count"),
        ("short", "7", 7),
        ("long", "5L", 5),
        ("long", "5", "5"),
        ("float", "1.5f", 1.5),
        ("float", "1.5", "1.5"),
        ("double", "1.5", 1.5),
        ("double", "2e3", 2000.0),
        ("boolean", "true", True),
        ("boolean", "True", "True"),
        ("String", " a ", " a "),
        ("String", '"a"', '"a"'),
        ("any", "5", "5"),
        ("char", "'a'", "'a'"),
        ("Array", "new int[]{1, 2}", [1, 2]),
        ("Array", 'new String[]{"a, b", "c}"}', ["a, b", "c}"]),
        ("Array", "new String[] {}", []),
        ("Array", "items", "items"),
        ("ArrayList", 'new ArrayList<String>(Arrays.asList("a", "b"))', ["a", "b"]),
        ("ArrayList", "new ArrayList<>(Arrays.asList(1L, 2L))", [1, 2]),
        ("ArrayList", 'List.of("a")', ["a"]),
        ("ArrayList", 'new ArrayList<String>() {{ add("a"); add("b"); }}', ["a", "b"]),
        ("ArrayList", "new ArrayList<String>()", []),
        ("HashMap", 'new HashMap<String, Object>() {{ put("a", 1); put("b", "x"); }}', {"a": 1, "b": "x"}),
        ("HashMap", 'new HashMap<String, Object>() {{ put("a", limit); }}', {"a": "limit"}),
        ("HashMap", "new HashMap<>()", {}),
        ("HashMap", "options", "options"),
    ],
)
def test_java(kind: str, text: str, value: Any) -> None:
    got = value_in("java", text, {"type": kind})
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("String", "'a'", "a"),
        ("String", '"a"', "a"),
        ("String", "a", "a"),
        ("integer", "5", 5),
        ("integer", "5.5", "5.5"),
        ("float", "5", 5.0),
        ("Bigint", "12n", 12),
        ("Boolean", "false", False),
        ("array", "[1, 'two', true, [null]]", [1, "two", True, [None]]),
        ("array", "new Array(1, 2)", [1, 2]),
        ("array", "[first, second]", ["first", "second"]),
        ("array", "list", "list"),
        ("dict", "{a: 1, 'b': {c: ['x: y']}}", {"a": 1, "b": {"c": ["x: y"]}}),
        ("dict", "{}", {}),
        ("dict", "[1]", "[1]"),
        ("any", "'a'", "'a'"),
        (None, "5", "5"),
    ],
)
def test_javascript(kind: str | None, text: str, value: Any) -> None:
    got = value_in("javascript", text, {"type": kind} if kind else {})
    assert (got, type(got)) == (value, type(value))


def test_the_reward_reads_them() -> None:
    properties = {"ids": {"type": "ArrayList", "items": {"type": "long"}}, "deep": {"type": "boolean"}}
    row = {
        "ground_truth": [{"Store.find": {"ids": [[7, 8]], "deep": ["", True]}}],
        "function": [{"name": "Store.find", "parameters": {"properties": properties, "required": ["ids"]}}],
        "language": "java",
    }

    def scored(ids: str, deep: str) -> float | None:
        call = {"function": {"name": "Store.find", "arguments": {"ids": ids, "deep": deep}}}
        return tool_calls(messages=[{"role": "assistant", "tool_calls": [call]}], **row).score

    assert scored("new ArrayList<Long>(Arrays.asList(7L, 8L))", "true") == 1.0
    assert scored("new ArrayList<Long>(Arrays.asList(8L, 7L))", "true") == 0.0
    assert scored("new ArrayList<Long>(Arrays.asList(7L, 8L))", "false") == 0.0
    assert tool_calls(response="", ground_truth=[], language="rust").error_kind == "input"


@pytest.mark.parametrize("kind", ["ArrayList", "HashMap", "Array", "array", "dict", "float", "integer"])
@pytest.mark.parametrize(
    "text",
    [
        "new ArrayList<" * 5_000,
        "Arrays.asList(" * 5_000,
        "new HashMap<>(){" * 5_000,
        "[" * 10**6,
        "9" * 10**6,
        '"' * 20_000,
    ],
)
def test_hostile_texts_are_read_in_time(kind: str, text: str) -> None:
    start = time.process_time()
    for language in ("java", "javascript"):
        value_in(language, text, {"type": kind})
    assert time.process_time() - start < 5
