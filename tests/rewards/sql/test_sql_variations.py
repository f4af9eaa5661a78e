"""Variations of a database: other rows, which hold to what the rows of the original hold to."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.rewards.common import sandboxes
from guerdon.rewards.sql.databases import Database, SizedCache, database_in
from guerdon.rewards.sql.inside.structure import TableData, study
from guerdon.rewards.sql.inside.variations import vary
from guerdon.rewards.sql.runs import preloads, variations

SCHEMA = """
create table maker (name text primary key, founded integer check (founded > 1800));
create table "a model" (
    id integer primary key, maker text not null references maker, label text unique, price real, doors integer,
    note text, twice integer generated always as (doors * 2), unique (maker, label)
);
create table sale (model integer references "a model" (id), year integer, count integer, region text, zone text);
create table neighbours (one text, other text);
create table staff (id integer primary key, boss integer references staff (id), name text);
create table log (line text);
create index by_year on sale (year);
create view sold as select sum(count) as total from sale;
create trigger no_deletes before delete on sale begin select raise(abort, 'never'); end;
create virtual table words using fts5 (word);
"""
MAKERS = ["Ada", "Bex", "Cox", "Dot", "Eve", "Fox"]
REGIONS = {"n1": "north", "n2": "north", "s1": "south", "s2": "south", "e1": "east"}


def make(file: Path) -> None:
    rng = random.Random(7)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "insert into maker values (?, ?)", [(m, 1900 + i) for i, m in enumerate(MAKERS)]
        )
        models = [
            (i, MAKERS[i % 6], f"M{i}", 100.5 * i, i % 3 + 2, None if i % 4 else "rare") for i in range(1, 31)
        ]
        connection.executemany(
            'insert into "a model" (id, maker, label, price, doors, note) values (?, ?, ?, ?, ?, ?)', models
        )
        zones = sorted(REGIONS)
        for i in range(120):
            zone = zones[i % 5]
            sale = (rng.randint(1, 30), 2000 + i % 9, rng.randint(1, 90), REGIONS[zone], zone)
            connection.execute("insert into sale values (?, ?, ?, ?, ?)", sale)
        for one, other in [("Ada", "Bex"), ("Bex", "Cox"), ("Cox", "Dot"), ("Dot", "Eve"), ("Ada", "Eve")]:
            connection.executemany("insert into neighbours values (?, ?)", [(one, other), (other, one)])
        staff = [(i, i // 3 or None, f"person {chr(96 + i)}") for i in range(1, 20)]
        connection.executemany("insert into staff values (?, ?, ?)", staff)
        connection.executemany("insert into log values (?)", [("a",), ("a",), ("b",), ("c",)])
        connection.execute("insert into words values ('motor')")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Database:
    folder = tmp_path_factory.mktemp("cars")
    make(folder / "cars.sqlite")
    return database_in(folder, "cars.sqlite")


@pytest.fixture(scope="module")
def varied(original: Database) -> list[sqlite3.Connection]:
    sandbox = sandboxes.shared(preload=preloads(original))
    made = variations(sandbox, original, 12, 0)
    assert len(made) == 12
    return [opened(content) for content in made]


def opened(content: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.deserialize(content)
    return connection


def test_variations_differ_from_the_original_and_from_one_another(
    original: Database, varied: list[sqlite3.Connection]
) -> None:
    for table in ("maker", '"a model"', "sale", "neighbours", "staff"):
        rows = [tuple(c.execute(f"select * from {table}")) for c in (opened(original.content), *varied)]
        assert len(set(rows)) > 10, table
        assert all(len(rows[0]) / 2 <= len(some) <= len(rows[0]) * 1.2 + 2 for some in rows), table


@pytest.mark.parametrize(
    "broken",
    [
        "pragma foreign_key_check",
        "select * from sale group by zone having count(distinct region) > 1",
        "select name from maker group by name having count(*) > 1",
        'select label from "a model" group by label having count(*) > 1',
        'select price from "a model" group by price having count(*) > 1',
        "select * from neighbours n where not exists (select 1 from neighbours where one = n.other and other = n.one)",
        "select * from neighbours where one not in (select name from maker)",
        "select name from maker where founded is null",
        "select price from \"a model\" where price is null or typeof(price) <> 'real'",
        "select year from sale where typeof(year) <> 'integer'",
        'select * from "a model" where twice <> doors * 2',
        "select * from sale group by model, year, count, region, zone having count(*) > 1",
    ],
)
def test_what_holds_in_the_original_holds_in_variations(
    original: Database, varied: list[sqlite3.Connection], broken: str
) -> None:
    for connection in (opened(original.content), *varied):
        assert connection.execute(broken).fetchall() == []


def test_what_is_not_rows_stays(original: Database, varied: list[sqlite3.Connection]) -> None:
    for connection in varied:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("select total from sold").fetchone()[0] > 0
        assert connection.execute("select word from words where words match 'motor'").fetchall() == [
            ("motor",)
        ]
        assert {row[1] for row in connection.execute("pragma index_list(sale)")} == {"by_year"}


def test_columns_with_null_have_others_of_them(original: Database, varied: list[sqlite3.Connection]) -> None:
    counted = {c.execute('select count(*) from "a model" where note is null').fetchone()[0] for c in varied}
    assert len(counted) > 3
    assert 0 not in counted


def test_twins_come_only_where_there_are_some(varied: list[sqlite3.Connection]) -> None:
    counted = {tuple(c.execute("select line, count(*) from log group by line")) for c in varied}
    assert any(count > 1 for lines in counted for _, count in lines)


def test_the_same_seed_makes_the_same_variations(original: Database) -> None:
    sandbox = sandboxes.shared(preload=preloads(original))
    # Another count is not answered from what is kept.
    first = variations(sandbox, original, 2, 5)
    assert variations(sandbox, original, 3, 5)[:2] == first
    assert variations(sandbox, original, 2, 6) != first


def test_a_table_is_studied() -> None:
    rows = [["x", 1, "a", None], ["x", 1, "b", 2], ["y", 2, "c", 3], ["z", 1, "d", 3]]
    table = TableData("t", ["kind", "code", "name", "size"], rows)
    groups = study({"t": table})
    assert table.unique == {2}
    assert table.decides == {0: {1}, 1: set(), 3: set()}
    assert (table.has_twins, table.mirrored, table.apparent) == (False, None, [])
    assert len(groups) == 4


def test_the_original_is_not_changed_by_varying() -> None:
    rows = [[i, f"name {i}", i % 3] for i in range(40)]
    tables = {"t": TableData("t", ["id", "name", "kind"], [list(row) for row in rows], keys=[(0,)])}
    groups = study(tables)
    one = vary(tables, groups, random.Random("1"))
    assert tables["t"].rows == rows
    assert one["t"].rows != rows
    assert one["t"].rows == vary(tables, groups, random.Random("1"))["t"].rows


def made_of(statements: str) -> Callable[[Path], None]:
    def build(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.executescript(statements)

    return build


@pytest.mark.parametrize(
    "statements",
    [
        "create table empty (a)",
        "create table one (a); insert into one values (1)",
        "create table blobs (a blob); insert into blobs values (x'00'), (x'01'), (null)",
        "create table mixed (a); insert into mixed values (1), ('x'), (2.5), (null), (x'aa')",
        "create table w (a text primary key, b) without rowid; insert into w values ('x', 1), ('y', 2)",
        "create table loop (a integer primary key, b references loop (a)); insert into loop values (1, 2), (2, 1)",
        "create table wide ("
        + ", ".join(f"c{i}" for i in range(300))
        + "); insert into wide (c1) values (1), (2)",
        'create table "o""dd" ("c ""x" text); insert into "o""dd" values (\'a\'), (\'b\')',
        "create table huge (a); insert into huge values (9223372036854775807), (-9223372036854775808), (1e308)",
        "create table lost (a references gone (b)); insert into lost values (1), (2)",
    ],
)
def test_odd_databases_are_varied(tmp_path: Path, statements: str) -> None:
    made_of(statements)(tmp_path / "odd.sqlite")
    database = database_in(tmp_path, "odd")
    for content in variations(sandboxes.shared(preload=preloads(database)), database, 3, 0):
        assert opened(content).execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_database_that_is_too_large_is_not_varied(tmp_path: Path) -> None:
    made_of(
        "create table t (a); with recursive x (n) as (select 1 union all select n + 1 from x where n < 1000001) "
        "insert into t select n from x"
    )(tmp_path / "large.sqlite")
    database = database_in(tmp_path, "large")
    with pytest.raises(InputError, match=r"too large to vary \(1,000,001 cells.*: give variations=0"):
        variations(sandboxes.shared(preload=preloads(database)), database, 1, 0)


def test_a_cache_keeps_what_was_used_last() -> None:
    made: list[str] = []

    def make(key: str, size: int) -> str:
        def build() -> tuple[str, int]:
            made.append(key)
            return key.upper(), size

        return cache.get(key, build)

    cache: SizedCache[str] = SizedCache(10)
    assert [make("a", 4), make("b", 4), make("a", 4), make("c", 4), make("a", 4)] == ["A", "B", "A", "C", "A"]
    assert made == ["a", "b", "c"]
    # The second one went when the third one came; what is too large is not kept at all.
    make("b", 4)
    make("d", 11)
    make("d", 11)
    assert made == ["a", "b", "c", "b", "d", "d"]


def test_a_constraint_that_values_break_leaves_rows_out(tmp_path: Path) -> None:
    rows = ", ".join(f"({i}, {i * 7 % 50}, {i * 7 % 50 + 1})" for i in range(40))
    made_of(f"create table span (id integer primary key, low int, high int check (high = low + 1)); "
            f"insert into span values {rows}")(tmp_path / "span.sqlite")  # fmt: skip
    database = database_in(tmp_path, "span")
    made = variations(sandboxes.shared(preload=preloads(database)), database, 3, 0)
    counted = [opened(content).execute("select count(*) from span").fetchone()[0] for content in made]
    assert all(20 <= count < 40 for count in counted)
