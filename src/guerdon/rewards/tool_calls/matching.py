"""Calls that were made beside calls that were wanted: which belongs to which, and how much of it is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.common.parameters import shown
from guerdon.rewards.tool_calls.calls import ParsedCall
from guerdon.rewards.tool_calls.expected import ExpectedCall
from guerdon.rewards.tool_calls.values import is_accepted, is_same

Schemas = Mapping[str, Mapping[str, Any]]
MAX_COMPARED = 256
"""So many of the calls that were made are compared where fewer are wanted; the others are wrong in any case."""


@dataclass(frozen=True, slots=True)
class CallComparison:
    """A call that was made and the expected one. Its parts are the name and each argument."""

    right: int
    """How many parts are right."""
    made: int
    """How many parts the call has."""
    wanted: int
    """How many parts it should have; an argument that may be left out is none unless it is right."""
    problem: str
    """The first difference; empty where there is none."""


@dataclass(frozen=True, slots=True)
class CallsMatch:
    """All calls that were made beside all that were wanted."""

    is_exact: bool
    matched: int
    """How many of the wanted calls were made with everything right."""
    f1: float
    """The harmonic mean of precision and recall over the names and arguments of the calls."""
    problem: str


def judge(
    made: Sequence[ParsedCall],
    wanted: Sequence[ExpectedCall],
    schemas: Schemas,
    in_order: bool,
    language: str = "python",
) -> CallsMatch:
    """Find for each wanted call the one that was made, and what is right of it.

    ``language`` is the one in whose notation texts among the arguments stand, for possible answers.
    """
    table = [
        [compare(call, one, schemas, language) for call in made[: max(MAX_COMPARED, len(wanted))]]
        for one in wanted
    ]
    pairs = _pairs(table, in_order)
    matched = sum(not comparison.problem for comparison in pairs.values())
    right = sum(comparison.right for comparison in pairs.values())
    parts_made = sum(map(_parts, made))
    parts_wanted = sum(pairs[i].wanted if i in pairs else _parts_wanted(one) for i, one in enumerate(wanted))
    is_exact = matched == len(wanted) == len(made)
    f1 = 2 * right / (parts_made + parts_wanted) if made or wanted else 1.0
    return CallsMatch(is_exact, matched, f1, "" if is_exact else _problem(made, wanted, pairs))


def _problem(
    made: Sequence[ParsedCall], wanted: Sequence[ExpectedCall], pairs: Mapping[int, CallComparison]
) -> str:
    if not wanted:
        return f"no call was expected, {len(made)} made"
    if not made:
        return f"no call was made, {len(wanted)} expected"
    if broken := next((call.problem for call in made if call.problem), ""):
        return broken
    if len(made) != len(wanted):
        return f"calls made: {len(made)}, expected: {len(wanted)}"
    for i, one in enumerate(wanted):
        if i not in pairs:
            return f"{one.name} is not called"
        if pairs[i].problem:
            return f"{one.name}: {pairs[i].problem}"
    return "the calls are in another order"


# One call.


def compare(call: ParsedCall, wanted: ExpectedCall, schemas: Schemas, language: str) -> CallComparison:
    """One call compared with the expected one."""
    made = _parts(call)
    # In OpenAI's API names have no dots; models call "uber.ride" by "uber_ride" there.
    is_named = call.name == wanted.name or (call.is_native and call.name == wanted.name.replace(".", "_"))
    if call.problem or not is_named:
        return CallComparison(
            0, made, _parts_wanted(wanted), call.problem or f"called {shown(call.name)} instead"
        )
    if isinstance(call.arguments, str) or isinstance(wanted.arguments, str):
        same = call.arguments == wanted.arguments
        return CallComparison(
            1 + same, made, _parts_wanted(wanted), "" if same else "the arguments are not JSON"
        )
    schema = schemas.get(wanted.name, {})
    if wanted.has_choices:
        return _compare_choices(call.arguments, wanted.arguments, schema, language)
    return _compare_values(call.arguments, wanted.arguments, schema)


def _parts(call: ParsedCall) -> int:
    return 1 + (1 if isinstance(call.arguments, str) else len(call.arguments))


def _parts_wanted(wanted: ExpectedCall) -> int:
    if isinstance(wanted.arguments, str):
        return 2
    return 1 + sum(
        not (wanted.has_choices and may_be_left_out(values)) for values in wanted.arguments.values()
    )


def _compare_values(given: Mapping[str, Any], wanted: Mapping[str, Any], schema: Any) -> CallComparison:
    wrong = [
        name
        for name in wanted
        if name in given and not is_same(given[name], wanted[name], _property(schema, name))
    ]
    missing = [name for name in wanted if name not in given]
    right = 1 + len(wanted) - len(wrong) - len(missing)
    problem = _first(given, wanted, wrong, missing, lambda name: shown_value(wanted[name]))
    return CallComparison(right, 1 + len(given), 1 + len(wanted), problem)


def _compare_choices(
    given: Mapping[str, Any], wanted: Mapping[str, Any], schema: Any, language: str
) -> CallComparison:
    required = schema.get("required") or ()
    wrong = [
        name
        for name, choices in wanted.items()
        if name in given and not _is_accepted(given[name], choices, _property(schema, name), language)
    ]
    # Where no value is accepted, the schema cannot ask for one.
    optional = {
        name
        for name, choices in wanted.items()
        if may_be_left_out(choices) and not (choices and name in required)
    }
    missing = [name for name in wanted if name not in given and name not in optional]
    here = [name for name in wanted if name in given and name not in wrong]
    needed = sum(name in here or name not in optional for name in wanted)
    problem = _first(given, wanted, wrong, missing, lambda name: shown_value(wanted[name]))
    return CallComparison(1 + len(here), 1 + len(given), 1 + needed, problem)


def may_be_left_out(choices: Sequence[Any]) -> bool:
    """Whether the possible answers for an argument allow that it is left out."""
    return not choices or "" in choices


def _is_accepted(value: Any, choices: Sequence[Any], schema: Any, language: str) -> bool:
    """Whether a value is accepted; where no value is listed the argument should be empty or left out."""
    if not choices:
        return is_accepted(value, [[], {}, ""], schema, language)
    # The mark of an optional argument is a value only where texts are.
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    is_text = (
        kind in ("string", "any", "String") if kind else all(isinstance(choice, str) for choice in choices)
    )
    listed = choices if is_text else [choice for choice in choices if choice != ""]
    return is_accepted(value, listed, schema, language)


def _first(
    given: Mapping[str, Any],
    wanted: Mapping[str, Any],
    wrong: Sequence[str],
    missing: Sequence[str],
    text_of: Callable[[str], str],
) -> str:
    """The first difference in words."""
    if missing:
        return f"the argument {shown(missing[0])} is missing"
    if wrong:
        return (
            f"the argument {shown(wrong[0])} is {shown_value(given[wrong[0]])}, expected {text_of(wrong[0])}"
        )
    extra = next((name for name in given if name not in wanted), None)
    return f"the argument {shown(extra)} was not expected" if extra is not None else ""


def shown_value(value: Any) -> str:
    """A value for a message, short."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    text = value if isinstance(value, str) else repr(value)
    return shown(text) if isinstance(value, str) else text if len(text) <= 60 else text[:59] + "…"


def _property(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


# All calls.


def _pairs(table: list[list[CallComparison]], in_order: bool) -> dict[int, CallComparison]:
    """For each wanted call, by its number, the comparison with the call that is taken for it."""
    chosen = _in_order(table) if in_order else _in_any_order(table)
    return {i: table[i][j] for i, j in chosen.items()}


def _in_any_order(table: list[list[CallComparison]]) -> dict[int, int]:
    """As many as can be without a difference; of the others the most alike first."""
    chosen: dict[int, int] = {}
    takers: dict[int, int] = {}
    for i in range(len(table)):
        _take(table, i, chosen, takers)
    rest = sorted(
        (-comparison.right, i, j)
        for i, row in enumerate(table)
        if i not in chosen
        for j, comparison in enumerate(row)
        if comparison.right and j not in takers
    )
    for _, i, j in rest:
        if i not in chosen and j not in takers:
            chosen[i] = j
            takers[j] = i
    return chosen


def _take(
    table: list[list[CallComparison]], first: int, chosen: dict[int, int], takers: dict[int, int]
) -> None:
    """Give a wanted call one without a difference, where others can be moved to another such one for it."""
    came: dict[int, int] = {}
    queue = [first]
    for i in queue:
        for j, comparison in enumerate(table[i]):
            if comparison.problem or j in came:
                continue
            came[j] = i
            if j in takers:
                queue.append(takers[j])
                continue
            free: int | None = j
            while free is not None:
                mover = came[free]
                takers[free] = mover
                chosen[mover], free = free, chosen.get(mover)
            return


def _in_order(table: list[list[CallComparison]]) -> dict[int, int]:
    """Pairs whose order is that of both sides, with as much right as can be."""
    width = len(table[0]) if table else 0
    best = [[0] * (width + 1) for _ in range(len(table) + 1)]
    for i in range(len(table) - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], table[i][j].right + best[i + 1][j + 1])
    chosen: dict[int, int] = {}
    i = j = 0
    while i < len(table) and j < width:
        if table[i][j].right and best[i][j] == table[i][j].right + best[i + 1][j + 1]:
            chosen[i] = j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return chosen
