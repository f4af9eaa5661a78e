"""Adaptive's three reward servers, defined as written, scored in place and served."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from reference_text import between, indented, loaded, of_lines, translated

import guerdon
from guerdon import RewardFunction
from guerdon.errors import RewardError
from serve_work import call

# What the SQL server uses of pandas, for where pandas is not installed; an installed one comes first.
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


def test_the_scary_server_is_served(scary: ModuleType) -> None:
    with scary.ScaryLetterRewardServer(port=0, blocking=False) as server:
        body = {"turns": turns("Baltic Sea."), "metadata": {"scary_letter": "d"}}
        reply = call(server.url, "/score", body)
        assert reply.json["reward"] == 1.0
        assert reply.json["metadata"] == {"feedback": "There were no scary letters!"}
        assert call(server.url, "/info").json["name"] == "Scary Letter Detector"


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


def test_empty_metadata(text: str, tmp_path: Path) -> None:
    module = server_module(text, tmp_path, "no_metadata_reward_server.py", "from adaptive", "SQL Query")
    rows = [{"messages": turns("x" * n), "other": 1} for n in (0, 50, 100, 150)]
    scores = [r.score for r in guerdon.score(module.LengthRewardServer, rows, workers=0)]
    assert scores == [0.0, 0.5, 1.0, 1.0]


@pytest.fixture
def sql(text: str, tmp_path: Path) -> Iterator[ModuleType]:
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
