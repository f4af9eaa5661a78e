"""The example servers' rewards, scored in place, and how the SQL one withstands hostile queries."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import guerdon
from guerdon import RewardFunction

SERVERS = Path(__file__).resolve().parent.parent / "examples" / "servers"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", SERVERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sql() -> Iterator[ModuleType]:
    yield loaded("sql")
    del sys.modules["example_sql"]


@pytest.fixture
def folder(sql: ModuleType, tmp_path: Path) -> Path:
    """A folder with two databases; beside it lies one that it must not lead to."""
    folder = tmp_path / "dbs"
    (folder / "more").mkdir(parents=True)
    sql.make_database(folder / "geography.sqlite")
    sql.make_database(folder / "more" / "geography.sqlite")
    sql.make_database(tmp_path / "secret.sqlite")
    (folder / "link.sqlite").symlink_to(tmp_path / "secret.sqlite")
    (folder / "inside.sqlite").symlink_to(folder / "geography.sqlite")
    return folder


def row(response: str, **metadata: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": response}],
        **metadata,
    }


@pytest.mark.parametrize(
    ("module", "server", "rows", "scores"),
    [
        (
            "scary_letter",
            "ScaryLetterServer",
            [row("Baltic", scary_letter=c) for c in "dBl"],
            [1.0, 0.0, 0.0],
        ),
        ("length", "LengthServer", [row("x" * n) for n in (0, 50, 100, 150)], [0.0, 0.5, 1.0, 1.0]),
    ],
)
def test_rewards(module: str, server: str, rows: list[dict[str, Any]], scores: list[float]) -> None:
    reward = getattr(loaded(module), server)
    assert [result.score for result in guerdon.score(reward, rows, workers=0)] == scores
    del sys.modules[f"example_{module}"]


TWO = [{"name": "Baltic"}, {"name": "North"}]


@pytest.mark.parametrize(
    ("query", "expected", "score", "says"),
    [
        ("SELECT name FROM sea WHERE depth BETWEEN 100 AND 1000", TWO, 1.0, "success"),
        ("select name from sea where depth in (700, 459) order by depth desc", TWO, 1.0, "success"),
        ("with s as (select * from sea limit 2) select name from s", TWO, 1.0, "success"),
        ("SELECT name FROM sea", TWO, 0.0, "wrong_result"),
        ("SELECT depth AS name FROM sea LIMIT 2", TWO, 0.0, "wrong_result"),
        ("SELECT 'Baltic' AS name UNION ALL SELECT 'Baltic'", TWO, 0.0, "wrong_result"),
        ("SELECT 2 AS n", [{"n": 2.0}], 1.0, "success"),
        ("SELECT x'00ff' AS b", [{"b": "00ff"}], 0.0, "wrong_result"),
        ("SELECT 1 AS a WHERE 0", [], 1.0, "success"),
        ("", TWO, -1.0, "invalid_query"),
        ("DROP TABLE sea", TWO, -1.0, "invalid_query"),
        ("The query is SELECT 1", TWO, -1.0, "invalid_query"),
        ("SELECT missing FROM sea", TWO, -1.0, "no such column"),
        ("SELECT 1; DROP TABLE sea", TWO, -1.0, "one statement"),
        ("WITH x AS (SELECT 1) DELETE FROM sea", TWO, -1.0, "not authorized"),
        ("SELECT load_extension('x')", TWO, -1.0, "not authorized"),
        ("SELECT * FROM pragma_database_list", TWO, -1.0, "not authorized"),
        ("SELECT randomblob(1000000)", TWO, -1.0, "too big"),
        ("SELECT hex(zeroblob(30000)) FROM sea a, sea b, sea c", TWO, -1.0, "bytes"),
        ("SELECT 1 FROM sea a, sea b, sea c, sea d, sea e, sea f", TWO, -1.0, "more than 1000 rows"),
        ("SELECT '\ud800'", TWO, -1.0, "surrogates"),
        ("SELECT ?", TWO, -1.0, "bindings"),
    ],
)
def test_sql(sql: ModuleType, folder: Path, query: str, expected: list[Any], score: float, says: str) -> None:
    reward = RewardFunction(sql.SQLServer, db_base_path=folder)
    sample = row(query, ground_truth_results=expected, db_path="geography.sqlite")
    (result,) = guerdon.score(reward, [sample], workers=0)
    assert result.score == score, result
    assert says in str(result.reason)
    with closing(sqlite3.connect(folder / "geography.sqlite")) as connection:
        assert connection.execute("select count(*) from sea").fetchone() == (4,)


def test_a_query_without_an_end_is_stopped(sql: ModuleType, folder: Path) -> None:
    endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select sum(x) from n"
    with pytest.raises(sql.QueryError, match="stopped after 2 s"):
        sql.run(folder / "geography.sqlite", endless)


@pytest.mark.parametrize("name", ["geography.sqlite", "more/geography.sqlite", "inside.sqlite"])
def test_databases_of_the_folder_are_found(sql: ModuleType, folder: Path, name: str) -> None:
    assert len(sql.run(sql.database_in(folder, name), "select * from sea")) == 4


@pytest.mark.parametrize(
    "name",
    [
        *("../secret.sqlite", "{parent}/secret.sqlite", "link.sqlite", "more/../../secret.sqlite"),
        *("", ".", "more", "none.sqlite", "a\0b", "x" * 5000),
    ],
)
def test_nothing_else_is_found(sql: ModuleType, folder: Path, name: str) -> None:
    with pytest.raises(sql.QueryError, match="there is no database"):
        sql.database_in(folder, name.format(parent=folder.parent))


def test_no_file_is_left_beside_a_database(sql: ModuleType, folder: Path) -> None:
    before = sorted(folder.iterdir())
    sql.run(folder / "geography.sqlite", "select * from sea order by name")
    assert sorted(folder.iterdir()) == before
