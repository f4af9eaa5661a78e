"""Reading JSON from text: strict, and where it stands."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest

from guerdon.rewards.common.json_text import (
    MAX_DEPTH,
    balanced,
    comments,
    fences,
    outside,
    read_json,
    read_json_at,
    said,
    same_json,
    without_surrogates,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (' [1, 2.5, "x", true] \n', [1, 2.5, "x", True]),
        ('{"a": {"b": []}}', {"a": {"b": []}}),
        ("1e400", Decimal("1e400")),
        ("1e-400", Decimal("1e-400")),
        ("0.0", 0.0),
        ("9" * 5000, Decimal("9" * 5000)),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
    ],
)
def test_values(text: str, value: Any) -> None:
    read = read_json(text)
    assert not read.problem
    if len(text) != 2 * MAX_DEPTH:
        assert read.value == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON: Expecting value at character 0"),
        ("{'a': 1}", "not JSON: Expecting property name enclosed in double quotes at character 1"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ('{"a": 1, "b": 2, "a": 3}', 'the name "a" occurs twice in one object'),
        ('[{"a": {"x": 1, "x": 1}}]', 'the name "x" occurs twice in one object'),
        ("1 2", "something follows the JSON"),
        ("\ufeff1", "not JSON: Expecting value at character 0"),
        ("\u00a01", "not JSON: Expecting value at character 0"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "nested more than 128 deep"),
        ('{"a":' * 100_000, "nested more than 128 deep"),
    ],
)
def test_what_is_no_json(text: str, problem: str) -> None:
    assert read_json(text).problem == problem


def test_reading_at_a_place_says_where_it_ends() -> None:
    assert read_json_at('x{"a": 1}y', 1).end == 9
    assert read_json_at('x{"a": }y', 1).end == 7


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (Decimal("1e400"), Decimal("10e399"), True),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({}, [], False),
        ([True], [True], True),
        (float("nan"), float("nan"), False),
    ],
)
def test_equality_of_json(one: Any, other: Any, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", []),
        ("{}", ["{}"]),
        ('a {"b": [1, {"c": "]}"}]} d [2]', ['{"b": [1, {"c": "]}"}]}', "[2]"]),
        ("{ open and [1]", ["[1]"]),
        ("[ { ] }", ["[ { ]"]),
        ('{ 5" disk\n{"a": 1}', ['{"a": 1}']),
        ('say "{" and {"a": 1}', ['{"a": 1}']),
        (r'{"a": "\"}"}', [r'{"a": "\"}"}']),
        ("{{}{}}", ["{{}{}}"]),
        ("}{][", []),
    ],
)
def test_balanced_spans(text: str, spans: list[str]) -> None:
    assert [text[start:end] for start, end in balanced(text)] == spans


def test_fences() -> None:
    text = "a\n```json\n{}\n```\n~~~\nx ``` y\n~~~\n````md\n```\ninner\n```\n````\n```\nnever closed"
    assert [(fence.label, fence.text) for fence in fences(text)] == [
        ("json", "\n{}\n"),
        ("", "\nx ``` y\n"),
        ("md", "\n```\ninner\n```\n"),
    ]


def test_comments_and_what_is_outside_of_them() -> None:
    text = "a<!-- b -->c<!-- d"
    assert [text[start:end] for start, end in comments(text)] == ["<!-- b -->", "<!-- d"]
    places = [(at, at + 1) for at in (0, 6, 11, 17)]
    assert [text[start:end] for start, end in outside(places, comments(text))] == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a</think>b</think>c", "c"),
        ("b<think>a", "b"),
        ("a<|im_end|>b", "a"),
        ("<|im_start|>assistant\na<|im_end|>", "a"),
        ("a<|eot_id|><|start_header_id|>user<|end_header_id|>b", "a"),
    ],
)
def test_what_a_model_said(text: str, heard: str) -> None:
    assert said(text) == heard


def test_surrogates_are_replaced_in_names_and_values() -> None:
    assert without_surrogates({"\ud800": ["a\udfff", 1]}) == {"\ufffd": ["a\ufffd", 1]}


@pytest.mark.parametrize(
    "text",
    ["{" * 10**6, '{"' * 500_000, '{"\\' * 300_000, '{"' + '\\"' * 500_000, "{]" * 500_000, '"' * 10**6],
    ids=["open", "quoted", "escaped", "escapes", "crossed", "quotes"],
)
def test_time_grows_with_the_text_only(text: str) -> None:
    start = time.perf_counter()
    balanced(text)
    read_json(text)
    assert time.perf_counter() - start < 20  # a second where nothing else runs; hours where it is quadratic
