"""``sql`` on a DuckDB database: right and wrong queries, hostile ones, variations."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from guerdon.rewards.sql.reward import sql
from guerdon.types import EvaluateResult

duckdb = pytest.importorskip("duckdb", reason="the extra sql is absent")

SCHEMA = """
create type size as enum ('small', 'large');
create sequence numbers;
create table sea (
    id integer primary key, name varchar not null unique, depth decimal(8, 1), seen date, tags varchar[],
    about struct(salty boolean), size size, inside integer references sea (id)
);
create table island (
    id integer primary key default nextval('numbers'), sea integer not null references sea (id), name varchar,
    area double check (area > 0), bits blob, lasted interval
);
create unique index names on island (name, sea);
create view deep as select * from sea where depth > 1000;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("duck")
    with closing(duckdb.connect(str(folder / "sea.duckdb"))) as connection:
        for statement in SCHEMA.split(";"):
            connection.execute(statement) if statement.strip() else None
        for i in range(24):
            about = {"salty": i % 3 > 0}
            row = [i, f"sea {chr(97 + i)}", 100.5 * i, f"2020-01-{i + 1:02}", ["a", "b"][: i % 3], about]
            row += [["small", "large"][i % 2], i // 2 if i else None]
            connection.execute(f"insert into sea values ({', '.join('?' * 8)})", row)
        for i in range(60):
            row = [i % 24, f"isle {chr(97 + i % 17)}", 1.5 * i + 1, bytes([i]), f"{i} days"]
            connection.execute(
                "insert into island (sea, name, area, bits, lasted) values (?, ?, ?, ?, ?)", row
            )
    return folder


def judged(folder: Path, query: str, gold: str, **options: object) -> EvaluateResult:
    return sql(f"```sql\n{query}\n```", gold, "sea.duckdb", folder=folder, scale="three-way", **options)


@pytest.mark.sample(4, seconds=2)
@pytest.mark.parametrize(
    ("query", "gold", "score"),
    [
        ("SELECT name FROM sea WHERE depth > 1000", "SELECT name FROM deep", 1),
        ("FROM deep SELECT name", "SELECT name FROM deep", 1),
        ("SELECT * FROM sea ORDER BY depth DESC", "SELECT * FROM sea ORDER BY depth DESC", 1),
        ("SELECT sum(depth::DOUBLE) FROM sea", "SELECT sum(depth) FROM sea", 1),
        ("SELECT max(area) FROM island", "SELECT area FROM island ORDER BY area DESC LIMIT 1", 1),
        ("SELECT count(*) FROM island JOIN sea ON sea.id = sea", "SELECT count(*) FROM island", 1),
        ("SELECT bits, lasted FROM island", "SELECT bits, lasted FROM island", 1),
        ("SELECT about.salty FROM sea", "SELECT about['salty'] FROM sea", 1),
        ("SELECT depth::VARCHAR FROM sea", "SELECT depth FROM sea", 0),
        ("SELECT name FROM sea WHERE id > 9", "SELECT name FROM deep", 0),
        ("SELECT 60", "SELECT count(*) FROM island", 0),
        ("SELECT nme FROM sea", "SELECT name FROM deep", -1),
    ],
)
def test_queries(folder: Path, query: str, gold: str, score: int) -> None:
    result = judged(folder, query, gold)
    assert (result.score, result.error) == (score, None), result.reason
    assert result.metrics["variations"].score == 4
    assert result.metrics["tier"].reason != "none"


@pytest.mark.sample(9, seconds=1)
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("COPY sea TO 'copy.csv'", "forbidden"),
        ("COPY (SELECT 1) TO '/tmp/copy.csv'", "forbidden"),
        ("EXPORT DATABASE 'copy'", "forbidden"),
        ("SELECT * FROM read_csv('/etc/passwd')", "forbidden"),
        ("SELECT * FROM read_text('/etc/passwd')", "forbidden"),
        ("SELECT * FROM read_blob('request.json')", "forbidden"),
        ("SELECT * FROM glob('/*')", "forbidden"),
        ("SELECT * FROM '/etc/passwd'", "unknown_name"),
        ("SELECT getenv('HOME')", "unknown_name"),
        ("SELECT * FROM request", "unknown_name"),
        ("INSTALL httpfs", "forbidden"),
        ("LOAD httpfs", "forbidden"),
        ("ATTACH 'other.db'", "forbidden"),
        ("DROP TABLE sea", "forbidden"),
        ("INSERT INTO island (sea) VALUES (1)", "forbidden"),
        ("CREATE TEMP TABLE t AS SELECT 1", "forbidden"),
        ("SET memory_limit = '100GB'", "forbidden"),
        ("PRAGMA database_list", "forbidden"),
        ("CALL pragma_version()", "forbidden"),
        ("CHECKPOINT", "forbidden"),
        ("SELECT 1; DROP TABLE sea", "several_statements"),
        ("-- nothing", "no_query"),
        ("SELECT list(range) FROM range(300000000)", "too_large"),
        ("SELECT repeat('a', 100000000) FROM range(100)", "too_large"),
        ("SELECT * FROM range(1000000)", "too_large"),
        (
            "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3",
            "too_slow",
        ),
        (
            "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
            "too_slow",
        ),
    ],
)
def test_a_hostile_query_does_nothing(folder: Path, query: str, kind: str) -> None:
    before = hashlib.sha256((folder / "sea.duckdb").read_bytes()).hexdigest()
    # What is too large is found when memory runs out, which a slow machine needs longer for.
    result = judged(folder, query, "SELECT name FROM deep", seconds=1 if kind == "too_slow" else 30)
    assert result.error is None
    found = "no_query" if result.reason == "no query found" else result.metrics["executed"].reason
    assert (result.score, found) == (-1, kind), result.reason
    assert hashlib.sha256((folder / "sea.duckdb").read_bytes()).hexdigest() == before
    assert [path.name for path in folder.iterdir()] == ["sea.duckdb"]


def test_a_file_with_changes_beside_it_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sea.duckdb").write_bytes((folder / "sea.duckdb").read_bytes())
    (tmp_path / "sea.duckdb.wal").write_bytes(b"x")
    assert "sea.duckdb.wal" in str(judged(tmp_path, "SELECT 1", "SELECT 1").error)
