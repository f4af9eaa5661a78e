"""What the rows of a database hold to, declared or not: keys, references, dependencies between columns.

Runs within the sandbox, beside ``variations``; a variation that broke these would tell right queries from
one another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_MOST_COLUMNS = 60
_LEAST_VALUES = 4
"""Distinct values from which on a column that lies within another one is taken for a reference to it."""

Place = tuple[str, int]
"""A table's name and a column's position."""
ForeignKey = tuple[tuple[int, ...], str, tuple[int, ...]]
"""Own columns, the table that they refer to, its columns."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is moved as it is, such as a list or a structure, and that is known by how it is written."""

    written: str
    value: Any = field(compare=False, repr=False)


@dataclass(slots=True)
class TableData:
    """A table with all of its rows."""

    name: str
    columns: list[str]
    rows: list[list[Any]]
    keys: list[tuple[int, ...]] = field(default_factory=list)
    """Columns that are unique together, as declared."""
    references: list[ForeignKey] = field(default_factory=list)
    """What it refers to, as declared."""
    apparent: list[ForeignKey] = field(default_factory=list)
    """What it seems to refer to."""
    required: set[int] = field(default_factory=set)
    """Columns that must not be NULL."""
    unique: set[int] = field(default_factory=set)
    """Columns in which no value comes twice, declared or apparent."""
    decides: dict[int, set[int]] = field(default_factory=dict)
    """Column to those whose value follows from it, in all rows."""
    mirrored: tuple[int, int] | None = None
    """Two columns of which each row has its mirror image, as in a table of neighbours."""
    has_twins: bool = False
    """Whether a whole row comes twice."""

    @property
    def links(self) -> list[ForeignKey]:
        """All that it refers to, declared or not."""
        return self.references + self.apparent

    def values(self, column: int) -> list[Any]:
        """The values of a column that are not NULL."""
        return [row[column] for row in self.rows if row[column] is not None]


def study(tables: dict[str, TableData]) -> list[set[Place]]:
    """Fills in what the rows of each table show, and returns the groups of columns that share their values."""
    for table in tables.values():
        _study_columns(table)
    for table in tables.values():
        known = {columns for columns, _, _ in table.references}
        for column in range(len(table.columns)):
            if (column,) not in known and (target := _apparent_target(tables, table, column)):
                table.apparent.append(((column,), target[0], (target[1],)))
    groups = _groups(tables)
    for table in tables.values():
        table.mirrored = _mirrored(table, groups)
    return groups


def _study_columns(table: TableData) -> None:
    table.has_twins = len({repr(row) for row in table.rows}) < len(table.rows)
    singles = {key[0] for key in table.keys if len(key) == 1}
    for column in range(len(table.columns)):
        values = table.values(column)
        apparent = len(values) == len(table.rows) >= 2 and len(set(map(repr, values))) == len(values)
        if column in singles or apparent:
            table.unique.add(column)
    repeated = [c for c in range(min(len(table.columns), _MOST_COLUMNS)) if c not in table.unique]
    for column in repeated:
        table.decides[column] = {
            other for other in repeated if other != column and _follows(table, column, other)
        }


def _follows(table: TableData, column: int, other: int) -> bool:
    seen: dict[Any, Any] = {}
    for row in table.rows:
        if row[column] is not None and seen.setdefault(row[column], row[other]) != row[other]:
            return False
    return True


def _apparent_target(tables: dict[str, TableData], table: TableData, column: int) -> Place | None:
    """The unique column that all values of a column lie in, as if the one referred to the other."""
    values = set(map(_comparable, table.values(column)))
    texts = all(isinstance(value, str) for value in values)
    if len(values) < _LEAST_VALUES or (column in table.unique and not texts):
        return None
    for other in tables.values():
        for place in other.unique:
            if (other.name, place) == (table.name, column) or not _named_alike(
                table.columns[column], other.name, other.columns[place], texts
            ):
                continue
            if other is table and column in table.unique:
                continue
            if values <= set(map(_comparable, other.values(place))):
                return other.name, place
    return None


def _comparable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bytes) else repr(value)


def _named_alike(column: str, table: str, target: str, texts: bool) -> bool:
    """Whether a column may refer to another by its name; numbers overlap by accident, so they need one."""
    if texts:
        return True
    mine, theirs, owner = column.lower(), target.lower(), table.lower().rstrip("s")
    return mine == theirs != "id" or mine in (
        f"{owner}_{theirs}",
        f"{owner}{theirs}",
        f"{owner}_id",
        f"{owner}id",
    )


def _groups(tables: dict[str, TableData]) -> list[set[Place]]:
    group: dict[Place, set[Place]] = {
        (table.name, column): {(table.name, column)}
        for table in tables.values()
        for column in range(len(table.columns))
    }
    for table in tables.values():
        for columns, target, places in table.links:
            for column, place in zip(columns, places, strict=True):
                mine, theirs = group[(table.name, column)], group[(target, place)]
                if mine is not theirs:
                    mine |= theirs
                    for member in theirs:
                        group[member] = mine
    unique = {id(members): members for members in group.values()}
    return sorted(unique.values(), key=min)


def _mirrored(table: TableData, groups: Iterable[set[Place]]) -> tuple[int, int] | None:
    for group in groups:
        own = sorted(column for name, column in group if name == table.name)
        for i, left in enumerate(own):
            for right in own[i + 1 :]:
                pairs = {(row[left], row[right]) for row in table.rows}
                if len(pairs) > 1 and {(b, a) for a, b in pairs} == pairs:
                    return left, right
    return None


def cascade(tables: dict[str, TableData]) -> None:
    """Removes rows that refer to what is not there, until none is left, and rows whose mirror image is gone."""
    changed = True
    while changed:
        changed = False
        for table in tables.values():
            before = len(table.rows)
            for columns, target, places in table.links:
                there = {tuple(row[p] for p in places) for row in tables[target].rows}
                table.rows = [
                    row
                    for row in table.rows
                    if any(row[c] is None for c in columns) or tuple(row[c] for c in columns) in there
                ]
            if table.mirrored:
                left, right = table.mirrored
                pairs = {(row[left], row[right]) for row in table.rows}
                table.rows = [row for row in table.rows if (row[right], row[left]) in pairs]
            changed = changed or len(table.rows) < before


def breaks_a_key(table: TableData, row: list[Any], taken: dict[tuple[int, ...], Counter[Any]]) -> bool:
    """Whether a new row repeats a key; ``taken`` are the values of each, as ``keys_taken`` gives them."""
    return any(taken[key][tuple(map(repr, (row[c] for c in key)))] for key in taken)


def keys_taken(table: TableData) -> dict[tuple[int, ...], Counter[Any]]:
    """The values that each key of a table has in its rows; the whole row is a key where none comes twice."""
    keys = {*table.keys, *((column,) for column in table.unique)}
    if not table.has_twins:
        keys.add(tuple(range(len(table.columns))))
    taken: dict[tuple[int, ...], Counter[Any]] = defaultdict(Counter)
    for key in keys:
        taken[key] = Counter(tuple(repr(row[c]) for c in key) for row in table.rows)
    return dict(taken)
