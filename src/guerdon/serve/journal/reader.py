"""Reading a journal, in any process, also while a server writes it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.serve.journal.migrations import COLUMNS, LOCKED_SECONDS, Score, check_is_journal, is_migrated
from guerdon.serve.redaction import redacted_body


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalRecord:
    """A request as the journal has it."""

    id: int
    request_id: str
    time: float
    reward: str
    version: str
    format: str
    op: str
    method: str
    path: str
    headers: Mapping[str, str]
    status: int
    ms: float
    scores: Sequence[Score]
    failed: int
    failures: Mapping[str, int]
    request: bytes | None = None
    """None if it was not requested, or was too large for the journal."""
    response: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalQuery:
    """Which of the recorded requests; by default all."""

    reward: str | None = None
    statuses: tuple[int, int] | None = None
    """From the first to the second, both included."""
    failed: bool = False
    """Only those that were refused or have a sample that failed."""
    since: float | None = None
    """Seconds since 1970."""
    ids: Sequence[str] = ()
    """The journal's numbers or the requests' own ids."""
    last: int | None = None
    """That many at most, the latest."""

    def condition(self) -> tuple[str, list[Any]]:
        """As SQL, with its values."""
        parts: list[str] = ["1"]
        values: list[Any] = []
        if self.reward is not None:
            parts.append("reward = ?")
            values.append(self.reward)
        if self.statuses is not None:
            parts.append("status BETWEEN ? AND ?")
            values += self.statuses
        if self.failed:
            parts.append("(status >= 400 OR failed > 0)")
        if self.since is not None:
            parts.append("time >= ?")
            values.append(self.since)
        if self.ids:
            marks = ", ".join("?" * len(self.ids))
            parts.append(f"(CAST(id AS TEXT) IN ({marks}) OR request_id IN ({marks}))")
            values += [*self.ids, *self.ids]
        return " AND ".join(parts), values


_EVERYTHING = JournalQuery()
_PAGE = 50
_BODIES = 4
"""Requests that are read at once, and those that are with their bodies."""
_SMALL = ("id", *(name for name in COLUMNS if name not in ("request", "response", "size")))


def read_journal(
    path: str | os.PathLike[str], query: JournalQuery = _EVERYTHING, *, bodies: bool = False
) -> Iterator[JournalRecord]:
    """The recorded requests that a query means, oldest first.

    The file may be written meanwhile: it is read a few requests at a time, which does not hold it up. Raises
    InputError where it is not a journal.
    """
    names = (*_SMALL, "request", "response") if bodies else _SMALL
    condition, values = query.condition()
    limit = -1 if query.last is None else query.last
    with contextlib.closing(_open_to_read(Path(path))) as connection, _readable(path):
        if not is_migrated(connection):
            return
        found = connection.execute(
            f"SELECT id FROM requests WHERE {condition} ORDER BY id DESC LIMIT ?", (*values, limit)
        ).fetchall()
        ids = [identity for (identity,) in reversed(found)]
        size = _BODIES if bodies else _PAGE
        for start in range(0, len(ids), size):
            page = ids[start : start + size]
            rows = connection.execute(
                f"SELECT {', '.join(names)} FROM requests WHERE id IN ({', '.join('?' * len(page))}) ORDER BY id",
                page,
            ).fetchall()
            for row in rows:
                yield _recorded(dict(zip(names, row, strict=True)), path)


def _recorded(row: dict[str, Any], path: str | os.PathLike[str]) -> JournalRecord:
    """A row as a record. Raises InputError for one that no server wrote."""
    identity = row["id"]
    try:
        for name in ("headers", "scores", "failures"):
            row[name] = json.loads(row[name])
        for name in ("request", "response"):
            if isinstance(body := row.get(name), str):
                row[name] = body.encode()
        for name, kinds in _KINDS.items():
            if not isinstance(row.get(name), kinds):
                raise ValueError(f"{name} is of a wrong type")
        datetime.fromtimestamp(row["time"], UTC)
        if not all(map(_is_text, row["headers"].values())) or not all(map(_is_score, row["scores"])):
            raise ValueError("headers or scores are of a wrong type")
        if not all(isinstance(count, int) for count in row["failures"].values()):
            raise ValueError("failures are of a wrong type")
    except (TypeError, ValueError, OverflowError, OSError, RecursionError) as error:
        what = " ".join(str(error).split())[:200]
        raise InputError(f"the journal {os.fspath(path)} is damaged: record {identity}: {what}") from None
    return JournalRecord(**row)


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("request_id", "reward", "version", "format", "op", "method", "path"), str),
    **dict.fromkeys(("headers", "failures"), dict),
    **dict.fromkeys(("id", "status", "failed"), int),
    **dict.fromkeys(("time", "ms"), (int, float)),
    **dict.fromkeys(("request", "response"), (bytes, type(None))),
    "scores": list,
}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_score(value: Any) -> bool:
    return isinstance(value, str | int | float | None)


def _open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InputError(f"there is no journal {path}; a server writes one with --journal")
    with _readable(path):
        for mode in ("rw", "ro"):  # first as one that may take up the log of a server that was killed
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=LOCKED_SECONDS
            )
            try:
                connection.execute("PRAGMA query_only = 1")
                check_is_journal(connection, path)
                if is_migrated(connection):
                    connection.execute("SELECT 1 FROM requests LIMIT 1").fetchall()
            except sqlite3.OperationalError:
                connection.close()
                if mode == "ro":
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection
    raise AssertionError


@contextlib.contextmanager
def _readable(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise InputError(f"cannot read the journal {os.fspath(path)}: {error}") from None


def adaptive_requests(
    path: str | os.PathLike[str], last: int = 1000, scheme: str = "http", *, max_bytes: int | None = None
) -> list[dict[str, Any]]:
    """The last requests in the form of Adaptive's ``GET /requests`` (adaptive-sdk 0.14.2), oldest first.

    Of more than ``max_bytes`` of bodies, the latest are given, one at least.

    The address is only shown, as the caller's Host header gave it; nothing is ever sent there.
    """
    rows: deque[JournalRecord] = deque()
    size = 0
    for row in read_journal(path, JournalQuery(last=last), bodies=True):
        rows.append(row)
        size += len(row.request or b"")
        while max_bytes is not None and size > max_bytes and len(rows) > 1:
            size -= len(rows.popleft().request or b"")
    return [_as_adaptive(row, scheme) for row in rows]


def request_url(row: JournalRecord, scheme: str = "http") -> str:
    """The address that a request was sent to, as its caller gave it."""
    return f"{scheme}://{row.headers.get('host', '')}{row.path}"


def _as_adaptive(row: JournalRecord, scheme: str) -> dict[str, Any]:
    return {
        "id": row.request_id,
        "req_date": datetime.fromtimestamp(row.time, UTC).isoformat(),
        "method": row.method,
        "url": request_url(row, scheme),
        "path": row.path.partition("?")[0],
        "headers": dict(row.headers),
        "body": redacted_body(row.request or b"").decode("utf-8", "replace"),
    }
