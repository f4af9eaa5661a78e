"""``sql`` on GeoQuery: gold queries against themselves, against one another, and against broken copies."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.common import sandboxes
from guerdon.rewards.sql.databases import database_in
from guerdon.rewards.sql.results import QueryResult, ResultComparison
from guerdon.rewards.sql.reward import sql
from guerdon.rewards.sql.runs import QueryLimits, ReferenceResults, answers, preloads, reference_of
from guerdon.rewards.sql.text import ordering, without_semicolon

VARIATIONS = 4
EMPTY = 6
"""Of the 419 queries, those that give no row on the database and on its variations, at most."""


@pytest.fixture(scope="module")
def folder(data_dir: Path) -> Path:
    return data_dir / "geoquery"


@pytest.fixture(scope="module")
def queries(data_dir: Path) -> list[str]:
    lines = (data_dir / "sql_geoquery_dev.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted({without_semicolon(json.loads(line)["sql"]) for line in lines})


@pytest.fixture(scope="module")
def golds(folder: Path, queries: list[str]) -> dict[str, ReferenceResults]:
    database = database_in(folder, "geography.sqlite")
    sandbox = sandboxes.shared(preload=preloads(database))
    return {
        query: reference_of(sandbox, database, query, VARIATIONS, 0, QueryLimits(seconds=20))
        for query in queries
    }


class Asked:
    """What queries give on databases, asked outside of the sandbox: the gold queries are trusted."""

    def __init__(self) -> None:
        self._connections: dict[bytes, sqlite3.Connection] = {}
        self._results: dict[tuple[bytes, str], QueryResult] = {}

    def result(self, database: bytes, query: str) -> QueryResult:
        key = (database, query)
        if key not in self._results:
            if database not in self._connections:
                self._connections[database] = sqlite3.connect(":memory:")
                self._connections[database].deserialize(database)
            try:
                cursor = self._connections[database].execute(query)
                rows = tuple(cursor)
            except sqlite3.Error as error:
                self._results[key] = QueryResult(kind="error", error=str(error))
            else:
                self._results[key] = QueryResult(tuple(column[0] for column in cursor.description), rows)
        return self._results[key]

    def right(self, query: str, gold_query: str, gold: ReferenceResults, variations: int) -> bool:
        pairs = list(zip(gold.databases, gold.results, strict=True))[: variations + 1]
        ordered = ordering(gold_query) is not None
        return all(
            (found := self.result(database, query)).ran and ResultComparison().same(found, wanted, ordered)
            for database, wanted in pairs
        )


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked()


def told(golds: dict[str, ReferenceResults]) -> dict[str, ReferenceResults]:
    """The gold queries that give rows anywhere."""
    return {query: gold for query, gold in golds.items() if any(result.rows for result in gold.results)}


@pytest.mark.slow(seconds=15)
def test_every_gold_query_is_right(folder: Path, golds: dict[str, ReferenceResults]) -> None:
    assert len(golds) == 419
    assert len(golds) - len(told(golds)) <= EMPTY
    for query in told(golds):
        result = sql(f"```sql\n{query};\n```", query, "geography.sqlite", folder=folder, seconds=20)
        assert (result.score, result.error) == (1, None), (query, result.reason)


def test_the_variations_tell_queries_apart(golds: dict[str, ReferenceResults]) -> None:
    """For nearly every query each variation gives other rows than the original."""
    differ = [all(r.rows != gold.results[0].rows for r in gold.results[1:]) for gold in told(golds).values()]
    assert sum(differ) / len(differ) > 0.95


@pytest.mark.slow(seconds=3)
def test_the_query_of_another_question(golds: dict[str, ReferenceResults], asked: Asked) -> None:
    some = dict(list(told(golds).items())[::4])
    pairs = [(mine, query) for query in some for mine in golds if mine != query]
    passed = {
        n: sum(asked.right(mine, q, golds[q], n) for mine, q in pairs) / len(pairs) for n in (0, VARIATIONS)
    }
    assert 0.002 < passed[0] < 0.01
    # What is left are queries that mean the same, or nearly so.
    assert passed[VARIATIONS] < 0.0003


def literal(cell: Any) -> str:
    return (
        "NULL"
        if cell is None
        else "'" + cell.replace("'", "''") + "'"
        if isinstance(cell, str)
        else repr(cell)
    )


def broken(query: str, rows: tuple[tuple[Any, ...], ...]) -> Iterator[tuple[str, str]]:
    """Copies of a query, each broken at one place, and its result as a constant."""
    if 0 < len(rows) <= 20:
        yield "constant", " UNION ALL ".join("SELECT " + ", ".join(map(literal, row)) for row in rows)
    if named := re.search(r'"[a-z ]+"', query):
        other = '"ohio"' if named[0] != '"ohio"' else '"utah"'
        yield "value", query.replace(named[0], other)
    if found := re.search(r"[<>] (?=\d)", query):
        yield (
            "comparison",
            query[: found.start()] + ("< " if found[0] == "> " else "> ") + query[found.end() :],
        )
    for old, new in (("MAX(", "MIN("), ("MIN(", "MAX("), ("SUM(", "AVG("), ("AVG(", "MAX(")):
        if old in query:
            yield "aggregate", query.replace(old, new, 1)
            break
    if "DISTINCT" in query:
        yield "distinct", query.replace("DISTINCT", "", 1)
    if found := re.search(r"LIMIT 1\b", query):
        yield "limit", query[: found.start()] + "LIMIT 2" + query[found.end() :]
    if " DESC " in query:
        yield "direction", query.replace(" DESC ", " ASC ", 1)
    if query.count("ORDER BY") == 1:
        yield "order", re.sub(r"ORDER BY .*?(?=LIMIT|$)", "", query)


# The share of broken queries that are paid, at most; some are right all the same, such as DISTINCT on a key.
PAID = {
    "constant": 0.01,
    "value": 0.01,
    "comparison": 0.05,
    "aggregate": 0.05,
    "distinct": 0.2,
    "limit": 0.15,
    "direction": 0.15,
    "order": 0.15,
}


def test_broken_queries(golds: dict[str, ReferenceResults], asked: Asked) -> None:
    paid: dict[str, list[bool]] = {kind: [] for kind in PAID}
    alone: list[bool] = []
    for query, gold in told(golds).items():
        for kind, copy in broken(query, gold.results[0].rows):
            paid[kind].append(asked.right(copy, query, gold, VARIATIONS))
            alone.append(asked.right(copy, query, gold, 0))
    shares = {kind: sum(found) / len(found) for kind, found in paid.items()}
    assert {kind: share for kind, share in shares.items() if share > PAID[kind]} == {}
    assert sum(map(len, paid.values())) > 900
    # On the original alone more than a third of all are paid.
    assert sum(alone) / len(alone) > 0.35


def test_the_constants_are_not_paid_in_the_sandbox_either(
    folder: Path, golds: dict[str, ReferenceResults]
) -> None:
    database = database_in(folder, "geography.sqlite")
    sandbox = sandboxes.shared(preload=preloads(database))
    for query, gold in list(told(golds).items())[::40]:
        for kind, copy in broken(query, gold.results[0].rows):
            if kind == "constant":
                found = answers(sandbox, "sqlite", gold.databases, copy, QueryLimits()).results
                same = [ResultComparison().same(a, b) for a, b in zip(found, gold.results, strict=True)]
                assert same[0], query
                assert not all(same), query


@pytest.mark.parametrize(
    "query", ["DROP TABLE state", "PRAGMA user_version = 7", "DELETE FROM city", "VACUUM"]
)
def test_the_database_stays_as_it_was(folder: Path, query: str) -> None:
    before = (folder / "geography.sqlite").read_bytes()
    result = sql(query, "SELECT state_name FROM state", "geography.sqlite", folder=folder, scale="three-way")
    assert (result.score, result.error) == (-1, None)
    assert (folder / "geography.sqlite").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["geography.sqlite"]
