"""Journal: requests with their responses in an SQLite file, to inspect and to score again.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from guerdon.checks import text_of
from guerdon.errors import InputError
from guerdon.serve.journal.migrations import (
    COLUMNS,
    LOCKED_SECONDS,
    Score,
    check_is_journal,
    migrate,
    transaction,
)
from guerdon.serve.redaction import redacted_body, redacted_headers, redacted_path, redacted_text

logger = logging.getLogger(__name__)

DEFAULT_BYTES = 256 << 20
LEAST_BYTES = 1 << 20
_QUEUED_BYTES = 32 << 20
_OVERHEAD = 500
_PAUSE = 0.05
_CLOSE_SECONDS = 10.0
_MODE = 0o600

_INSERT = f"INSERT INTO requests ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


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
    >>> from guerdon.serve.journal.reader import read_journal
    >>> path = pathlib.Path(tempfile.mkdtemp(), "journal.db")
    >>> with Journal(path) as journal:
    ...     journal.record(JournalEntry(request_id="r-1", time=0.0, method="POST", path="/score", status=200, ms=1.5))
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
        with transaction(self._connection):
            self._connection.executemany(_INSERT, rows)

    def _has_room(self) -> bool:
        """Whether the write-ahead log is within its share; one that a reader holds open cannot be emptied."""
        log = Path(f"{self.path}-wal")
        if not log.exists() or log.stat().st_size <= self._max_bytes // 4:
            return True
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._connection.execute(f"PRAGMA busy_timeout = {int(LOCKED_SECONDS * 1000)}")
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
        with transaction(self._connection):
            last = 0
            for identity, bytes_ in self._connection.execute("SELECT id, size FROM requests ORDER BY id"):
                last, size = identity, size - bytes_
                if size <= 0:
                    break
            return self._connection.execute("DELETE FROM requests WHERE id <= ?", (last,)).rowcount > 0

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value


def _row_of(entry: JournalEntry, most: int) -> tuple[Any, ...]:
    bodies = [_stored(body) if len(body) <= most else None for body in (entry.request, entry.response)]
    scores = json.dumps(list(entry.scores), allow_nan=False)
    size = _OVERHEAD + sum(len(body or b"") for body in bodies) + len(scores)
    return (
        redacted_text(entry.request_id),
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
        # Created before SQLite creates it, so that it and its log file get these permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), _MODE))
        path.chmod(_MODE)
    except OSError as error:
        raise InputError(f"cannot write the journal {path}: {error.strerror}") from None
    connection = sqlite3.connect(path, timeout=LOCKED_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        check_is_journal(connection, path)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        pages = max(16, min(1000, max_bytes // 16 // 4096))
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        connection.execute(f"PRAGMA journal_size_limit = {max_bytes // 16}")
        migrate(connection)
    except sqlite3.Error as error:
        connection.close()
        raise InputError(f"cannot write the journal {path}: {error}") from None
    except InputError:
        connection.close()
        raise
    return connection
