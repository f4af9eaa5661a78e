"""Verdicts that were given before, in a file that several processes may use at once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.errors import InputError

_WAIT_SECONDS = 30.0
_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, message TEXT NOT NULL) WITHOUT ROWID"


class VerdictCache:
    """A judge's messages by what was asked; only such as hold a verdict are put there.

    Each use opens the file anew and waits for others to finish with it, so that threads, processes and forks need
    not know of each other. Raises InputError where the file cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @staticmethod
    def key(address: str, body: Mapping[str, Any]) -> str:
        """The key of a request: all of it and where it goes, since all of that decides the verdict."""
        content = json.dumps([address, body], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()

    async def get(self, key: str) -> str | None:
        """The message for a key, where there is one."""
        return await asyncio.to_thread(self._get, key)

    async def put(self, key: str, message: str) -> None:
        """Keep a message; the first one for a key stays."""
        await asyncio.to_thread(self._put, key, message)

    def _get(self, key: str) -> str | None:
        with self._open() as connection:
            row = connection.execute("SELECT message FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, key: str, message: str) -> None:
        with self._open() as connection:
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, message))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            file = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
            with contextlib.closing(file) as connection, connection:  # the second commits
                connection.execute(_TABLE)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"the judge's cache {self.path} cannot be used: {error}") from None
