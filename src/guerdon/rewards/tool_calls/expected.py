"""Which calls were wanted, as data sets write them down, and the tools there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.json_text import read_json
from guerdon.rewards.common.parameters import shown
from guerdon.rewards.tool_calls.calls import ParsedCall, calls_of_json
from guerdon.rewards.tool_calls.python import python_calls
from guerdon.rewards.tool_calls.text import calls_in_text

_FORMS = (
    'give calls such as [{"name": "f", "arguments": {"a": 1}}], possible answers such as [{"f": {"a": [1, 2]}}], '
    "or [] where no call is expected"
)


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """An expected call."""

    name: str
    arguments: Mapping[str, Any] | str
    has_choices: bool = False
    """Whether each argument is a list of values that are accepted, as in BFCL; ``""`` in it: may be left out."""


def expected_calls_of(value: Any, what: str = "the ground truth") -> list[ExpectedCall]:
    """The calls of a ground truth. Raises InputError where it is none that can be read."""
    if isinstance(value, str):
        read = read_json(value)
        if read.problem:
            return [_exact(call, what) for call in _calls_of_text(value, what)]
        value = read.value
    if isinstance(value, Mapping) and "tool_calls" in value:
        value = value["tool_calls"] or []
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"{what} holds no calls but {shown(value)}; {_FORMS}")
    return [wanted for item in value for wanted in _wanted(item, what)]


def _calls_of_text(text: str, what: str) -> list[ParsedCall]:
    found = python_calls(text) or calls_in_text(text)
    if not found:
        raise InputError(f"{what} holds no calls: {shown(text)}; {_FORMS}")
    return found


def _exact(call: ParsedCall, what: str) -> ExpectedCall:
    if call.problem:
        raise InputError(f"{what} holds a call that cannot be read: {call.problem}")
    return ExpectedCall(call.name, call.arguments)


def _wanted(item: Any, what: str) -> list[ExpectedCall]:
    if isinstance(item, str):
        return [_exact(call, what) for call in _calls_of_text(item, what)]
    if not isinstance(item, Mapping):
        raise InputError(f"{what} holds no call but {shown(item)}; {_FORMS}")
    if _is_call(item):
        calls = calls_of_json(item, lenient=True)
        if calls is None:
            raise InputError(f"{what} holds a call without a name; {_FORMS}")
        return [_exact(call, what) for call in calls]
    # Tables of Arrow give every row the members of all rows, as nulls.
    named = {str(name): arguments for name, arguments in item.items() if arguments is not None}
    if not named:
        raise InputError(f"{what} holds an object that names no call; {_FORMS}")
    return [_choices(name, arguments, what) for name, arguments in named.items()]


def _is_call(item: Mapping[str, Any]) -> bool:
    inner = item.get("function")
    if isinstance(inner, str) or (isinstance(inner, Mapping) and isinstance(inner.get("name"), str)):
        return True
    # A function that is called "name" has an object there.
    return isinstance(item.get("name"), str)


def _choices(name: str, arguments: Any, what: str) -> ExpectedCall:
    if not isinstance(arguments, Mapping):
        raise InputError(f"{what}: the possible answers of {name} must be an object; {_FORMS}")
    arguments = {argument: values for argument, values in arguments.items() if values is not None}
    for argument, values in arguments.items():
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise InputError(
                f"{what}: the argument {argument} of {name} must be a list of the values that are accepted, "
                f"not {shown(values)}"
            )
    return ExpectedCall(name, arguments, has_choices=True)


def tool_schemas(*given: Any) -> dict[str, Mapping[str, Any]] | None:
    """The schema of each tool's parameters by the tool's name; None where no tools are given."""
    found: dict[str, Mapping[str, Any]] = {}
    for value in given:
        if isinstance(value, str):
            value = read_json(value).value
            if value is None:
                raise InputError("the tools are not JSON: give a list of tools with name and parameters")
        if isinstance(value, Mapping):
            value = [value]
        if value is not None and not isinstance(value, Iterable):
            raise InputError(
                f"the tools must be a list of tools with name and parameters, not {shown(value)}"
            )
        for tool in value or []:
            name, parameters = _tool(tool)
            found[name] = parameters
    return found if any(value is not None for value in given) else None


def _tool(tool: Any) -> tuple[str, Mapping[str, Any]]:
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
    if not isinstance(inner, Mapping) or not isinstance(name := inner.get("name"), str):
        raise InputError(
            f'a tool must be an object with a name, such as {{"name": "f", "parameters": {{…}}}}, not {shown(tool)}'
        )
    schema = inner.get("parameters", inner.get("input_schema"))
    return name, schema if isinstance(schema, Mapping) else {}
