"""Journal: requests with their responses in an SQLite file, to look at and to score again.

The server's loop only puts an entry into a queue; a thread redacts and writes it. What comes faster than it can be
written is dropped and counted. Other processes read the file while it is written (SQLite's write-ahead log).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from guerdon.checks import text_of
from guerdon.errors import InputError
from guerdon.serve.redaction import redacted_body, redacted_headers, redacted_path

logger = logging.getLogger(__name__)

DEFAULT_BYTES = 256 << 20
LEAST_BYTES = 1 << 20
_QUEUED_BYTES = 32 << 20
_OVERHEAD = 500
_PAUSE = 0.05
_LOCKED_SECONDS = 5.0
_CLOSE_SECONDS = 10.0
_APPLICATION = 0x6775_726A  # "gurj", in the header of every journal
_MODE = 0o600

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
"""The changes that made the schema what it is, in order; each journal lists those that it has had."""

_COLUMNS = (
    *("request_id", "time", "reward", "version", "format", "op", "method", "path", "headers"),
    *("status", "ms", "scores", "failed", "failures", "request", "response", "size"),
)
_INSERT = f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"


@dataclass(kw_only=True, slots=True)
class JournalEntry:
    """A request and how it was answered, as the server has them; secrets are taken out when it is written."""

    request_id: str
    time: float
    """When it arrived, in seconds since 1970."""
    method: str
    path: str
    status: int
    ms: float
    headers: Sequence[tuple[bytes, bytes]] = ()
    reward: str = ""
    version: str = ""
    format: str = ""
    op: str = ""
    scores: Sequence[Score] = ()
    """One for each sample, in the order of the body."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How many samples failed, by kind."""
    request: bytes = b""
    response: bytes = b""


class Journal:
    """A journal that is being written; use as a context manager, or ``close`` it.

    The file, which only its owner may read, takes ``max_bytes`` at most together with its write-ahead log; the
    oldest requests give way. Raises InputError where it cannot be written or is something else.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "journal.db")
    >>> with Journal(path) as journal:
    ...     journal.record(Entry(request_id="r-1", time=0.0, method="POST", path="/score", status=200, ms=1.5))
    >>> [(row.id, row.request_id, row.status) for row in read_journal(path)]
    [(1, 'r-1', 200)]
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_BYTES) -> None:
        if max_bytes < LEAST_BYTES:
            raise InputError(f"a journal needs {LEAST_BYTES >> 20} MiB at least, not {max_bytes} bytes")
        self.path = Path(path)
        self.dropped = 0
        """Entries that were not written, for want of time or because the disk is full."""
        self._max_bytes = max_bytes
        self._connection = _open_to_write(self.path, max_bytes)
        self._queue: deque[JournalEntry] = deque()
        self._put = self._taken = 0
        self._recorded = self._settled = 0
        self._said = ""
        self._progress = threading.Condition()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="guerdon-journal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def record(self, entry: JournalEntry) -> None:
        """Have an entry written, soon; never waits. Call it from one thread only."""
        size = _OVERHEAD + len(entry.request) + len(entry.response) + 8 * len(entry.scores)
        if self._closing or self._put - self._taken + size > _QUEUED_BYTES:
            self.dropped += 1
            return
        self._put += size
        self._recorded += 1
        self._queue.append(entry)
        if not self._wake.is_set():
            self._wake.set()

    def flush(self, timeout: float = _CLOSE_SECONDS) -> bool:
        """Wait until what was recorded before is written; whether it is."""
        wanted = self._recorded
        with self._progress:
            return self._progress.wait_for(lambda: self._settled >= wanted, timeout)

    def close(self) -> None:
        """Write what is left and close the file."""
        self._closing = True
        self._wake.set()
        self._thread.join(_CLOSE_SECONDS)

    # In the thread.

    def _run(self) -> None:
        with contextlib.closing(self._connection):
            while True:
                self._wake.wait()
                self._wake.clear()
                if not self._closing:
                    time.sleep(_PAUSE)  # what comes close together is one transaction
                closing = self._closing
                while batch := self._take():
                    self._settle(batch)
                if closing:
                    return

    def _take(self) -> list[JournalEntry]:
        """Entries for one transaction, which must not outgrow the write-ahead log's share."""
        batch: list[JournalEntry] = []
        size = 0
        while self._queue and size < self._max_bytes // 16:
            entry = self._queue.popleft()
            cost = _OVERHEAD + len(entry.request) + len(entry.response) + 8 * len(entry.scores)
            self._taken += cost
            size += cost
            batch.append(entry)
        return batch

    def _settle(self, batch: Sequence[JournalEntry]) -> None:
        try:
            if not self._has_room():
                raise OSError("another process has been reading it for long, so that it cannot be trimmed")
            self._write([_row_of(entry, self._max_bytes // 16) for entry in batch])
            self._trim()
            self._said = ""
        except Exception as error:  # the edge: whatever is wrong with the journal, the server goes on
            self.dropped += len(batch)
            if (text := text_of(error)) != self._said:
                self._said = text
                logger.error("requests are not written to the journal %s: %s", self.path, text)
        with self._progress:
            self._settled += len(batch)
            self._progress.notify_all()

    def _write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with _transaction(self._connection):
            self._connection.executemany(_INSERT, rows)

    def _has_room(self) -> bool:
        """Whether the write-ahead log is within its share; one that a reader holds open cannot be emptied."""
        log = Path(f"{self.path}-wal")
        if not log.exists() or log.stat().st_size <= self._max_bytes // 4:
            return True
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._connection.execute(f"PRAGMA busy_timeout = {int(_LOCKED_SECONDS * 1000)}")
        return log.stat().st_size <= self._max_bytes // 4

    def _trim(self) -> None:
        """Keep the file's share: the log has a quarter, and what is deleted leaves pages that are used again."""
        if self._used() > 0.70 * self._max_bytes:
            while self._used() > 0.60 * self._max_bytes and self._delete_oldest(self._max_bytes // 20):
                pass
        if self._pragma("page_count") * self._pragma("page_size") > 0.75 * self._max_bytes:
            self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _used(self) -> int:
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    def _delete_oldest(self, size: int) -> bool:
        with _transaction(self._connection):
            last = 0
            for identity, bytes_ in self._connection.execute("SELECT id, size FROM requests ORDER BY id"):
                last, size = identity, size - bytes_
                if size <= 0:
                    break
            return self._connection.execute("DELETE FROM requests WHERE id <= ?", (last,)).rowcount > 0

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _row_of(entry: JournalEntry, most: int) -> tuple[Any, ...]:
    bodies = [_stored(body) if len(body) <= most else None for body in (entry.request, entry.response)]
    scores = json.dumps(list(entry.scores), allow_nan=False)
    size = _OVERHEAD + sum(len(body or b"") for body in bodies) + len(scores)
    return (
        entry.request_id,
        entry.time,
        entry.reward,
        entry.version,
        entry.format,
        entry.op,
        entry.method,
        redacted_path(entry.path),
        json.dumps(redacted_headers(entry.headers)),
        entry.status,
        entry.ms,
        scores,
        sum(entry.failures.values()),
        json.dumps(dict(entry.failures)),
        *bodies,
        size,
    )


def _stored(body: bytes) -> str | bytes:
    """As text where it is text, for those who look at it with SQLite's own shell."""
    body = redacted_body(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return body
    return body if "\0" in text else text


def _open_to_write(path: Path, max_bytes: int) -> sqlite3.Connection:
    try:
        # Made before SQLite would make it, with its permissions; the log beside it gets the same.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), _MODE))
        path.chmod(_MODE)
    except OSError as error:
        raise InputError(f"cannot write the journal {path}: {error.strerror}") from None
    connection = sqlite3.connect(path, timeout=_LOCKED_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _check_is_journal(connection, path)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        pages = max(16, min(1000, max_bytes // 16 // 4096))
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        connection.execute(f"PRAGMA journal_size_limit = {max_bytes // 16}")
        _migrate(connection)
    except sqlite3.Error as error:
        connection.close()
        raise InputError(f"cannot write the journal {path}: {error}") from None
    except InputError:
        connection.close()
        raise
    return connection


def _check_is_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Raises InputError for a database of something else, and for a journal of a later guerdon."""
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path} is no journal: {error}") from None
    if application != _APPLICATION and (application or tables):
        raise InputError(f"{path} is no journal, but a database of something else")
    if tables:
        unknown = {name for (name,) in connection.execute("SELECT name FROM migrations")} - set(MIGRATIONS)
        if unknown:
            raise InputError(f"{path} was written by a later version of guerdon ({min(unknown)})")


def _migrate(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
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


# Reading, in any process.


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
    """None where it was not asked for, or was too large for the journal."""
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
_SMALL = ("id", *(name for name in _COLUMNS if name not in ("request", "response", "size")))


def read_journal(
    path: str | os.PathLike[str], query: JournalQuery = _EVERYTHING, *, bodies: bool = False
) -> Iterator[JournalRecord]:
    """The recorded requests that a query means, oldest first.

    The file may be written meanwhile: it is read a few requests at a time, which does not hold it up. Raises
    InputError where it is no journal.
    """
    names = (*_SMALL, "request", "response") if bodies else _SMALL
    condition, values = query.condition()
    limit = -1 if query.last is None else query.last
    with contextlib.closing(_open_to_read(Path(path))) as connection, _readable(path):
        found = connection.execute(
            f"SELECT id FROM requests WHERE {condition} ORDER BY id DESC LIMIT ?", (*values, limit)
        ).fetchall()
        ids = [identity for (identity,) in reversed(found)]
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            rows = connection.execute(
                f"SELECT {', '.join(names)} FROM requests WHERE id IN ({', '.join('?' * len(page))}) ORDER BY id",
                page,
            ).fetchall()
            for row in rows:
                yield _recorded(dict(zip(names, row, strict=True)))


def _recorded(row: dict[str, Any]) -> JournalRecord:
    for name in ("headers", "scores", "failures"):
        row[name] = json.loads(row[name])
    for name in ("request", "response"):
        if isinstance(body := row.get(name), str):
            row[name] = body.encode()
    return JournalRecord(**row)


def _open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InputError(f"there is no journal {path}; a server writes one with --journal")
    with _readable(path):
        for mode in ("rw", "ro"):  # first as one that may take up the log of a server that was killed
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_LOCKED_SECONDS
            )
            try:
                connection.execute("PRAGMA query_only = 1")
                _check_is_journal(connection, path)
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
    path: str | os.PathLike[str], last: int = 1000, scheme: str = "http"
) -> list[dict[str, Any]]:
    """The last requests in the form of Adaptive's ``GET /requests`` (adaptive-sdk 0.14.2), oldest first.

    The address is only told, from the Host header that the caller sent; nothing is ever sent there.
    """
    return [_as_adaptive(row, scheme) for row in read_journal(path, JournalQuery(last=last), bodies=True)]


def request_url(row: JournalRecord, scheme: str = "http") -> str:
    """The address that a request was sent to, as its caller gave it."""
    return f"{scheme}://{row.headers.get('host', '')}{row.path}"


def _as_adaptive(row: JournalRecord, scheme: str) -> dict[str, Any]:
    from datetime import UTC, datetime

    return {
        "id": row.request_id,
        "req_date": datetime.fromtimestamp(row.time, UTC).isoformat(),
        "method": row.method,
        "url": request_url(row, scheme),
        "path": row.path.partition("?")[0],
        "headers": dict(row.headers),
        "body": (row.request or b"").decode("utf-8", "replace"),
    }
