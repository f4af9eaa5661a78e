"""Runs one query on databases.

It reads ``request.json`` from its working directory and prints a line once it is ready, then one JSON line for
each database, in order. The confinement of the process is what holds; what the database itself refuses here is
a second line.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

_STEPS_BETWEEN_LOOKS = 1_000
_ROWS_AT_ONCE = 256
_CELL_BYTES = 4_000_000
_MIB = 1 << 20
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_DUCKDB_SETTINGS = (
    "enable_progress_bar = false",
    "temp_directory = ''",
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)
_KINDS = (
    ("too_slow", ("interrupted", "interrupt")),
    (
        "too_large",
        ("out of memory", "too big", "could not allocate", "memory", "too many", "overflow", "too deep"),
    ),
    ("several_statements", ("one statement at a time",)),
    (
        "forbidden",
        (
            "not authorized",
            "authorization denied",
            "prohibited",
            "read-only",
            "readonly",
            "disabled by config",
            "permission error",
        ),
    ),
    ("unknown_name", ("no such", "does not exist", "not found", "ambiguous", "unknown")),
    ("syntax", ("syntax error", "unrecognized token", "incomplete input", "parser error")),
)


class QueryStoppedError(Exception):
    """A query that was stopped by this program; ``kind`` is the word for it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def main() -> None:
    """DatabaseResults the request in the working directory."""
    with open("request.json", encoding="utf-8") as file:
        request = json.load(file)
    # What an engine itself has to say, such as how far it is, must not come between the lines.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    ask = _ask_sqlite
    if request["engine"] == "duckdb":
        import duckdb

        # That it runs here at all has to show before a query is blamed: it ends its process where it may see
        # but not read a file such as /proc/self/cgroup.
        duckdb.connect().close()
        ask = _ask_duckdb
    print(json.dumps("ready"), file=out, flush=True)
    room = request["max_bytes"]
    for database in request["databases"]:
        answer = _answer(ask, database, request, room)
        line = json.dumps(answer)
        room -= len(line)
        print(line, file=out, flush=True)
        if "kind" in answer and request["stop_at_error"]:
            return


def _answer(
    ask: Callable[[str, dict[str, Any], int], dict[str, Any]],
    database: str,
    request: dict[str, Any],
    room: int,
) -> dict[str, Any]:
    started = time.process_time()
    try:
        answer = ask(database, request, room)
    except QueryStoppedError as refusal:
        answer = {"kind": refusal.kind, "error": str(refusal)}
    except MemoryError:
        answer = {"kind": "too_large", "error": "out of memory"}
    except Exception as error:  # whatever an engine raises for a query is what came of the query
        answer = {"kind": _kind(str(error)), "error": str(error)[:2_000]}
    return {**answer, "cpu_s": time.process_time() - started}


def _kind(message: str) -> str:
    text = message.lower()
    return next((kind for kind, signs in _KINDS if any(sign in text for sign in signs)), "error")


def _ask_sqlite(database: str, request: dict[str, Any], room: int) -> dict[str, Any]:
    # Immutable: nothing else has the file open, so neither a journal nor a lock is looked for beside it.
    connection = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        connection.execute(f"pragma hard_heap_limit = {request['memory_mb'] * _MIB}")
        connection.execute("pragma temp_store = memory")
        connection.execute("pragma query_only = on")
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
        connection.set_authorizer(_authorize)
        end = time.process_time() + request["seconds"]
        connection.set_progress_handler(lambda: time.process_time() > end, _STEPS_BETWEEN_LOOKS)
        cursor = connection.execute(request["query"])
        if cursor.description is None:
            raise QueryStoppedError("no_query", "there is no query in it")
        names = [column[0] for column in cursor.description]
        return {"columns": names, "rows": _rows(cursor.fetchmany, request["max_rows"], room)}
    finally:
        connection.close()


def _authorize(action: int, _first: str | None, second: str | None, _db: str | None, _by: str | None) -> int:
    # For a function the second argument is its name.
    loads = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension"
    return sqlite3.SQLITE_OK if action in _ALLOWED and not loads else sqlite3.SQLITE_DENY


def _ask_duckdb(database: str, request: dict[str, Any], room: int) -> dict[str, Any]:
    import duckdb

    statements = duckdb.extract_statements(request["query"])
    if len(statements) != 1:
        kind = "several_statements" if statements else "no_query"
        raise QueryStoppedError(
            kind, "only one statement at a time" if statements else "there is no query in it"
        )
    if statements[0].type != duckdb.StatementType.SELECT:
        raise QueryStoppedError("forbidden", f"only queries are run, no {statements[0].type.name}")
    connection = duckdb.connect(database, read_only=True, config={"threads": "1"})
    # In this order: the last ones forbid to change the others.
    connection.execute(f"set memory_limit = '{request['memory_mb']}MiB'")
    for setting in _DUCKDB_SETTINGS:
        connection.execute(f"set {setting}")
    ended = threading.Event()
    threading.Thread(target=_watch, args=(connection, request["seconds"], ended), daemon=True).start()
    try:
        cursor = connection.execute(statements[0])
        names = [column[0] for column in cursor.description or ()]
        return {"columns": names, "rows": _rows(cursor.fetchmany, request["max_rows"], room)}
    finally:
        ended.set()
        connection.close()


def _watch(connection: Any, seconds: float, ended: threading.Event) -> None:
    """Interrupts a query that used up its processor time; DuckDB has no limit of its own."""
    end = time.process_time() + seconds
    while not ended.wait(0.02):
        if time.process_time() > end:
            connection.interrupt()


def _rows(fetch: Callable[[int], Iterable[Any]], most: int, room: int) -> list[list[Any]]:
    rows: list[list[Any]] = []
    while batch := list(fetch(_ROWS_AT_ONCE)):
        for values in batch:
            row = [plain(value) for value in values]
            room -= len(json.dumps(row)) + 2
            if len(rows) == most or room < 0:
                what = f"more than {most} rows" if room >= 0 else "more bytes than a result may have"
                raise QueryStoppedError("too_large", what)
            rows.append(row)
    return rows


def plain(value: Any) -> Any:
    """A value as JSON with its type kept: what JSON lacks becomes an object with one key."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"blob": bytes(value).hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, list | tuple):
        return {"list": [plain(item) for item in value]}
    if isinstance(value, dict):
        return {"map": [[plain(key), plain(item)] for key, item in value.items()]}
    return {type(value).__name__: str(value)}
