"""The names of Reward Kit: a call against a name and types, and the call of a text."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.function_calling import (
    exact_tool_match_reward,
    match_function_call,
    parse_potential_function_call,
)

WEATHER = {"name": "get_weather", "arguments": {"city": {"type": "string"}, "days": {"type": "integer"}}}
ANSWER = [{"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    ("name", "arguments", "scores"),
    [
        # Scores for exact, partial, flexible.
        ("get_weather", {"city": "Oslo", "days": 3}, (1.0, 1.0, 1.0)),
        ("get_weather", {"city": "Oslo"}, (0.5, 1.0, 0.5)),
        ("get_weather", {}, (0.5, 0.5, 0.5)),
        ("get_weather", {"city": "Oslo", "days": 3, "unit": "C"}, (0.5, 0.5, 1.0)),
        ("get_weather", {"city": 7, "days": 3}, (0.5, 0.5, 0.5)),
        ("get_weather", {"city": "Oslo", "unit": "C"}, (0.5, 0.5, 0.5)),
        ("get_news", {"city": "Oslo", "days": 3}, (0.5, 0.5, 0.5)),
        ("get_news", {}, (0.0, 0.0, 0.0)),
        ("get_weather", '{"city": "Oslo", "days": 3}', (1.0, 1.0, 1.0)),
        ("get_weather", "Oslo", (0.5, 0.5, 0.5)),
    ],
)
def test_strictness(name: str, arguments: Any, scores: tuple[float, ...]) -> None:
    got = tuple(
        match_function_call(
            ANSWER,
            function_name=name,
            parsed_arguments=arguments,
            expected_call_schema=WEATHER,
            argument_match_strictness=strictness,
        ).score
        for strictness in ("exact", "partial", "flexible")
    )
    assert got == scores


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("string", ["", "x"], [1, None]),
        ("number", [1, 1.5, Decimal("1e400")], ["1", True]),
        ("integer", [1, 2.0, Decimal("1e400")], [1.5, True, "1"]),
        ("boolean", [True, False], [1, "true"]),
        ("array", [[], [1]], ["[]", {}]),
        ("object", [{}, {"a": 1}], [[], "{}"]),
        ("null", [None], [0, ""]),
        ("any", [None, 1, "x"], []),
        (None, [None, 1, "x"], []),
    ],
)
def test_types(kind: str | None, right: list[Any], wrong: list[Any]) -> None:
    schema = {"name": "f", "arguments": {"a": {"type": kind} if kind else {}}}
    for values, score in ((right, 1.0), (wrong, 0.5)):
        for value in values:
            result = match_function_call(
                ANSWER, function_name="f", parsed_arguments={"a": value}, expected_call_schema=schema
            )
            assert result.score == score, value


def test_the_call_is_read_from_the_message_where_none_is_given() -> None:
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}}</tool_call>'
    result = match_function_call(response=text, expected_call_schema=json.dumps(WEATHER))
    assert result.score == 0.5
    assert result.metrics["arguments_match"].reason == '"days" should be of type integer'
    assert match_function_call(response=text + text, expected_call_schema=WEATHER).score == 0.0
    assert match_function_call(response="No call.", expected_call_schema=WEATHER).score == 0.0


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"expected_call_schema": {"arguments": {}}}, "expected_call_schema must be such as"),
        ({"expected_call_schema": "f"}, "expected_call_schema must be such as"),
        (
            {"expected_call_schema": {"name": "f", "arguments": {"a": "x"}}},
            'the argument "a" must have a schema',
        ),
        (
            {"expected_call_schema": WEATHER, "argument_match_strictness": "lax"},
            "argument_match_strictness must be one of exact, partial, flexible, permissive",
        ),
    ],
)
def test_parameters_that_cannot_be_read(parameters: dict[str, Any], says: str) -> None:
    result = match_function_call(ANSWER, **parameters)
    assert result.error_kind == "input"
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', {"name": "f", "arguments": {"a": 1}}),
        ("[f(a=1)]", {"name": "f", "arguments": {"a": 1}}),
        ("f()", {"name": "f", "arguments": {}}),
        ("I called f().", None),
        ("[f(), g()]", None),
        ("<tool_call>{", None),
        ('{"name": "f", "arguments": "x"}', None),
        ("", None),
        ("[" * 10_000, None),
    ],
)
def test_potential_calls(text: str, call: dict[str, Any] | None) -> None:
    assert parse_potential_function_call(text) == ((True, call) if call else (False, {}))


def test_exact_tool_match(data_dir: Path) -> None:
    lines = (data_dir / "function_calling" / "function_calling.jsonl").read_text("utf-8").splitlines()
    for line in lines:
        row = json.loads(line)
        result = exact_tool_match_reward(messages=row["messages"], ground_truth=row["ground_truth"])
        assert result.score == row["evaluation_result"]["score"], row["input_metadata"]["row_id"]
    assert exact_tool_match_reward(response="Nothing to do.").score == 1.0
    assert exact_tool_match_reward(response="[f()]").score == 0.0
    assert exact_tool_match_reward(response="[f(), g()]", ground_truth="[g(), f()]").score == 0.0
