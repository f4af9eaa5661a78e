"""Results of queries, and whether two of them are the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown

_PAIRED = 2_000
"""Rows that differ only in numbers, up to which each is looked for among all others."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query gave on one database: columns and rows, or an error."""

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    kind: str = ""
    """The kind of error; empty where the query ran."""
    error: str = ""
    cpu_s: float = 0.0

    @property
    def ran(self) -> bool:
        """Whether there are rows to compare, be it none."""
        return not self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultComparison:
    """How two results are compared."""

    by_name: bool = False
    relative: float = 1e-6
    absolute: float = 1e-9

    def same(self, found: QueryResult, wanted: QueryResult, order: Sequence[int] | bool = False) -> bool:
        """Whether two results are the same.

        ``order`` False compares multisets of rows, True rows in their order; positions of columns are what
        the wanted rows are ordered by: rows that are equal there may come in any order.
        """
        if not wanted.rows and not wanted.columns:  # expected rows that were given as an empty list
            return not found.rows
        rows = self._aligned(found, wanted)
        if rows is None or len(rows) != len(wanted.rows):
            return False
        if order is False:
            return self._same_bag(rows, wanted.rows)
        if order is True:
            return all(self._same_row(a, b) for a, b in zip(rows, wanted.rows, strict=True))
        return self._same_in_groups(rows, wanted.rows, order)

    def _aligned(self, found: QueryResult, wanted: QueryResult) -> Sequence[Row] | None:
        """The found rows with their columns as the wanted ones have them; None where that cannot be."""
        if len(found.columns) != len(wanted.columns):
            return None
        if not self.by_name:
            return found.rows
        names = [name.casefold() for name in found.columns]
        goal = [name.casefold() for name in wanted.columns]
        if len(set(goal)) < len(goal):
            raise InputError("the gold result has several columns of one name; compare by position")
        if sorted(names) != sorted(goal):
            return None
        places = [names.index(name) for name in goal]
        return [tuple(row[place] for place in places) for row in found.rows]

    def _same_in_groups(self, found: Sequence[Row], wanted: Sequence[Row], keys: Sequence[int]) -> bool:
        start = 0
        for end in range(1, len(wanted) + 1):
            if end < len(wanted) and all(self._same_cell(wanted[end][k], wanted[start][k]) for k in keys):
                continue
            if not self._same_bag(found[start:end], wanted[start:end]):
                return False
            start = end
        return True

    def _same_bag(self, found: Sequence[Row], wanted: Sequence[Row]) -> bool:
        mine, theirs = _by_words(found), _by_words(wanted)
        if mine.keys() != theirs.keys():
            return False
        return all(self._same_numbers(mine[key], theirs[key]) for key in mine)

    def _same_numbers(self, found: list[Row], wanted: list[Row]) -> bool:
        """Whether rows that are equal in all but their numbers pair up."""
        if len(found) != len(wanted):
            return False
        found.sort()
        wanted.sort()
        if all(self._same_row(a, b) for a, b in zip(found, wanted, strict=True)):
            return True
        if len(found) > _PAIRED:
            return False
        # Where a tolerance decides, sorting may have put equal rows at different places.
        left = list(wanted)
        for row in found:
            place = next((i for i, other in enumerate(left) if self._same_row(row, other)), None)
            if place is None:
                return False
            del left[place]
        return True

    def _same_row(self, mine: Row, theirs: Row) -> bool:
        return len(mine) == len(theirs) and all(map(self._same_cell, mine, theirs))

    def _same_cell(self, mine: Any, theirs: Any) -> bool:
        if not (is_number(mine) and is_number(theirs)):
            return type(mine) is type(theirs) and bool(mine == theirs or (mine != mine and theirs != theirs))
        if mine == theirs:
            return True
        exact = (int, Decimal)
        if isinstance(mine, exact) and isinstance(theirs, exact):
            return False
        try:
            return math.isclose(mine, theirs, rel_tol=self.relative, abs_tol=self.absolute)
        except OverflowError:  # a whole number that no float can hold
            return False


def is_number(value: Any) -> bool:
    """Whether a cell holds a number that can be compared with others; NaN is none."""
    return isinstance(value, int | float | Decimal) and value == value


def _by_words(rows: Sequence[Row]) -> dict[Hashable, list[Row]]:
    """The numbers of rows, by all that is not a number in them."""
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        words = tuple(None if is_number(cell) else (type(cell).__name__, _hashable(cell)) for cell in row)
        groups[words].append(tuple(cell for cell in row if is_number(cell)))
    return groups


def _hashable(cell: Any) -> Hashable:
    return "nan" if isinstance(cell, float) else cell


def from_answer(answer: Any) -> QueryResult:
    """The result in a line that the program in the sandbox printed. Raises ValueError where it is none."""
    if not isinstance(answer, Mapping):
        raise ValueError("no object")
    cpu_s = float(answer.get("cpu_s", 0.0))
    if "kind" in answer:
        return QueryResult(kind=str(answer["kind"]), error=str(answer.get("error", "")), cpu_s=cpu_s)
    rows = tuple(tuple(_cell(value) for value in row) for row in answer["rows"])
    return QueryResult(tuple(map(str, answer["columns"])), rows, cpu_s=cpu_s)


def _cell(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, body),) = value.items()
    try:
        if kind == "float":
            return float(body)
        if kind == "decimal":
            return Decimal(body)
        if kind == "blob":
            return bytes.fromhex(body)
    except (TypeError, ValueError, InvalidOperation):
        raise ValueError(f"no {kind}") from None
    # Dates, times, lists and the like are equal where they are written alike.
    return (kind, repr(body))


def from_rows(rows: Any) -> QueryResult:
    """The result that a row of the data gives as expected: objects, lists, or plain values of one column.

    Raises InputError for anything else, and for objects whose keys differ.
    """
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise InputError(f"the expected rows must be a list, not {shown(rows)}")
    if not rows:
        return QueryResult()
    first = rows[0]
    if isinstance(first, Mapping):
        names = tuple(map(str, first))
        if any(not isinstance(row, Mapping) or set(row) != set(first) for row in rows):
            raise InputError("the expected rows must all be objects with the same keys")
        return QueryResult(names, tuple(tuple(_given(row[name]) for name in first) for row in rows))
    lists = [row if isinstance(row, list | tuple) else [row] for row in rows]
    if len({len(row) for row in lists}) > 1:
        raise InputError("the expected rows must all have as many values")
    return QueryResult(("",) * len(lists[0]), tuple(tuple(map(_given, row)) for row in lists))


def _given(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes | int | float | Decimal):
        return value
    if isinstance(value, list | tuple | dict):
        from guerdon.rewards.sql.inside.query import plain

        return _cell(plain(value))
    return (type(value).__name__, repr(str(value)))
