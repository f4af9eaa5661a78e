"""Adaptive's three reward servers and its client as written: scored in place, and started and asked over HTTP."""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import guerdon
from guerdon import RewardFunction
from guerdon.errors import RewardError
from support.reference_text import between, indented, loaded, of_lines, translated
from support.served import Process, ask, free_port, running

# What the SQL server uses of pandas, for where pandas is not installed.
PANDAS = """
class Frame:
    def __init__(self, rows):
        self.rows = rows
    def to_dict(self, orient):
        assert orient == "records"
        return self.rows
def read_sql_query(query, connection):
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return Frame([dict(zip(names, row)) for row in cursor.fetchall()])
"""


@pytest.fixture(scope="module")
def text(references_dir: Path) -> str:
    return (references_dir / "adaptive-reward-servers.txt").read_text(encoding="utf-8")


def server_module(text: str, folder: Path, after: str, start: str, end: str) -> ModuleType:
    source = between(text[text.index(after) :], start, end)
    return loaded(folder, "server", translated(indented(of_lines(source))))


def turns(text: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": "You answer questions about geography."},
        {"role": "user", "content": "What is the name of the sea that touches Stockholm?"},
        {"role": "assistant", "content": text},
    ]


@pytest.fixture(scope="module")
def scary(text: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("scary")
    return server_module(text, folder, "scary_letter_reward_server.py", "from adaptive", "To run this")


@pytest.mark.parametrize(
    ("letter", "score", "feedback"),
    [("d", 1.0, "There were no scary letters!"), ("a", 0.0, "There were 2 scary letters!")],
)
def test_scary_letters(scary: ModuleType, letter: str, score: float, feedback: str) -> None:
    row = {"messages": turns("Baltic Sea."), "scary_letter": letter}
    nested = {"messages": turns("Baltic Sea."), "metadata": {"scary_letter": letter}}
    reward = RewardFunction(scary.ScaryLetterRewardServer)
    assert (reward.name, reward.is_async) == ("ScaryLetterRewardServer", True)
    for results in (
        guerdon.score(reward, [row, nested], workers=0),
        guerdon.score(scary.ScaryLetterRewardServer, [row, nested], workers=1),
        [reward.evaluate(guerdon.Sample.from_row(nested))],
    ):
        assert {(r.score, r.reason) for r in results} == {(score, f"feedback: {feedback}")}


async def _called(reward: RewardFunction, **arguments: Any) -> Any:
    return await reward(**arguments)


def test_a_direct_call_is_awaited(scary: ModuleType) -> None:
    import asyncio

    reward = RewardFunction(scary.ScaryLetterRewardServer)
    for extra in ({"scary_letter": "d"}, {"metadata": {"scary_letter": "d"}}):
        assert asyncio.run(_called(reward, messages=turns("Baltic Sea."), **extra)).score == 1.0


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({}, "metadata.scary_letter: Field required"),
        ({"scary_letter": "ab"}, "metadata.scary_letter: String should have at most 1 character"),
        ({"scary_letter": ""}, "metadata.scary_letter: String should have at least 1 character"),
    ],
)
def test_metadata_is_checked(scary: ModuleType, metadata: dict[str, str], says: str) -> None:
    sample = guerdon.Sample.from_row({"messages": turns("x"), **metadata})
    result = RewardFunction(scary.ScaryLetterRewardServer).evaluate(sample)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@contextlib.contextmanager
def started(text: str, folder: Path, after: str, start: str, end: str) -> Iterator[Process]:
    """A server of the document as the script that it is, but for its port."""
    source = translated(indented(of_lines(between(text[text.index(after) :], start, end))))
    port = free_port()
    script = folder / "reward_server.py"
    script.write_text(source.replace("50056", str(port)), encoding="utf-8")
    with running(Process([sys.executable, str(script)], port, folder / "log.txt")) as process:
        yield process
    assert process.popen.returncode == 0, process.said()


def scored(process: Process, content: str, metadata: dict[str, Any] | None) -> tuple[float, dict[str, Any]]:
    status, answer = ask(process.port, "POST", "/score", {"turns": turns(content), "metadata": metadata})
    assert status == 200, answer
    return answer["reward"], answer["metadata"]


def test_the_server_and_the_client_run(text: str, tmp_path: Path) -> None:
    client = translated(
        indented(of_lines(between(text, "from adaptive_sdk.external import RewardClient", "You can")))
    )
    with started(text, tmp_path, "scary_letter_reward_server.py", "from adaptive", "To run this") as process:
        assert ask(process.port, "GET", "/info") == (
            200,
            {
                "version": "1.0",
                "name": "Scary Letter Detector",
                "description": "Rewards completions that avoid a specific letter.",
            },
        )
        schema = ask(process.port, "GET", "/metadata_schema")[1]
        assert (schema["title"], schema["required"]) == ("ScaryLetterMetadata", ["scary_letter"])
        script = tmp_path / "local_reward_server_test.py"
        script.write_text(client.replace("50056", str(process.port)), encoding="utf-8")
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert scored(process, "Baltic Sea.", {"scary_letter": "a"})[0] == 0.0
        status, answer = ask(
            process.port, "POST", "/score", {"turns": turns("x"), "metadata": {"scary_letter": "ab"}}
        )
        assert status == 422
        assert [problem["loc"] for problem in answer["detail"]] == [["body", "metadata", "scary_letter"]]


def test_the_server_without_metadata_runs(text: str, tmp_path: Path) -> None:
    with started(text, tmp_path, "no_metadata_reward_server.py", "from adaptive", "SQL Query") as process:
        for metadata in (None, {}):
            assert scored(process, "x" * 50, metadata) == (0.5, {})


def test_a_server_that_does_not_block(scary: ModuleType) -> None:
    server = scary.ScaryLetterRewardServer(port=free_port(), blocking=False)
    try:
        assert ask(server.port, "GET", "/info")[1]["name"] == "Scary Letter Detector"
        with pytest.raises(RewardError, match=f"port {server.port}"):
            scary.ScaryLetterRewardServer(port=server.port, blocking=False)
    finally:
        server.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(server.port, "GET", "/info")


def test_empty_metadata(text: str, tmp_path: Path) -> None:
    module = server_module(text, tmp_path, "no_metadata_reward_server.py", "from adaptive", "SQL Query")
    rows = [{"messages": turns("x" * n), "other": 1} for n in (0, 50, 100, 150)]
    scores = [r.score for r in guerdon.score(module.LengthRewardServer, rows, workers=0)]
    assert scores == [0.0, 0.5, 1.0, 1.0]


@pytest.fixture
def sql(text: str, tmp_path: Path) -> Iterator[ModuleType]:
    if importlib.util.find_spec("pandas") is None:
        (tmp_path / "pandas.py").write_text(PANDAS, encoding="utf-8")
    with sqlite3.connect(tmp_path / "geography.sqlite") as connection:
        connection.execute("create table sea (name text, depth integer)")
        connection.executemany("insert into sea values (?, ?)", [("Baltic", 459), ("North", 700)])
    connection.close()
    yield server_module(text, tmp_path, "SQL Query Execution", "import sqlite3", "Test your reward server")
    if str(tmp_path) in str(getattr(sys.modules.get("pandas"), "__file__", "")):
        del sys.modules["pandas"]


@pytest.mark.parametrize(
    ("query", "score", "status"),
    [
        ("SELECT name FROM sea", 1.0, "success"),
        ("select name from sea order by depth desc", 1.0, "success"),
        ("SELECT name FROM sea LIMIT 1", 0.0, "wrong_result"),
        ("SELECT depth AS name FROM sea", 0.0, "wrong_result"),
        ("DROP TABLE sea", -1.0, "invalid_query"),
        ("SELECT nothing FROM sea", -1.0, "error"),
    ],
)
def test_sql_server(sql: ModuleType, tmp_path: Path, query: str, score: float, status: str) -> None:
    row = {
        "messages": turns(query),
        "ground_truth_results": [{"name": "Baltic"}, {"name": "North"}],
        "db_path": "geography.sqlite",
    }
    reward = RewardFunction(sql.SQLRewardServer, db_base_path=str(tmp_path))
    (result,) = guerdon.score(reward, [row], workers=0)
    assert result.score == score
    assert str(result.reason).startswith(f"status: {status}")


def test_the_sql_server_runs(text: str, sql: ModuleType, tmp_path: Path) -> None:
    text = text.replace("/path/to/dbs/", str(tmp_path))
    with started(
        text, tmp_path, "SQL Query Execution", "import sqlite3", "Test your reward server"
    ) as process:
        metadata = {
            "ground_truth_results": [{"name": "Baltic"}, {"name": "North"}],
            "db_path": "geography.sqlite",
        }
        reward, told = scored(process, "SELECT name FROM sea", metadata)
        assert (reward, told["status"]) == (1.0, "success")
        assert told["actual_results"] == metadata["ground_truth_results"]
        assert scored(process, "DROP TABLE sea", metadata) == (-1.0, {"status": "invalid_query"})


def test_sql_server_without_its_argument(sql: ModuleType) -> None:
    with pytest.raises(RewardError, match="db_base_path"):
        RewardFunction(sql.SQLRewardServer)


def test_the_bodies_have_the_fields_of_the_signatures(text: str) -> None:
    source = between(text, "class Turn(BaseModel)", "async def score")
    fields: dict[str, set[str]] = {}
    for line in source.splitlines():
        if line.startswith("class "):
            name = line.removeprefix("class ").partition("(")[0]
            fields[name] = set()
        elif ":" in line:
            fields[name].add(line.partition(":")[0])
    assert set(fields) == {"Turn", "ValidatedRequest", "Response", "ServerInfo"}
    for name, expected in fields.items():
        assert expected <= set(getattr(guerdon, name).model_fields)


def test_the_clients_request_can_be_built() -> None:
    request = guerdon.Request(
        turns=[guerdon.Turn(role="assistant", content="Baltic Sea.")], metadata={"scary_letter": "d"}
    )
    assert request.turns[-1].content == "Baltic Sea."
