"""A reward server for text to SQL: it runs the query of a completion and compares the rows.

python examples/servers/sql.py                # makes a small database and listens on 127.0.0.1:50056
python examples/servers/sql.py --folder dbs   # the databases of a folder

A model wrote the query, and the request names the database, so neither is trusted: the database must be in the
folder, the query cannot write, attach or load anything, and rows, cells and time are limited.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from guerdon import Response, RewardServer, ServerInfo, ValidatedRequest

MAX_ROWS = 1_000
MAX_COLUMNS = 100
MAX_CELL_BYTES = 100_000
MAX_RESULT_BYTES = 2_000_000
MAX_SECONDS = 2.0
SHOWN_ROWS = 10
STEPS_BETWEEN_LOOKS = 1_000

ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
Row = dict[str, Any]


class QueryError(Exception):
    """The query or its database is not usable."""


class SQLMetadata(BaseModel):
    """The metadata that every request must have."""

    ground_truth_results: list[Row] = Field(description="The expected rows, as objects")
    db_path: str = Field(description="The file name of a SQLite database in the server's folder")


def database_in(folder: Path, name: str) -> Path:
    """The file of that name; raises QueryError unless it lies in the folder, links followed."""
    folder = folder.resolve()
    try:
        file = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise QueryError(f"there is no database {name!r}") from None
    if not file.is_relative_to(folder) or not file.is_file():
        raise QueryError(f"there is no database {name!r}")
    return file


def run(file: Path, query: str) -> list[Row]:
    """The rows of a query; raises QueryError if it fails, writes, takes too long or returns too much."""
    # Immutable: the file does not change, so SQLite need not look for a journal or a lock beside it.
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("pragma query_only = on")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
        connection.set_authorizer(_authorize)
        end = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_LOOKS)
        try:
            return _rows_of(connection.execute(query))
        except (sqlite3.Error, sqlite3.Warning, ValueError, UnicodeError) as error:
            late = time.monotonic() > end
            raise QueryError(f"stopped after {MAX_SECONDS:g} s" if late else str(error)) from None


def _rows_of(cursor: sqlite3.Cursor) -> list[Row]:
    names = [column[0] for column in cursor.description or ()]
    rows: list[Row] = []
    room = MAX_RESULT_BYTES
    for values in cursor:
        room -= sum(len(value) for value in values if isinstance(value, str | bytes))
        if len(rows) == MAX_ROWS or room < 0:
            raise QueryError(f"more than {MAX_ROWS} rows or {MAX_RESULT_BYTES} bytes")
        rows.append(dict(zip(names, values, strict=True)))
    return rows


def _authorize(action: int, _first: str | None, second: str | None, _db: str | None, _by: str | None) -> int:
    # For a function the second argument is its name.
    loads = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension"
    return sqlite3.SQLITE_OK if action in ALLOWED and not loads else sqlite3.SQLITE_DENY


def same_rows(found: list[Row], expected: list[Row]) -> bool:
    """Whether the rows are the same in any order; duplicates count."""
    return Counter(map(_key, found)) == Counter(map(_key, expected))


def _key(row: Row) -> frozenset[tuple[str, Any]]:
    return frozenset((name, repr(v) if isinstance(v, list | dict) else v) for name, v in row.items())


class SQLServer(RewardServer[SQLMetadata]):
    """1 for the expected rows, 0 for others, -1 for a query that does not run."""

    def __init__(
        self, db_base_path: str | Path, port: int = 50056, blocking: bool = True, **options: Any
    ) -> None:
        self.folder = Path(db_base_path)
        super().__init__(port, SQLMetadata, blocking, **options)

    async def score(self, request: ValidatedRequest[SQLMetadata]) -> Response:
        query = request.turns[-1].content.strip()
        if not query.lower().startswith(("select", "with")):
            return Response(reward=-1.0, metadata={"status": "invalid_query"})
        try:
            file = database_in(self.folder, request.metadata.db_path)
            # In a thread: SQLite releases the interpreter while it works, and other samples go on.
            found = await asyncio.to_thread(run, file, query)
        except QueryError as error:
            return Response(reward=-1.0, metadata={"status": "error", "message": str(error)})
        right = same_rows(found, request.metadata.ground_truth_results)
        shown = [{name: _shown(value) for name, value in row.items()} for row in found[:SHOWN_ROWS]]
        status = "success" if right else "wrong_result"
        return Response(reward=float(right), metadata={"status": status, "actual_results": shown})

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1.0", name="SQL", description="Runs a query and compares its rows.")


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def make_database(file: Path) -> None:
    """A small database to try the server on: seas and their depths in metres."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("create table sea (name text, depth integer)")
        seas = [("Baltic", 459), ("North", 700), ("Black", 2212), ("Aral", 40)]
        connection.executemany("insert into sea values (?, ?)", seas)


def main() -> None:
    parser = argparse.ArgumentParser(description="A reward server for text to SQL.")
    parser.add_argument("--folder", type=Path, help="where the databases are")
    parser.add_argument("--port", type=int, default=50056)
    given = parser.parse_args()
    if given.folder is not None:
        SQLServer(given.folder, given.port)
        return
    with tempfile.TemporaryDirectory() as folder:
        make_database(Path(folder, "geography.sqlite"))
        SQLServer(folder, given.port)


if __name__ == "__main__":
    main()
