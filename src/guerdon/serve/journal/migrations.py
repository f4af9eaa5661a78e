"""The journal's schema: its tables, the migrations that make them, and the check that a file is a journal."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from guerdon.errors import InputError

LOCKED_SECONDS = 5.0
"""How long a connection waits for another process's lock."""
_APPLICATION = 0x6775_726A  # "gurj", in the header of every journal

Score = float | str | None
"""A score; the kind of a failure, such as ``"timeout"``, where it is known; None for one without a score."""

MIGRATIONS: Mapping[str, tuple[str, ...]] = {
    "0001_requests": (
        """
        CREATE TABLE requests (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            request_id TEXT NOT NULL,
            time REAL NOT NULL,
            reward TEXT NOT NULL,
            version TEXT NOT NULL,
            format TEXT NOT NULL,
            op TEXT NOT NULL,
            method TEXT NOT NULL,
            path TEXT NOT NULL,
            headers TEXT NOT NULL,
            status INTEGER NOT NULL,
            ms REAL NOT NULL,
            scores TEXT NOT NULL,
            failed INTEGER NOT NULL,
            failures TEXT NOT NULL,
            request BLOB,
            response BLOB,
            size INTEGER NOT NULL
        )
        """,
        "CREATE INDEX requests_by_request_id ON requests (request_id)",
        "CREATE INDEX requests_by_time ON requests (time)",
    ),
}
"""The statements that make the schema, in order, by name; each journal lists those that were applied to it."""

COLUMNS = (
    *("request_id", "time", "reward", "version", "format", "op", "method", "path", "headers"),
    *("status", "ms", "scores", "failed", "failures", "request", "response", "size"),
)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done within, or roll it back where that raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def check_is_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Raises InputError for a database of something else, and for a journal of a later guerdon."""
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path} is not a journal: {error}") from None
    if application != _APPLICATION and (application or tables):
        raise InputError(f"{path} is not a journal, but a database of something else")
    if tables:
        unknown = {name for (name,) in connection.execute("SELECT name FROM migrations")} - set(MIGRATIONS)
        if unknown:
            raise InputError(f"{path} was written by a later version of guerdon ({min(unknown)})")


def is_migrated(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; they are not while a server creates the journal."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'requests'").fetchone()
    return found is not None


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the migrations that a journal has not had yet."""
    with transaction(connection):
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied REAL NOT NULL)"
        )
        had = {name for (name,) in connection.execute("SELECT name FROM migrations")}
        for name, statements in MIGRATIONS.items():
            if name not in had:
                for statement in statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO migrations VALUES (?, ?)", (name, time.time()))
