"""Makes variations of a database.

A variation has the tables of the original and other rows: values are exchanged, numbers moved, rows left out
and added. What the original's rows hold to, declared or not, its variations hold to as well (see
``structure``), so that two queries that mean the same still give the same.

It reads ``request.json`` and the database ``original`` from its working directory and writes the files ``0``,
``1`` and so on; it prints the names of those that it made.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from decimal import Decimal
from typing import Any

from .structure import Opaque, Place, TableData, breaks_a_key, cascade, keys_taken, study
from .tables import DatabaseTooLargeError, opened

_MEASURE = 8
"""Distinct numbers from which on a column is one of measures, which may take values that are not there yet."""
_MOST_ADDED = 200
_ATTEMPTS = 3
"""At one variation: what a CHECK says of rows cannot be seen from here, only that it refuses some."""
_LOSSES = (0.3, 0.15, 0.05)
"""Shares of rows that are left out, the next one tried where one costs a table more than half of its rows."""


def main() -> None:
    """Makes the variations that the request in the working directory asks for."""
    with open("request.json", encoding="utf-8") as file:
        request = json.load(file)
    store = opened(request["engine"])
    try:
        tables = store.read("original", request["max_cells"])
    except DatabaseTooLargeError as error:
        print(json.dumps({"too_large": str(error)}))
        return
    groups = study(tables)
    made = []
    refused = ""
    for i in range(request["count"]):
        for attempt in range(_ATTEMPTS):
            rng = random.Random(f"{request['seed']}/{i}/{attempt}")
            varied = vary(tables, groups, rng, gently=attempt == _ATTEMPTS - 1)
            shutil.copyfile("original", str(i))
            try:
                store.write(str(i), varied)
            except store.errors as error:
                os.unlink(str(i))
                refused = str(error)
            else:
                made.append(str(i))
                break
    print(json.dumps({"made": made, "refused": refused}))


def vary(
    tables: dict[str, TableData], groups: list[set[Place]], rng: random.Random, gently: bool = False
) -> dict[str, TableData]:
    """Other rows for the tables, the same for the same state of ``rng``; ``gently`` only leaves rows out."""
    varied = copy.deepcopy(tables)
    if gently:
        _leave_out(varied, rng)
        return varied
    for group in groups:
        _exchange(varied, group, rng)
    _leave_out(varied, rng)
    for name in sorted(varied):
        _add(varied, varied[name], rng)
        _empty_cells(varied[name], rng)
    return varied


def _exchange(tables: dict[str, TableData], group: set[Place], rng: random.Random) -> None:
    """Gives each value of the columns another one, the same one everywhere."""
    places = sorted(group)
    domain = {value for name, column in places for value in tables[name].values(column)}
    new = _renamed(sorted(domain, key=repr), len(group) > 1, rng)
    if new:
        for name, column in places:
            for row in tables[name].rows:
                row[column] = new.get(row[column], row[column])


def _renamed(domain: list[Any], is_shared: bool, rng: random.Random) -> dict[Any, Any]:
    kinds = {type(value) for value in domain}
    if len(domain) < 2 or kinds & {bytes, bool, Opaque}:
        return {}
    if kinds <= {int, float, Decimal} and not is_shared and len(domain) >= _MEASURE and rng.random() < 0.5:
        return _moved(domain, rng)
    if len(kinds) > 1 and not kinds <= {int, float}:
        return {}
    return dict(zip(domain, rng.sample(domain, len(domain)), strict=True))


def _moved(domain: list[Any], rng: random.Random) -> dict[Any, Any]:
    """Each number moved by up to a half of it, within the range of all, no two to the same place."""
    low, high = min(domain), max(domain)
    taken: set[Any] = set()
    moved = {}
    for value in rng.sample(domain, len(domain)):
        for _ in range(20):
            new = min(max(_scaled(value, rng.uniform(0.5, 1.5)), low), high)
            if new not in taken:
                break
        else:
            return {}
        taken.add(new)
        moved[value] = new
    return moved


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, int):
        return round(value * factor)
    if isinstance(value, Decimal):
        return (value * Decimal(factor)).quantize(value) if value.is_finite() else value
    return value * factor


def _leave_out(tables: dict[str, TableData], rng: random.Random) -> None:
    rows = {name: table.rows for name, table in tables.items()}
    for share in _LOSSES:
        for name in sorted(tables):
            tables[name].rows = [row for row in rows[name] if rng.random() >= share]
        cascade(tables)
        if all(len(tables[name].rows) * 2 >= len(rows[name]) for name in tables):
            return
    for name, table in tables.items():
        table.rows = rows[name]


def _add(tables: dict[str, TableData], table: TableData, rng: random.Random) -> None:
    """Adds rows that are like others but for one value, and for what must be new."""
    if table.mirrored or not table.rows:
        return
    taken = keys_taken(table)
    givers = list(table.rows)
    for _ in range(min(_MOST_ADDED, max(2, len(givers) // 8))):
        row = list(rng.choice(givers))
        if not table.has_twins or rng.random() < 0.5:
            _blend(table, row, rng.choice(givers), rng)
        if _freshen(tables, table, row, rng) and not breaks_a_key(table, row, taken):
            for key, counted in taken.items():
                counted[tuple(repr(row[c]) for c in key)] += 1
            table.rows.append(row)


def _blend(table: TableData, row: list[Any], giver: list[Any], rng: random.Random) -> None:
    """Takes a value of another row, and with it all that goes with it."""
    free = [c for c in table.decides if not any(c in followers for followers in table.decides.values())]
    tied = {c for columns, _, _ in table.links if len(columns) > 1 for c in columns}
    if choices := sorted(set(free) - tied):
        column = rng.choice(choices)
        for c in {column, *table.decides[column]}:
            row[c] = giver[c]


def _freshen(tables: dict[str, TableData], table: TableData, row: list[Any], rng: random.Random) -> bool:
    """Puts new values where none may come twice; False where there is none to put."""
    for column in sorted(table.unique):
        if row[column] is None:
            continue
        target = next(((t, p[0]) for cs, t, p in table.links if cs == (column,)), None)
        have = set(map(repr, table.values(column)))
        if target is not None:
            # In order, since a set of texts is not in the same order in every process.
            choices = [v for v in tables[target[0]].values(target[1]) if repr(v) not in have]
        else:
            choices = _new_values(row[column], table.values(column), have, rng)
        if not choices:
            return False
        row[column] = rng.choice(choices)
    return True


def _new_values(value: Any, values: list[Any], have: set[str], rng: random.Random) -> list[Any]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float | Decimal):
        numbers = [v for v in values if isinstance(v, type(value))]
        found = [_between(min(numbers), max(numbers), value, rng) for _ in range(5)]
        found += [max(numbers) + 1] if isinstance(value, int) else []
        return [v for v in found if repr(v) not in have]
    if isinstance(value, str) and value[-1:].isalpha():
        return [v for v in (f"{value} {word}" for word in ("two", "three", "four")) if repr(v) not in have]
    return []


def _between(low: Any, high: Any, like: Any, rng: random.Random) -> Any:
    if isinstance(like, int):
        return rng.randint(low, high)
    if isinstance(like, Decimal):
        share = Decimal(rng.random())
        return (low + (high - low) * share).quantize(like) if like.is_finite() else like
    return low + (high - low) * rng.random()


def _empty_cells(table: TableData, rng: random.Random) -> None:
    """More NULLs, in columns that have some and that neither decide others nor follow from them."""
    bound = set(table.required) | {c for key in table.keys for c in key}
    bound |= {c for column, others in table.decides.items() if others for c in (column, *others)}
    bound |= {c for columns, _, _ in table.links for c in columns} | set(table.mirrored or ())
    for column in range(len(table.columns)):
        if column not in bound and any(row[column] is None for row in table.rows):
            for row in table.rows:
                if rng.random() < 0.05:
                    row[column] = None
