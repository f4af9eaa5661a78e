"""Calls of the Berkeley Function Calling Leaderboard: every accepted answer, and each with one thing wrong."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, LabelledCase, Suite
from guerdon.accuracy.suites._bfcl_spellings import SPELLINGS, Called, can_be_spelled, claimed

FOLDER = "function_calling"
SETS = ("live_simple", "live_parallel", "live_parallel_multiple")
MAX_ANSWERS = 12
"""So many answers at most are made of one row's possible ones; every value occurs in one of them."""
_LEFT_OUT = object()


def cases(data: Path) -> Iterator[LabelledCase]:
    """Each row's accepted answers in every spelling, its refused ones in two each."""
    spellings = itertools.cycle([spelling for spelling in SPELLINGS if spelling != "native"])
    for name in SETS:
        rows = _rows(data / FOLDER / f"BFCL_v4_{name}.json")
        truths = {
            row["id"]: row["ground_truth"]
            for row in _rows(data / FOLDER / "possible_answer" / f"BFCL_v4_{name}.json")
        }
        for row in rows:
            columns = {"ground_truth": truths[row["id"]], "function": row["function"]}
            answers = list(accepted(truths[row["id"]]))
            for a, calls in enumerate(answers):
                for spelling in SPELLINGS:
                    if can_be_spelled(spelling, calls):
                        message = SPELLINGS[spelling](calls)
                        yield _case(f"{row['id']}/{a}/{spelling}", row, message, columns, True, spelling)
            for m, (kind, calls) in enumerate(mutated(truths[row["id"]], answers[0])):
                for spelling in ("native", next(spellings)):
                    if can_be_spelled(spelling, calls) and (kind, spelling) not in _SAME:
                        message = SPELLINGS[spelling](calls)
                        yield _case(f"{row['id']}/not/{m}/{spelling}", row, message, columns, False, kind)
            for kind, message in claimed(answers[0]).items():
                yield _case(f"{row['id']}/{kind}", row, message, columns, False, f"only {kind}")


# An element holds the text of a value, not its type: there these changes are none.
_SAME = {("other type", "qwen, elements"), ("other type", "invoke")}


def _case(
    name: str, row: Any, message: Any, columns: Mapping[str, Any], right: bool, kind: str
) -> LabelledCase:
    return LabelledCase(name, {"messages": [*row["question"][0], message], **columns}, right, kind)


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


# What is accepted.


def accepted(truth: Sequence[Mapping[str, Any]]) -> Iterator[Called]:
    """Answers that hold every accepted value of every argument at least once."""
    each = [(name, list(_objects(arguments))) for call in truth for name, arguments in call.items()]
    longest = max(len(variants) for _, variants in each)
    combined = itertools.product(*(variants for _, variants in each))
    # One after another first, so that every value occurs, then other combinations.
    diagonal = ([variants[i % len(variants)] for _, variants in each] for i in range(longest))
    seen: list[list[dict[str, Any]]] = []
    for arguments in itertools.chain(diagonal, map(list, itertools.islice(combined, MAX_ANSWERS))):
        if arguments in seen or len(seen) >= max(longest, MAX_ANSWERS):
            continue
        seen.append(arguments)
        calls = [(name, values) for (name, _), values in zip(each, arguments, strict=True)]
        yield calls
        if len(seen) == 1 and len(calls) > 1:
            yield calls[::-1]


def _objects(arguments: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Objects that hold every accepted value of every member at least once."""
    members = {name: list(_values(choices)) for name, choices in arguments.items()}
    for i in range(max(map(len, members.values()), default=1)):
        chosen = {name: values[min(i, len(values) - 1)] for name, values in members.items()}
        yield {name: value for name, value in chosen.items() if value is not _LEFT_OUT}


def _values(choices: Sequence[Any]) -> Iterator[Any]:
    # A value before the mark that the argument may be left out: the first answer is the fullest.
    if not choices:
        yield from ([], _LEFT_OUT)
    for choice in sorted(choices, key=lambda choice: choice == ""):
        if choice == "":
            yield _LEFT_OUT
        elif isinstance(choice, dict) and all(isinstance(values, list) for values in choice.values()):
            yield from _objects(choice)
        elif isinstance(choice, list) and choice and all(isinstance(item, dict) for item in choice):
            yield [next(_objects(item)) for item in choice]
        else:
            yield choice


# What is refused.


def mutated(truth: Sequence[Mapping[str, Any]], answer: Called) -> Iterator[tuple[str, Called]]:
    """The answer with one thing wrong, and what."""
    for i, (name, arguments) in enumerate(answer):
        for kind, changed in _changes(truth[i][name], arguments):
            yield kind, _put(answer, i, (name, changed))
        yield "other function", _put(answer, i, (name + "_v2", arguments))
        yield "call missing", [call for j, call in enumerate(answer) if j != i]
        yield "call twice", [*answer, (name, arguments)]


def _put(answer: Called, i: int, call: tuple[str, Mapping[str, Any]]) -> Called:
    return [*answer[:i], call, *answer[i + 1 :]]


def _changes(
    choices: Mapping[str, Sequence[Any]], arguments: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "extra argument", {**arguments, "not_wanted": 1}
    for name, value in arguments.items():
        if choices[name] and "" not in choices[name]:
            yield "argument missing", {key: item for key, item in arguments.items() if key != name}
        yield "other argument", {key + "_2" if key == name else key: item for key, item in arguments.items()}
        for kind, other in (*_other_values(value), ("other type", _other_type(value))):
            if not _is_accepted(other, choices[name]):
                yield kind, {**arguments, name: other}


def _other_values(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "other value", not value
    elif isinstance(value, int | float):
        yield "other value", value + 1
        yield "other sign", -value if value else 1
    elif isinstance(value, str):
        yield "other value", value + "x"
        yield "value cut", value[: len(value) // 2]
    elif isinstance(value, list):
        yield "item more", [*value, value[0] if value else "x"]
        yield "item less", value[:-1] if value else ["x"]
        yield "other item", [*value[:-1], "none of them"]
    elif isinstance(value, dict):
        yield "member more", {**value, "not_wanted": 1}
        for name, item in value.items():
            for kind, other in _other_values(item):
                yield f"member, {kind}", {**value, name: other}


def _other_type(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return str(value)
    return [value] if isinstance(value, str) else json.dumps(value)


def _is_accepted(value: Any, choices: Sequence[Any]) -> bool:
    """Whether a changed value is accepted after all, as BFCL compares texts."""
    plain = _plain(value)
    return any(type(value) is type(choice) and plain == _plain(choice) for choice in choices)


def _plain(value: Any) -> Any:
    return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"') if isinstance(value, str) else value


SUITE = Suite(
    name="bfcl",
    title="Function calls of BFCL v4 (live): accepted answers in every spelling, and each with one thing wrong",
    files=tuple(
        f"{FOLDER}/{folder}BFCL_v4_{name}.json" for folder in ("", "possible_answer/") for name in SETS
    ),
    cases=cases,
    catalogue=(CatalogueVerifier("tool_calls", "tool_calls"),),
    aim="every accepted answer accepted, every other refused",
)
