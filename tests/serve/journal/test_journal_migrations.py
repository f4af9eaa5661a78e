"""Files that are not a journal of this version are left alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.serve.journal.reader import read_journal
from guerdon.serve.journal.store import Journal
from support.journal_work import entry, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_a_file_of_something_else_is_left_alone(path: Path) -> None:
    text = b"not a database, but more than a header's worth of text; " * 20
    path.write_bytes(text)
    with pytest.raises(InputError, match="is not a journal"):
        Journal(path)
    with pytest.raises(InputError, match="is not a journal"):
        next(read_journal(path))
    assert path.read_bytes() == text


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE accounts (name TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for use in (Journal, lambda file: next(read_journal(file))):
        with pytest.raises(InputError, match="a database of something else"):
            use(path)
    assert path.read_bytes() == before


def test_a_journal_of_a_later_version_is_left_alone(path: Path) -> None:
    write(path, entry())
    later = sqlite3.connect(path)
    later.execute("INSERT INTO migrations VALUES ('9999_wonders', 0)")
    later.commit()
    later.close()
    for use in (Journal, lambda file: next(read_journal(file))):
        with pytest.raises(InputError, match=r"a later version of guerdon \(9999_wonders\)"):
            use(path)
