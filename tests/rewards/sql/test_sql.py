"""``sql``: which queries are right, what hostile ones can do, and what is not a score."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import SandboxError
from guerdon.rewards.sql.reward import sql
from guerdon.rewards.sql.runs import QueryLimits, answers
from guerdon.sandbox.execution import Report, SandboxJob, Status

SCHEMA = """
create table country (name text primary key, continent text not null, people integer);
create table city (
    id integer primary key, name text not null, country text not null references country (name),
    people integer not null, area real, mayor text
);
create view big as select * from city where people > 1000;
"""
COUNTRIES = [
    *(("Avia", "North", 9000), ("Bova", "North", 7000), ("Cuma", "South", 4000), ("Dora", "South", 3000)),
    *(("Evia", "East", 8000), ("Fora", "East", 1000)),
]
CITIES = [
    (1, "Aal", "Avia", 4000, 40.5, "Kim"),
    (2, "Abo", "Avia", 900, 10.25, None),
    (3, "Ads", "Avia", 1500, 30.0, "Lee"),
    (4, "Bern", "Bova", 2500, 22.0, "Ana"),
    (5, "Bonn", "Bova", 1100, 12.5, None),
    (6, "Cork", "Cuma", 3000, 28.0, "Bo"),
    (7, "Caen", "Cuma", 700, 8.0, "Cy"),
    (8, "Dax", "Dora", 2200, 19.0, "Di"),
    (9, "Essen", "Evia", 5000, 60.0, "Ed"),
    (10, "Ede", "Evia", 1200, 14.0, "Fay"),
    (11, "Ems", "Evia", 800, 9.5, None),
    (12, "Fano", "Fora", 600, 7.0, "Gus"),
]


def make(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany("insert into country values (?, ?, ?)", COUNTRIES)
        connection.executemany("insert into city values (?, ?, ?, ?, ?, ?)", CITIES)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    make(folder / "world.sqlite")
    return folder


def judged(folder: Path, query: str, gold: Any = None, **options: Any) -> guerdon.EvaluateResult:
    options = {"db_path": "world.sqlite", "scale": "three-way", **options}
    return sql(f"```sql\n{query}\n```", gold, folder=folder, **options)


LARGEST = "SELECT name FROM city ORDER BY people DESC LIMIT 1"
IN_EVIA = "SELECT name FROM city WHERE country = 'Evia'"
JOINED = "SELECT c.name FROM city c JOIN country o ON c.country = o.name WHERE o.continent = 'South'"


@pytest.mark.parametrize(
    ("query", "gold", "score"),
    [
        (IN_EVIA, IN_EVIA, 1),
        (IN_EVIA + ";", IN_EVIA + " ; -- all", 1),
        # Other words for the same.
        ("SELECT name FROM city WHERE people = (SELECT max(people) FROM city)", LARGEST, 1),
        (
            "SELECT name FROM city WHERE country IN (SELECT name FROM country WHERE continent = 'South')",
            JOINED,
            1,
        ),
        ("SELECT name FROM city WHERE people > 1000", "SELECT name FROM big", 1),
        ("SELECT count(*) FROM city c JOIN country o ON o.name = c.country", "SELECT count(*) FROM city", 1),
        (
            "SELECT name FROM city WHERE mayor IS NULL",
            "SELECT name FROM city WHERE coalesce(mayor, '') = ''",
            1,
        ),
        ("SELECT total(area) / count(area) FROM city", "SELECT avg(area) FROM city", 1),
        ("SELECT DISTINCT name FROM country", "SELECT name FROM country", 1),
        ("SELECT name AS title FROM city", "SELECT name FROM city", 1),
        # Right on the original only.
        ("SELECT 'Essen'", LARGEST, 0),
        ("SELECT name FROM city WHERE id = 9", LARGEST, 0),
        ("SELECT 12", "SELECT count(*) FROM city", 0),
        ("SELECT 'Essen' UNION SELECT 'Ede' UNION SELECT 'Ems'", IN_EVIA, 0),
        ("SELECT name FROM city WHERE name LIKE 'E%'", IN_EVIA, 0),
        ("SELECT name FROM city WHERE id > 8 AND id < 12", IN_EVIA, 0),
        # Wrong on the original.
        ("SELECT name FROM city WHERE country = 'Fora'", IN_EVIA, 0),
        ("SELECT country FROM city", "SELECT DISTINCT country FROM city", 0),
        ("SELECT name, id FROM city WHERE country = 'Evia'", IN_EVIA, 0),
        ("SELECT min(people) FROM city", "SELECT max(people) FROM city", 0),
        ("SELECT name FROM city WHERE 0", IN_EVIA, 0),
        # In order where the gold query orders.
        ("SELECT name FROM city ORDER BY people", "SELECT name FROM city ORDER BY people DESC", 0),
        ("SELECT name FROM city ORDER BY -people", "SELECT name FROM city ORDER BY people DESC", 1),
        ("SELECT name FROM city ORDER BY people", "SELECT name FROM city", 1),
        (
            "SELECT country, name FROM city ORDER BY country, name DESC",
            "SELECT country, name FROM city ORDER BY country",
            1,
        ),
        # What cannot be run.
        ("SELECT nme FROM city", IN_EVIA, -1),
        ("SELEC name FROM city", IN_EVIA, -1),
        ("SELECT name FROM", IN_EVIA, -1),
        ("-- nothing", IN_EVIA, -1),
    ],
)
def test_queries(folder: Path, query: str, gold: str, score: int) -> None:
    result = judged(folder, query, gold)
    assert result.error is None
    assert (result.score, result.metrics["variations"].score) == (score, 4), result.reason
    assert judged(folder, query, gold, scale="zero-one").score == max(score, 0)


@pytest.mark.parametrize("query", ["SELECT 'Essen'", "SELECT name FROM city WHERE id = 9"])
def test_without_variations_an_accident_is_paid(folder: Path, query: str) -> None:
    result = judged(folder, query, LARGEST, variations=0)
    assert (result.score, result.reason) == (1, "the right rows")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("DROP TABLE city", "forbidden"),
        ("DELETE FROM city", "forbidden"),
        ("INSERT INTO country VALUES ('Zia', 'West', 1)", "forbidden"),
        ("UPDATE city SET people = 0 RETURNING name", "forbidden"),
        ("CREATE TEMP TABLE t AS SELECT 1", "forbidden"),
        ("WITH x AS (SELECT 1) DELETE FROM city", "forbidden"),
        ("PRAGMA writable_schema = on", "forbidden"),
        ("PRAGMA table_info(city)", "forbidden"),
        ("SELECT * FROM pragma_table_info('city')", "forbidden"),
        ("ATTACH 'other.db' AS other", "forbidden"),
        ("ATTACH '/etc/passwd' AS other", "forbidden"),
        ("VACUUM INTO 'copy.db'", "forbidden"),
        ("REINDEX", "forbidden"),
        ("BEGIN", "forbidden"),
        ("SELECT load_extension('libm.so.6')", "forbidden"),
        ("SELECT readfile('/etc/passwd')", "unknown_name"),
        ("SELECT writefile('x', 'y')", "unknown_name"),
        ("SELECT * FROM read_csv('/etc/passwd')", "unknown_name"),
        ("SELECT 1; DROP TABLE city", "several_statements"),
        ("SELECT 1; SELECT name FROM city", "several_statements"),
        ("SELECT randomblob(1000000000)", "too_large"),
        ("SELECT zeroblob(2000000000)", "too_large"),
        ("SELECT hex(zeroblob(3000000))", "too_large"),
        ("SELECT group_concat(hex(zeroblob(1000))) FROM city a, city b, city c, city d", "too_large"),
        ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x", "too_large"),
        ("SELECT a.* FROM city a, city b, city c, city d, city e", "too_large"),
        ("SELECT zeroblob(3000000) FROM city", "too_large"),
        (
            "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
            "too_slow",
        ),
        ("SELECT " + "(" * 2000 + "1" + ")" * 2000, "too_large"),
        ("SELECT 1\0; DROP TABLE city", "error"),
    ],
)
def test_a_hostile_query_does_nothing(folder: Path, query: str, kind: str) -> None:
    before = content(folder)
    started = time.monotonic()
    result = judged(folder, query, IN_EVIA, seconds=0.5)
    assert result.error is None
    assert (result.score, result.metrics["executed"].reason) == (-1, kind), result.reason
    assert result.metrics["executed"].success is False
    assert time.monotonic() - started < 20
    assert content(folder) == before
    # What comes after is none the worse for it.
    assert judged(folder, IN_EVIA, IN_EVIA).score == 1


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("query", "expected", "options", "score"),
    [
        (IN_EVIA, [{"name": "Ede"}, {"name": "Ems"}, {"name": "Essen"}], {}, 1),
        (IN_EVIA, '[{"name": "Ede"}, {"name": "Ems"}, {"name": "Essen"}]', {}, 1),
        (IN_EVIA, [{"name": "Ede"}, {"name": "Ems"}], {}, 0),
        # Objects are compared by name, lists by position, unless it is said otherwise.
        ("SELECT id, name FROM city WHERE id = 1", [{"name": "Aal", "id": 1}], {}, 1),
        ("SELECT name AS n FROM city WHERE id = 1", [{"name": "Aal"}], {}, 0),
        ("SELECT name AS n FROM city WHERE id = 1", [{"name": "Aal"}], {"columns": "position"}, 1),
        ("SELECT id, name FROM city WHERE id = 1", [[1, "Aal"]], {}, 1),
        ("SELECT id, name FROM city WHERE id = 1", [["Aal", 1]], {}, 0),
        ("SELECT name FROM city WHERE id < 3", ["Abo", "Aal"], {}, 1),
        ("SELECT name FROM city WHERE id < 3", ["Abo", "Aal"], {"order": "always"}, 0),
        ("SELECT area FROM city WHERE id = 1", [40.4], {}, 0),
        ("SELECT area FROM city WHERE id = 1", [40.4], {"tolerance": 0.01}, 1),
        ("SELECT nothing FROM city", [[1]], {}, -1),
    ],
)
def test_expected_rows(folder: Path, query: str, expected: Any, options: dict[str, Any], score: int) -> None:
    result = judged(folder, query, ground_truth_results=expected, **options)
    assert (result.score, result.error) == (score, None), result.reason
    assert result.metrics["variations"].score == 0


def test_columns_by_name(folder: Path) -> None:
    gold, swapped = "SELECT id, name FROM city", "SELECT name, id FROM city"
    assert judged(folder, swapped, gold).score == 0
    assert judged(folder, swapped, gold, columns="name").score == 1


@pytest.mark.parametrize("order", ["gold", "always", "never"])
def test_order_by_option(folder: Path, order: str) -> None:
    gold = "SELECT name FROM city ORDER BY name"
    right = judged(folder, "SELECT name FROM city ORDER BY name DESC", gold, order=order).score
    assert right == (order == "never")


NONE = "SELECT name FROM city WHERE people < 0"


@pytest.mark.parametrize(
    ("query", "gold", "options", "score"),
    [
        # Nothing can be told where the gold query gives nothing anywhere.
        (NONE, NONE, {}, None),
        ("SELECT nothing", NONE, {}, None),
        (NONE, NONE, {"allow_empty": True}, 1),
        ("SELECT name FROM city WHERE 0", NONE, {"allow_empty": "yes"}, 1),
        (IN_EVIA, NONE, {"allow_empty": True}, 0),
        (IN_EVIA, "[]", {}, None),
        (NONE, "[]", {"allow_empty": True}, 1),
        # Empty on the original, but not on variations of it.
        (
            "SELECT 1 WHERE 0",
            "SELECT name FROM city WHERE country = 'Evia' AND people = 3000",
            {"variations": 20},
            0,
        ),
    ],
)
def test_empty_results(
    folder: Path, query: str, gold: str, options: dict[str, Any], score: float | None
) -> None:
    result = judged(folder, query, gold, **options)
    assert (result.score, result.error) == (score, None), result.reason
    assert (
        score is not None
    ) or result.reason == "the expected result has no rows on any database, so nothing can be compared"


def test_no_query_in_the_response(folder: Path) -> None:
    for scale, score in (("three-way", -1), ("zero-one", 0)):
        result = sql("I do not know.", IN_EVIA, "world.sqlite", folder=folder, scale=scale)
        assert (result.score, result.reason) == (score, "no query found")
        assert result.metrics["executed"].reason == "no_query"


def test_what_the_metrics_say(folder: Path) -> None:
    metrics = judged(folder, IN_EVIA, IN_EVIA).metrics
    assert {name: metrics[name].score for name in ("executed", "rows", "databases", "variations")} == {
        "executed": 1,
        "rows": 3,
        "databases": 1,
        "variations": 4,
    }
    assert metrics["cpu_s"].score > 0
    assert metrics["tier"].reason in ("native", "bubblewrap", "landlock")
    wrong = judged(folder, "SELECT 'Essen'", LARGEST)
    assert wrong.reason == "the right rows, but not on every variation"
    assert 0.2 <= wrong.metrics["databases"].score < 1
    assert wrong.metrics["databases"].reason.startswith("not right on: variation")
    # The gold query, and what it gives, are nowhere in it.
    assert "Essen" not in repr(judged(folder, "SELECT nme FROM city", LARGEST))


@pytest.mark.sample(3, seconds=1)
@pytest.mark.parametrize(
    ("row", "score"),
    [
        ({"gold_query": IN_EVIA, "db_path": "world.sqlite"}, 1),
        ({"sql": IN_EVIA, "database": "world"}, 1),
        ({"ground_truth": IN_EVIA, "db_id": "world"}, 1),
        ({"answer": IN_EVIA, "db_id": "spider"}, 1),
        ({"ground_truth": ["Ede", "Ems", "Essen"], "db_path": "more/world.db"}, 1),
        ({"ground_truth_results": [{"name": "Ede"}], "db_path": "world.sqlite"}, 0),
        ({"ground_truth": "not SQL", "gold_query": IN_EVIA, "db_id": "world"}, 1),
    ],
)
def test_columns_of_a_row(folder: Path, row: dict[str, Any], score: int) -> None:
    make_once(folder / "spider" / "spider.sqlite")
    make_once(folder / "more" / "world.db")
    reward = guerdon.get_reward_function("sql", folder=str(folder))
    said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": IN_EVIA}]
    result = guerdon.score(reward, [{"messages": said, **row}])[0]
    assert (result.score, result.error) == (score, None)


def make_once(file: Path) -> None:
    if not file.exists():
        make(file)


def test_time_runs_out_for_the_query_and_not_for_the_reward() -> None:
    # By the clock a query on the original and four variations has three times its processor time, and 20 s.
    assert sql.timeout is not None
    assert sql.timeout > 5 * 5.0 * 3 + 20


def test_a_row_does_not_choose_the_folder_or_the_isolation(folder: Path, tmp_path: Path) -> None:
    make(tmp_path / "world.sqlite")
    said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": IN_EVIA}]
    row = {"messages": said, "ground_truth": IN_EVIA, "db_path": "world.sqlite", "folder": str(tmp_path)}
    assert "give folder=" in str(guerdon.score("sql", [row])[0].error)
    reward = guerdon.get_reward_function("sql", folder=str(folder))
    result = guerdon.score(reward, [{**row, "isolation": "none"}])[0]
    assert result.score == 1
    assert result.metrics["tier"].reason != "none"


@pytest.mark.parametrize(
    "name",
    [
        *("../secret.sqlite", "{parent}/secret.sqlite", "link.sqlite", "inside/../../secret.sqlite"),
        *("", ".", "inside", "none.sqlite", "a\0b", "x" * 5000, "..\\secret.sqlite", "~/secret.sqlite"),
        *(
            "/dev/zero",
            "/proc/self/mem",
            "pipe",
            "device",
            "linked/secret.sqlite",
            "text.sqlite",
            "empty.sqlite",
        ),
    ],
)
def test_only_databases_of_the_folder_are_read(tmp_path: Path, name: str) -> None:
    make(tmp_path / "secret.sqlite")
    inside = tmp_path / "dbs"
    make(inside / "inside" / "world.sqlite")
    (inside / "link.sqlite").symlink_to(tmp_path / "secret.sqlite")
    (inside / "linked").symlink_to(tmp_path)
    (inside / "device").symlink_to("/dev/zero")
    (inside / "text.sqlite").write_text("name,people\n" * 100, encoding="utf-8")
    (inside / "empty.sqlite").touch()
    os.mkfifo(inside / "pipe")
    name = name.format(parent=tmp_path)
    result = judged(inside, "SELECT 1", "SELECT 1", db_path=name)
    assert (result.score, result.error_kind) == (None, "input")
    assert "database" in str(result.error)


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    make(tmp_path / "deep" / "world.sqlite")
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "deep" / "world.sqlite")
    assert judged(tmp_path, IN_EVIA, IN_EVIA, db_path="link.sqlite").score == 1


@pytest.mark.parametrize(
    ("gold", "options", "says"),
    [
        ("SELECT nme FROM city", {}, "the gold query cannot be run (unknown_name): no such column: nme"),
        ("DROP TABLE city", {}, "the gold query cannot be run (forbidden)"),
        (";", {}, "the gold query must be SQL"),
        (None, {}, "there is nothing to compare with"),
        (None, {"gold_query": 3}, "the gold query must be SQL"),
        (None, {"ground_truth_results": "x"}, "no JSON list"),
        (IN_EVIA, {"scale": "grades"}, "scale must be one of zero-one, three-way"),
        (IN_EVIA, {"columns": "both"}, "columns must be one of position, name"),
        (IN_EVIA, {"order": "some"}, "order must be one of gold, always, never"),
        (IN_EVIA, {"variations": -1}, "variations must be a number of 0 or more"),
        (IN_EVIA, {"variations": 1.5}, "variations must be a whole number from 0 to 20"),
        (IN_EVIA, {"variations": 21}, "variations must be a whole number from 0 to 20"),
        (IN_EVIA, {"seconds": 0}, "seconds must be more than 0"),
        (IN_EVIA, {"max_rows": 0}, "max_rows must be a whole number"),
        (IN_EVIA, {"memory_mb": 1}, "memory_mb must be a whole number"),
        (IN_EVIA, {"isolation": "some"}, "isolation must be one of"),
        (IN_EVIA, {"db_path": None}, "give db_path, database or db_id"),
    ],
)
def test_what_is_no_score(folder: Path, gold: Any, options: dict[str, Any], says: str) -> None:
    result = judged(folder, IN_EVIA, gold, **options)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_a_folder_is_needed(tmp_path: Path) -> None:
    assert "give folder=" in str(sql("SELECT 1", "SELECT 1", "world.sqlite").error)
    assert "there is no folder" in str(judged(tmp_path / "none", "SELECT 1", "SELECT 1").error)


def test_a_database_with_changes_beside_it_is_refused(tmp_path: Path) -> None:
    file = make(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("delete from city")
        connection.commit()
        assert "world.sqlite-wal" in str(judged(tmp_path, IN_EVIA, IN_EVIA).error)
    # Closing made a checkpoint; the file is of the kind that has such changes, and is read all the same.
    assert judged(tmp_path, "SELECT name FROM country", "SELECT name FROM country").score == 1


def test_a_database_that_changes_is_read_anew(tmp_path: Path) -> None:
    file = make(tmp_path / "world.sqlite")
    count, told = "SELECT count(*) FROM city", {"variations": 0}
    assert judged(tmp_path, "SELECT 12", count, **told).score == 1
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("delete from city where id > 5")
    assert judged(tmp_path, "SELECT 12", count, **told).score == 0
    assert judged(tmp_path, "SELECT 5", count, **told).score == 1


def test_the_rows_and_the_memory_that_a_query_may_use(folder: Path) -> None:
    assert (
        judged(folder, "SELECT * FROM city", "SELECT name FROM country", max_rows=11)
        .metrics["executed"]
        .reason
        == "too_large"
    )
    large = "SELECT length(group_concat(zeroblob(300000))) FROM city a, city b, country"
    assert judged(folder, large, IN_EVIA, memory_mb=16).score == -1


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    file = make(tmp_path / "world.sqlite")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("update city set mayor = cast(x'ff41' as text) where id < 3")
    names = "SELECT mayor FROM city WHERE mayor IS NOT NULL"
    assert judged(tmp_path, names, names).score == 1


class Lost:
    """An executor that loses what it runs."""

    def __init__(self, status: Status) -> None:
        self.status = status

    def execute(self, job: SandboxJob) -> Report:
        return Report(status=self.status, stdout=b'"ready"\n', detail="it was lost")


@pytest.mark.parametrize("status", ["worker_lost", "unavailable"])
def test_what_the_sandbox_lost_is_no_score(status: Status) -> None:
    with pytest.raises(SandboxError, match="it was lost"):
        answers(Lost(status), "sqlite", [b""], "SELECT 1", QueryLimits())
