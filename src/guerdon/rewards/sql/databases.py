"""Database files: found in a folder and nowhere else, read as a whole, kept while they are in use."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown

MAX_BYTES = 256 << 20
"""Bytes that a database may have; each run of a query has a copy of its own."""
_KEPT_BYTES = 512 << 20
_ENDINGS = (".sqlite", ".sqlite3", ".db", ".duckdb")

Engine = Literal["sqlite", "duckdb"]
ValueT = TypeVar("ValueT")


class SizedCache(Generic[ValueT]):
    """What was used last, up to a number of bytes; safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Any, tuple[ValueT, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], tuple[ValueT, int]]) -> ValueT:
        """What is kept under a key, else what ``make`` makes, which also gives how many bytes it takes."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        # Outside of the lock: two threads may make the same, but none waits for what another makes.
        made, size = make()
        with self._lock:
            if key not in self._held and size <= self._most:
                self._held[key] = (made, size)
                # Added up anew: a count kept here would be part of what a reward's version covers.
                while sum(size for _, size in self._held.values()) > self._most:
                    self._held.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class Database:
    """The content of a database file."""

    name: str
    content: bytes
    digest: str
    engine: Engine


_databases: SizedCache[Database] = SizedCache(_KEPT_BYTES)


def database_in(folder: Any, name: Any) -> Database:
    """The database of that name in a folder, links followed.

    A name is a path relative to the folder, or a name such as ``geography`` that stands for
    ``geography.sqlite`` or ``geography/geography.sqlite``, as Spider and BIRD lay out their databases. Raises
    InputError where there is none, where it is outside of the folder, no regular file, or no database.
    """
    path = _path_in(folder, name)
    try:
        about = path.stat()
        key = (str(path), about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        return _databases.get(key, lambda: _sized(_read(path, str(name))))
    except OSError as error:
        raise InputError(f"the database {shown(name)} cannot be read: {error.strerror}") from error


def _sized(database: Database) -> tuple[Database, int]:
    return database, len(database.content)


def _path_in(folder: Any, name: Any) -> Path:
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise InputError("give folder=, the folder that the databases are in")
    if not isinstance(name, str) or not name:
        raise InputError("there is no name of a database: give db_path, database or db_id")
    parts = name.replace("\\", "/").split("/")
    if "\0" in name or ".." in parts or name.startswith(("/", "\\", "~")) or Path(name).is_absolute():
        raise InputError(f"the database {shown(name)} must be a path within the folder, without ..")
    try:
        root = Path(folder).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise InputError(f"there is no folder {shown(str(folder))}") from None
    last = parts[-1]
    for spelled in (name, *(f"{n}{end}" for end in _ENDINGS for n in (name, f"{name}/{last}"))):
        try:
            path = (root / spelled).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if path.is_relative_to(root) and path.is_file():
            return path
    raise InputError(f"there is no database {shown(name)} in the folder")


def _read(path: Path, name: str) -> Database:
    # Between the look and the opening the file may have become something else: a link, or a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"the database {shown(name)} is not a regular file")
        if about.st_size > MAX_BYTES:
            raise InputError(
                f"the database {shown(name)} has {about.st_size >> 20} MiB, over {MAX_BYTES >> 20}; make a smaller one"
            )
        content = file.read(MAX_BYTES + 1)
    engine: Engine
    if content.startswith(b"SQLite format 3\0"):
        engine, journal = "sqlite", path.with_name(f"{path.name}-wal")
    elif content[8:12] == b"DUCK":
        engine, journal = "duckdb", path.with_name(f"{path.name}.wal")
    else:
        raise InputError(f"the file {shown(name)} is neither a SQLite nor a DuckDB database")
    if journal.is_file() and journal.stat().st_size:
        raise InputError(
            f"the database {shown(name)} has changes in {journal.name} that are not in the file yet; "
            "close what writes to it, or make a checkpoint"
        )
    return Database(name, content, hashlib.sha256(content).hexdigest(), engine)
