"""``tool_calls``: what is a call, which calls were wanted, how much of them is right."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.rewards.tool_calls.message import calls_of_message
from guerdon.rewards.tool_calls.reward import tool_calls
from guerdon.rewards.tool_calls.text import calls_in_text
from guerdon.types import Message


def made(text: str, names: list[str] | None = None) -> list[tuple[str, Any]]:
    return [(call.name, call.problem or call.arguments) for call in calls_in_text(text, names)]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        # Several in one text.
        ('<tool_call>\n{"name": "f"}\n{"name": "g"}\n</tool_call>', [("f", {}), ("g", {})]),
        ('<tool_call>[{"name": "f"}, {"name": "g"}]</tool_call>', [("f", {}), ("g", {})]),
        ('<function=f>{"a": 1}</function> <function=g>{}</function>', [("f", {"a": 1}), ("g", {})]),
        ('{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}', [("f", {}), ("g", {})]),
        ('{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}', [("f", {}), ("g", {})]),
        ('First {"name": "f", "arguments": {}}, then {"name": "g", "input": {}}', [("f", {}), ("g", {})]),
        ('[TOOL_CALLS]f[CALL_ID]x1[ARGS]{"a": 1}[TOOL_CALLS]g{}', [("f", {"a": 1}), ("g", {})]),
        # Elements win over what the rest of the text holds.
        ('{"name": "g", "arguments": {}} <tool_call>{"name": "f"}</tool_call>', [("f", {})]),
        # Forms of one call.
        ('{"function": {"name": "f", "arguments": "{}"}}', [("f", {})]),
        ('{"function": "f", "arguments": {}}', [("f", {})]),
        ('{"function_call": {"name": "f", "arguments": {}}}', [("f", {})]),
        ('{"content": null, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}', [("f", {})]),
        ("<|python_tag|>f(a=1)", [("f", {"a": 1})]),
        ("<function=f></function>", [("f", {})]),
        ("<function=f><parameter=a>\n\nx\n\n</parameter></function>", [("f", {"a": "\nx\n"})]),
        # Arguments that are not JSON stay text.
        ('{"name": "f", "arguments": "now"}', [("f", "now")]),
        # No calls.
        ("", []),
        ("[]", []),
        ("{}", []),
        ('{"name": "Ann", "age": 7}', []),
        ('{"name": "f"}', []),
        ('{"name": "f", "description": "adds", "parameters": {"type": "object"}}', []),
        ('[{"name": "f", "arguments": {}}, 7]', []),
        ("Use the <tool_call> element or [TOOL_CALLS] here.", []),
        ('```js\n// {"name": "f", "arguments": {}}\n```', []),
        ("```bash\nf(a=1)\n```", []),
        ("He said [1], f(a=1) and [f].", []),
        # Calls that cannot be carried out.
        ('<tool_call>{"name": "f"', [("", "not JSON: Expecting ',' delimiter at character 23")]),
        ('<tool_call>{"a": 1}</tool_call>', [("", "the JSON names no tool")]),
        (
            '<tool_call>{"name": "f", "arguments": [1]}</tool_call>',
            [("f", "the arguments are not an object")],
        ),
        ("<function=f>{}", [("f", "<function> is never closed")]),
        ("<function=f><parameter=a>1</function>", [("f", "<parameter> is never closed")]),
        ('<invoke name="f"><parameter name="a">1</parameter>', [("f", "</invoke> is missing")]),
        (
            "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
            [("f", "the argument a is given twice")],
        ),
        ("<|python_tag|>import os", [("", "what follows <|python_tag|> is not a call")]),
    ],
)
def test_forms(text: str, calls: list[tuple[str, Any]]) -> None:
    assert made(text) == calls


def test_a_block_of_code_is_a_call_where_it_calls_a_tool() -> None:
    text = "```python\nprint(a=1)\n```"
    assert made(text, ["f"]) == []
    assert made(text, ["print"]) == [("print", {"a": 1})]
    assert made("```python\n[get(a=1)]\n```", ["f"]) == [("get", {"a": 1})]


def test_a_native_call_without_a_name_is_broken() -> None:
    parts = [{"type": "tool_use", "input": {}}]
    assert calls_of_message(Message(role="assistant", content=parts))[0].problem == "the call has no name"


@pytest.mark.parametrize(
    ("response", "truth", "order", "f1"),
    [
        ("[f(a=1, b=2)]", "[f(a=1, b=2)]", "any", 1.0),
        # Right: the name and a. 2 · 2 / (3 + 3).
        ("[f(a=1, b=3)]", "[f(a=1, b=2)]", "any", 2 / 3),
        ("[f(a=1)]", "[f(a=1, b=2)]", "any", 0.8),
        ("[f(a=1, b=2, c=3)]", "[f(a=1, b=2)]", "any", 6 / 7),
        ("[g(a=1, b=2)]", "[f(a=1, b=2)]", "any", 0.0),
        ("f", "[f()]", "any", 0.0),
        # The better one of two is taken.
        ("[f(a=2), f(a=1)]", "[f(a=1)]", "any", 2 * 2 / (4 + 2)),
        # In the given order only one of the two can be taken.
        ("[g(), f()]", "[f(), g()]", "any", 1.0),
        ("[g(), f()]", "[f(), g()]", "given", 0.5),
        ("[f(), h(), g()]", "[f(), g()]", "given", 0.8),
        # An optional argument counts where it is there and right.
        ("[f()]", [{"f": {"a": ["", 1]}}], "any", 1.0),
        ("[f(a=1)]", [{"f": {"a": ["", 1]}}], "any", 1.0),
        ("[f(a=2)]", [{"f": {"a": ["", 1]}}], "any", 2 / 3),
        ("no call", [], "any", 1.0),
        ("[f()]", [], "any", 0.0),
    ],
)
def test_partial_scores(response: str, truth: Any, order: str, f1: float) -> None:
    result = tool_calls(response=response, ground_truth=truth, order=order, scoring="fraction")
    assert result.unwrap() == pytest.approx(f1)
    exact = tool_calls(response=response, ground_truth=truth, order=order)
    assert exact.unwrap() == float(f1 == 1.0)


def test_calls_are_told_apart_where_one_fits_two() -> None:
    """The first call fits both answers; taking it for the first would leave the second without one."""
    truth = [{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}]
    assert tool_calls(response="[f(a=1), f(a=2)]", ground_truth=truth).score == 1.0
    assert tool_calls(response="[f(a=2), f(a=1)]", ground_truth=truth).score == 1.0
    assert tool_calls(response="[f(a=2), f(a=2)]", ground_truth=truth).score == 0.0


FUNCTION = [
    {
        "name": "f",
        "parameters": {
            "type": "dict",
            "properties": {
                "s": {"type": "string"},
                "i": {"type": "integer"},
                "x": {"type": "float"},
                "xs": {"type": "array", "items": {"type": "float"}},
                "d": {"type": "dict", "properties": {"n": {"type": "integer"}}},
                "any": {"type": "any"},
            },
            "required": [],
        },
    }
]


@pytest.mark.parametrize(
    ("name", "choices", "value", "accepted"),
    [
        ("s", ["New York, NY"], "new york NY", True),
        ("s", ["April 1, 2024"], "April 1,2024", True),
        ("s", ["it's"], 'it"s', True),
        ("s", ["a;b"], "ab", False),
        ("s", ["x", ""], "", True),
        ("s", ["x", ""], "-", False),
        ("s", ["*"], "-", False),
        ("s", ["5"], "-5", False),
        ("s", ["1.5"], "15", False),
        ("s", ["5"], " 5 ", True),
        ("s", ["+5"], "5", False),
        ("s", ["2024-01-05"], "2024/01/05", True),
        ("s", ["1,000"], "1000", True),
        ("s", ["*"], "*", True),
        ("s", ["5"], 5, False),
        ("s", ["x", None], None, True),
        ("i", [5], 5, True),
        ("i", [5], 5.0, False),
        ("i", [1], True, False),
        ("i", [5, ""], "", False),
        ("x", [5.0], 5, True),
        ("x", [5], 5.0, True),
        ("x", [1.0], True, False),
        ("xs", [[1.0, 2.5]], [1, 2.5], True),
        ("xs", [[1.0, 2.5]], [2.5, 1], False),
        ("xs", [[1.0]], [True], False),
        ("xs", [[], ""], [], True),
        ("xs", [[1.0], ""], "", False),
        ("xs", [], [], True),
        ("xs", [], [1], False),
        ("d", [{"n": [1, ""], "t": ["A b"]}], {"t": "ab"}, True),
        ("d", [{"n": [1]}], {"n": 1.0}, False),
        ("d", [{"n": [1]}], {"n": True}, False),
        ("d", [{"n": [1]}], {}, False),
        ("d", [{"t": [["A"]]}], {"t": ["a"]}, True),
        ("d", [{"t": [{"u": [1, 2]}]}], {"t": {"u": 2}}, True),
        ("d", [{"t": ["x"]}], {"t": ["x"]}, True),
        ("d", [{}], {}, True),
        ("d", [{"t": 1}], {"t": 1}, True),
        ("any", [[{"n": [1]}, {"n": [2]}]], [{"n": 1}, {"n": 2}], True),
        ("any", [[{"n": [1]}, {"n": [2]}]], [{"n": 2}, {"n": 1}], False),
        ("any", ["yes", 1], 1, True),
    ],
)
def test_possible_answers(name: str, choices: list[Any], value: Any, accepted: bool) -> None:
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {name: value}}}]}
    result = tool_calls(messages=[call], ground_truth=[{"f": {name: choices}}], function=FUNCTION)
    assert result.unwrap() == float(accepted)


@pytest.mark.parametrize(
    ("value", "wanted", "schema", "right"),
    [
        ("3", 3, None, True),
        ("3", "3", None, True),
        ("3", 3, "integer", True),
        ("3", "3", "integer", False),
        ("3", 3, "string", False),
        ("True", True, "boolean", True),
        ("['a']", ["a"], "array", True),
        ('{"a": 1}', {"a": 1}, "object", True),
        ("null", None, "string", True),
        ("Oslo", "Oslo", "integer", True),
    ],
)
def test_elements_take_the_type_of_the_schema(
    value: str, wanted: Any, schema: str | None, right: bool
) -> None:
    tools = None
    if schema:
        parameters = {"type": "object", "properties": {"a": {"type": schema}}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    response = f"<function=f><parameter=a>{value}</parameter></function>"
    truth = [{"name": "f", "arguments": {"a": wanted}}]
    assert tool_calls(response=response, ground_truth=truth, tools=tools).unwrap() == float(right)


def test_required_by_the_schema_is_required() -> None:
    function = {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    truth = [{"f": {"a": ["", 1]}}]
    assert tool_calls(response="[f()]", ground_truth=truth).score == 1.0
    assert tool_calls(response="[f()]", ground_truth=truth, function=json.dumps(function)).score == 0.0


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("hello", "no call was made, 1 expected"),
        ("[f(a=1), f(a=1)]", "calls made: 2, expected: 1"),
        ("[g(a=1)]", "f is not called"),
        ("[f()]", 'f: the argument "a" is missing'),
        ('[f(a="x")]', 'f: the argument "a" is "x", expected 1'),
        ("[f(a=1, b=2)]", 'f: the argument "b" was not expected'),
        ("<tool_call>{}</tool_call>", "the JSON names no tool"),
        ("[f(a=1)]", "as expected"),
    ],
)
def test_reasons(response: str, reason: str) -> None:
    assert tool_calls(response=response, ground_truth="[f(a=1)]").reason == reason


@pytest.mark.parametrize(
    "truth",
    [
        '[{"name": "f", "arguments": {"a": 1}}]',
        '{"tool_calls": [{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}',
        {"name": "f", "parameters": {"a": 1}},
        {"function": {"name": "f", "arguments": {"a": 1}}},
        [{"name": "f", "arguments": {"a": 1}, "result": "done"}],
        ["f(a=1)"],
        "f(a=1)",
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
        [{"f": {"a": [1]}}],
        {"f": {"a": [0, 1]}},
        [{"f": {"a": [1], "b": None}, "g": None}],
    ],
)
def test_forms_of_the_ground_truth(truth: Any) -> None:
    assert tool_calls(response="[f(a=1)]", ground_truth=truth).score == 1.0
    assert tool_calls(response="[f(a=2)]", ground_truth=truth).score == 0.0
    assert tool_calls(response="nothing", ground_truth=truth).score == 0.0


@pytest.mark.parametrize(
    ("truth", "says"),
    [
        ("", 'holds no calls: ""'),
        ("<tool_call>{</tool_call>", "holds a call that cannot be read: not JSON"),
        (7, "holds no calls but 7"),
        ([7], "holds no call but 7"),
        ([{}], "holds an object that names no call"),
        ([{"f": None}], "holds an object that names no call"),
        ([{"f": [1]}], "the possible answers of f must be an object"),
        ([{"f": {"a": "x"}}], 'the argument a of f must be a list of the values that are accepted, not "x"'),
        (
            [{"name": "f", "arguments": [1]}],
            "holds a call that cannot be read: the arguments are not an object",
        ),
        (["f(1)"], "holds a call that cannot be read: an argument has no name"),
    ],
)
def test_ground_truths_that_cannot_be_read(truth: Any, says: str) -> None:
    result = tool_calls(response="[f(a=1)]", ground_truth=truth)
    assert result.error_kind == "input"
    assert says in str(result.error)


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 90_000,
        "<tool_call>{" * 80_000,
        '<tool_call>["' * 70_000,
        "<function=f><parameter=a>" * 40_000,
        '<invoke name="f"><parameter name="a">' * 25_000,
        "[TOOL_CALLS][" * 70_000,
        '<tool_call>{"name":"f"}</tool_call>' * 25_000,
        "<!-- -->" * 50_000 + '<tool_call>{"name":"f"}</tool_call>' * 10_000,
        '{"name":1}' * 100_000,
        "[f(a=1)]\n" * 100_000,
        "```\nf(a=1)\n```\n" * 60_000,
        "<|python_tag|>" * 70_000,
    ],
)
def test_hostile_texts_are_read_in_time(text: str) -> None:
    start = time.perf_counter()
    assert tool_calls(response=text, ground_truth="[f(a=1)]").score == 0.0
    assert time.perf_counter() - start < 20  # a second where nothing else runs


def test_the_samples_of_eval_protocol(data_dir: Path) -> None:
    lines = (data_dir / "function_calling" / "function_calling.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 13
    for row in rows:
        result = tool_calls(
            messages=row["messages"], ground_truth=row["ground_truth"], tools=row["tools"], order="given"
        )
        assert result.score == row["evaluation_result"]["score"], row["input_metadata"]["row_id"]


def test_the_path_resolves_with_parameters() -> None:
    reward = guerdon.get_reward_function("tool_calls", scoring="fraction")
    assert reward(response="[f(a=1)]", ground_truth="[f(a=2)]").score == 0.5
