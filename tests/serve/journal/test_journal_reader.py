"""Reading a journal: queries, pages, Adaptive's list."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.serve.journal.reader import adaptive_requests, read_journal
from support.journal_work import BODY, entry, ids, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


QUERIES = (
    ({}, "r-1 r-2 r-3 r-4 r-5"),
    ({"reward": "other"}, "r-2"),
    ({"reward": "nothing"}, ""),
    ({"statuses": (500, 599)}, "r-4"),
    ({"statuses": (422, 422)}, "r-3"),
    ({"failed": True}, "r-3 r-4 r-5"),
    ({"since": 1004.0}, "r-4 r-5"),
    ({"last": 2}, "r-4 r-5"),
    ({"last": 0}, ""),
    ({"last": 1, "failed": True, "statuses": (400, 499)}, "r-3"),
    ({"ids": ["2", "r-4", "nobody"]}, "r-2 r-4"),
)


@pytest.mark.parametrize(("query", "found"), QUERIES)
def test_queries(path: Path, query: dict[str, Any], found: str) -> None:
    write(
        path,
        entry(1),
        entry(2, reward="other"),
        entry(3, status=422),
        entry(4, status=500, failures={"exception": 1}),
        entry(5, failures={"timeout": 2}),
    )
    assert " ".join(ids(path, **query)) == found


def test_more_than_a_page_in_order(path: Path) -> None:
    write(path, *(entry(i) for i in range(1, 181)))
    assert ids(path) == [f"r-{i}" for i in range(1, 181)]


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no journal"):
        next(read_journal(tmp_path / "nothing.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_is_being_created_is_empty(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size
    assert list(read_journal(path)) == []


def test_adaptive_requests(path: Path) -> None:
    headers = [(b"host", b"evil.example:8000"), (b"authorization", b"Bearer s3cret")]
    write(path, entry(1), entry(2, headers=headers, path="/score?key=s3cret", time=0.5))
    first, second = adaptive_requests(path)
    assert set(first) == {"id", "req_date", "method", "url", "path", "headers", "body"}
    assert second == {
        "id": "r-2",
        "req_date": "1970-01-01T00:00:00.500000+00:00",
        "method": "POST",
        "url": "http://evil.example:8000/score?key=[redacted]",
        "path": "/score",
        "headers": {"host": "evil.example:8000"},
        "body": BODY.decode(),
    }
    assert [row["id"] for row in adaptive_requests(path, last=1)] == ["r-2"]
    sizes = [len(row["body"]) for row in adaptive_requests(path)]
    assert [row["id"] for row in adaptive_requests(path, max_bytes=sum(sizes))] == ["r-1", "r-2"]
    assert [row["id"] for row in adaptive_requests(path, max_bytes=1)] == ["r-2"]
