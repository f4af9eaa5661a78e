"""The example servers run, their rewards score, and the SQL one withstands hostile queries."""

from __future__ import annotations

import importlib.util
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import guerdon
from guerdon import RewardFunction
from support.served import Process, ask, free_port, running

SERVERS = Path(__file__).resolve().parents[2] / "examples" / "servers"


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


def started(folder: Path, name: str, *arguments: str) -> Process:
    port = free_port()
    command = [sys.executable, str(SERVERS / f"{name}.py"), *arguments, "--port", str(port)]
    return Process(command, port, folder / "log.txt")


@pytest.mark.sample(1, seconds=5)
@pytest.mark.parametrize(
    ("name", "response", "metadata", "reward"),
    [
        ("scary_letter", "Baltic", {"scary_letter": "d"}, 1.0),
        ("length", "x" * 50, None, 0.5),
        (
            "sql",
            "SELECT name FROM sea LIMIT 1",
            {"ground_truth_results": TWO[:1], "db_path": "geography.sqlite"},
            1.0,
        ),
    ],
)
def test_servers_run(tmp_path: Path, name: str, response: str, metadata: Any, reward: float) -> None:
    with running(started(tmp_path, name)) as process:
        body = {"turns": [{"role": "assistant", "content": response}], "metadata": metadata}
        status, answer = ask(process.port, "POST", "/score", body)
        assert (status, answer["reward"]) == (200, reward), answer
        assert set(ask(process.port, "GET", "/info")[1]) == {"name", "version", "description"}
    assert process.popen.returncode == 0, process.said()


def test_the_sql_server_serves_a_folder(sql: ModuleType, folder: Path) -> None:
    with running(started(folder.parent, "sql", "--folder", str(folder))) as process:
        for name, reward in (("inside.sqlite", 1.0), ("link.sqlite", -1.0)):
            metadata = {"ground_truth_results": TWO[:1], "db_path": name}
            turns = [{"role": "assistant", "content": "SELECT name FROM sea LIMIT 1"}]
            status, answer = ask(process.port, "POST", "/score", {"turns": turns, "metadata": metadata})
            assert (status, answer["reward"]) == (200, reward), answer


def test_the_client_runs(tmp_path: Path) -> None:
    with running(started(tmp_path, "scary_letter")) as process:
        done = subprocess.run(
            [sys.executable, str(SERVERS.parent / "client.py"), process.url],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Scary letter 1.0: Rewards completions without a given letter.",
        "1.0 There were no scary letters!",
        "0.0 There were 2 scary letters!",
        "1.0 There were no scary letters!",
        "0.0 There were 1 scary letters!",
    ]
