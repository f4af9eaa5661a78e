"""Journals with made entries, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from guerdon.serve.journal.reader import JournalQuery, read_journal
from guerdon.serve.journal.store import Journal, JournalEntry

BODY = b'{"turns":[{"role":"user","content":"2 + 2?"},{"role":"assistant","content":"4"}]}'


def entry(number: int = 1, **fields: Any) -> JournalEntry:
    given: dict[str, Any] = {
        "request_id": f"r-{number}",
        "time": 1000.0 + number,
        "method": "POST",
        "path": "/score",
        "status": 200,
        "ms": 1.5,
        "reward": "brevity",
        "version": "1a2b",
        "format": "adaptive",
        "op": "score",
        "scores": [0.5],
        "request": BODY,
        "response": b'{"reward":0.5,"metadata":{},"id":null}',
    }
    return JournalEntry(**{**given, **fields})


def write(path: Path, *entries: JournalEntry) -> None:
    with Journal(path) as journal:
        for each in entries:
            journal.record(each)


def ids(path: Path, **query: Any) -> list[str]:
    return [row.request_id for row in read_journal(path, JournalQuery(**query))]
