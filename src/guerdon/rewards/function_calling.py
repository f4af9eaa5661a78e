"""Rewards for calls of functions under the names that Reward Kit has for them.

They stand on what the reward ``tool_calls`` reads and compares; that one does more and is the one to use in
new work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.json_text import read_json
from guerdon.rewards.common.parameters import one_of, response_text, shown
from guerdon.rewards.tool_calls.calls import arguments_of
from guerdon.rewards.tool_calls.expected import expected_calls_of
from guerdon.rewards.tool_calls.matching import judge
from guerdon.rewards.tool_calls.message import calls_of_message
from guerdon.rewards.tool_calls.text import calls_in_text
from guerdon.types import EvaluateResult, Message, MetricResult

STRICTNESSES = ("exact", "partial", "flexible", "permissive")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return value.is_integer() if isinstance(value, float) else _is_number(value)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}


def parse_potential_function_call(text: str) -> tuple[bool, dict[str, Any]]:
    """Whether a response calls one function, and which: its name and its arguments.

    Reads the forms that the reward ``tool_calls`` reads. A call that cannot be carried out is none, and
    neither are several, since only one could be reported.

    >>> parse_potential_function_call('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>')
    (True, {'name': 'add', 'arguments': {'a': 1}})
    >>> parse_potential_function_call("I would call add.")
    (False, {})
    """
    calls = calls_in_text(response_text(text))
    if len(calls) != 1 or calls[0].problem or isinstance(calls[0].arguments, str):
        return False, {}
    return True, {"name": calls[0].name, "arguments": dict(calls[0].arguments)}


@reward_function(scale=(0, 1))
def match_function_call(
    messages: Sequence[Message],
    original_messages: Sequence[Message] | None = None,
    function_name: str | None = None,
    parsed_arguments: Mapping[str, Any] | str | None = None,
    expected_call_schema: Mapping[str, Any] | str | None = None,
    argument_match_strictness: str = "exact",
) -> EvaluateResult:
    """Scores how well a call fits an expected name and the types of its arguments, half for each.

    ``expected_call_schema`` is such as ``{"name": "f", "arguments": {"city": {"type": "string"}}}``, or its
    JSON text. The call is the one of ``function_name`` and ``parsed_arguments`` where a name is given, else
    the only call of the last message, in any form that ``tool_calls`` reads.

    The arguments earn their half with ``"exact"`` where all that are expected are there with the right type
    and none else; with ``"partial"`` where there are any and each is expected and of the right type;
    with ``"flexible"`` where all that are expected are there with the right type, whatever else there is.
    ``"permissive"`` is another word for that. Types are those of JSON Schema; values are not compared, which
    ``tool_calls`` does.

    Scale: 0 to 1, in steps of a half.

    The metrics ``function_name_match`` and ``arguments_match`` are the halves, each as 0 or 1.

    Source: ``match_function_call`` of reward-kit 0.4.1. There ``true`` is a number and any value an integer.

    Raises InputError for an ``expected_call_schema`` without a name.

    >>> wanted = {"name": "get_weather", "arguments": {"city": {"type": "string"}}}
    >>> match_function_call(response='[get_weather(city="Paris")]', expected_call_schema=wanted).score
    1.0
    >>> match_function_call(response="[get_weather(city=75001)]", expected_call_schema=wanted).score
    0.5
    """
    strictness = one_of(argument_match_strictness, STRICTNESSES, "argument_match_strictness")
    name, types = _expected(expected_call_schema)
    called, arguments = _called(messages, function_name, parsed_arguments)
    is_named = called == name
    problems = _problems(arguments, types)
    fits = _fits(arguments, problems, strictness)
    of_name = "matches" if is_named else f"expected {shown(name)}, got {shown(called)}"
    of_arguments = "; ".join(f"{shown(key)} {text}" for key, text in problems.items()) or "all as expected"
    score = (is_named + fits) / 2
    metrics = {
        "function_name_match": MetricResult(float(is_named), success=is_named, reason=of_name),
        "arguments_match": MetricResult(float(fits), success=fits, reason=of_arguments),
    }
    return EvaluateResult(score, reason=f"name: {of_name}; arguments: {of_arguments}", metrics=metrics)


@reward_function(scale=(0, 1))
def exact_tool_match_reward(messages: Sequence[Message], ground_truth: Any = None) -> EvaluateResult:
    """Scores 1 where the last message makes exactly the calls of the ground truth, in its order, else 0.

    What ``tool_calls`` does with ``order="given"``; without a ground truth no call is expected.

    Scale: 0 or 1.

    Source: ``exact_tool_match_reward`` of reward-kit and eval-protocol, which read ``<tool_call>`` only.

    Raises InputError for a ground truth that cannot be read.

    >>> exact_tool_match_reward(response="Nothing to call.", ground_truth={"tool_calls": []}).score
    1.0
    """
    wanted = expected_calls_of([] if ground_truth is None else ground_truth)
    verdict = judge(calls_of_message(messages[-1]) if messages else [], wanted, {}, in_order=True)
    return EvaluateResult(float(verdict.is_exact), reason=verdict.problem or "as expected")


def _expected(schema: Any) -> tuple[str, dict[str, str]]:
    """The name and the type of each argument; an empty type for any."""
    if isinstance(schema, str):
        schema = read_json(schema).value
    arguments = schema.get("arguments", {}) if isinstance(schema, Mapping) else None
    if not isinstance(arguments, Mapping) or not isinstance(name := schema.get("name"), str):
        raise InputError(
            'expected_call_schema must be such as {"name": "f", "arguments": {"city": {"type": "string"}}}, '
            f"not {shown(schema)}"
        )
    for argument, rule in arguments.items():
        if not isinstance(rule, Mapping):
            raise InputError(
                f'the argument {shown(argument)} must have a schema such as {{"type": "string"}}, not {shown(rule)}'
            )
    return name, {str(key): str(rule.get("type") or "") for key, rule in arguments.items()}


def _called(messages: Sequence[Message], name: Any, arguments: Any) -> tuple[Any, Mapping[str, Any]]:
    if name is None and arguments is None:
        calls = calls_of_message(messages[-1]) if messages else []
        if len(calls) != 1 or calls[0].problem:
            return None, {}
        name, arguments = calls[0].name, calls[0].arguments
    arguments = arguments_of(arguments)
    return name, {} if isinstance(arguments, str) else arguments


def _problems(arguments: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, kind in types.items():
        if name not in arguments:
            found[name] = "is missing"
        elif kind in _TYPES and not _TYPES[kind](arguments[name]):
            found[name] = f"should be of type {kind}"
    return found | {name: "was not expected" for name in arguments if name not in types}


def _fits(arguments: Mapping[str, Any], problems: Mapping[str, str], strictness: str) -> bool:
    if strictness == "exact":
        return not problems
    if strictness == "partial":
        return bool(arguments) and not problems.keys() & arguments.keys()
    return all(problem == "was not expected" for problem in problems.values())
