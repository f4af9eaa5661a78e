"""What an entry of the catalogue needs in order to be tested like the others, where it needs anything."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """How an entry is tested."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 5.0
    """Seconds for one sample."""
    ignore: Sequence[str] = ()
    """Metrics that may differ from call to call."""
    tolerance: float = 0.0
    """How far scores may be apart that should be the same."""
    malformed: Sequence[Any] = (None, "")
    """Expected answers that none can be read from."""


@contextlib.contextmanager
def _code(folder: Path) -> Iterator[Setting]:
    yield Setting(timeout=60.0, ignore=("cpu_s", "memory_mb"))


@contextlib.contextmanager
def _sql(folder: Path) -> Iterator[Setting]:
    """The rivers of a small database, rivers.sqlite."""
    connection = sqlite3.connect(folder / "rivers.sqlite")
    connection.executescript(
        "CREATE TABLE river (name TEXT PRIMARY KEY, country TEXT, km INTEGER);"
        "INSERT INTO river VALUES ('Rhine', 'DE', 1233), ('Elbe', 'DE', 1094), ('Loire', 'FR', 1012),"
        "('Seine', 'FR', 775), ('Thames', 'GB', 346), ('Severn', 'GB', 354);"
    )
    connection.close()
    yield Setting(parameters={"folder": str(folder)}, timeout=60.0, ignore=("cpu_s",))


@contextlib.contextmanager
def _reward_model(folder: Path) -> Iterator[Setting]:
    """A model that pays by the last word; in a batch its arithmetic may be rounded otherwise."""
    from support.tiny_models import save_last_word_scorer

    model = save_last_word_scorer(folder / "model")
    yield Setting(parameters={"model": str(model)}, timeout=60.0, tolerance=1e-5, malformed=())


@contextlib.contextmanager
def _judge(folder: Path) -> Iterator[Setting]:
    """A judge that counts words behind a real server."""
    from support.judge_server import counting, judge_server

    with judge_server(counting) as server:
        yield Setting(parameters=server.options(), timeout=60.0)


SETTINGS: Mapping[str, Callable[[Path], AbstractContextManager[Setting]]] = {
    "code": _code,
    "judge": _judge,
    "reward_model": _reward_model,
    "sql": _sql,
}
"""By the name of the entry; each is given an empty folder."""


def setting_of(name: str, folder: Path) -> AbstractContextManager[Setting]:
    """How the entry of this name is tested."""
    make = SETTINGS.get(name)
    return contextlib.nullcontext(Setting()) if make is None else make(folder)
