"""Scores on disk: a row a sample in order, appended as results come, completed after an interruption.

A JSON Lines file is appended to in place. A table (CSV, tab-separated values, Parquet) has columns that are
known at the end only, so its rows gather in ``NAME.partial.jsonl`` beside it and are converted when the run is
complete.

Every row names what made it (reward, version, parameters) and carries ``sample``, a hash of the sample
that was scored, and ``checksum``, a hash of the row itself: a resumed run refuses a file whose reward or data are not
its own, and one that was damaged or edited. A checksum is no signature: who can write the file can forge it.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from guerdon.atomic_files import atomic_write
from guerdon.checks import text_of
from guerdon.errors import InputError, ResumeError
from guerdon.scoring.rows import check_row, dumps, is_intact, loads, sealed_line
from guerdon.scoring.tables import SEPARATORS, import_pyarrow, write_parquet, write_separated
from guerdon.types import Provenance

SUFFIXES = (".jsonl", *SEPARATORS, ".parquet")


def check_suffix(path: Path) -> None:
    """Raises InputError unless the file is one that scores can be written to."""
    if path.suffix not in SUFFIXES:
        *others, last = SUFFIXES
        raise InputError(f"{path}: scores are written to a file that ends in {', '.join(others)} or {last}")
    if path.suffix == ".parquet":
        import_pyarrow("writing Parquet")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} to")


class ScoresFile:
    """The output file of a run, open for appending; use as a context manager.

    ``mode`` is ``"new"`` (an existing file is refused), ``"overwrite"`` or ``"resume"``.
    """

    def __init__(self, path: str | Path, made_by: Provenance, mode: str = "new") -> None:
        self.path = Path(path)
        check_suffix(self.path)
        self._made_by = made_by
        self._is_table = self.path.suffix != ".jsonl"
        self.journal = self.path.with_name(self.path.name + ".partial.jsonl") if self._is_table else self.path
        """The file that rows are appended to."""
        self._mode = mode
        self._refuse_existing()
        self._file: IO[bytes] = self._open()
        try:
            # Another run may have completed the file between the look at it and the lock on it.
            self._refuse_existing()
        except BaseException:  # whatever it was, nobody holds what would close the file
            self._file.close()
            raise
        if mode == "overwrite":
            self._file.truncate(0)
            if self._is_table:
                self.path.unlink(missing_ok=True)

    def _refuse_existing(self) -> None:
        there = next((p for p in (self.path, self.journal) if p.exists() and p.stat().st_size), None)
        if self._mode == "new" and there is not None:
            raise InputError(
                f"{there} exists already; complete it with --resume or start again with --overwrite"
            )
        if self._mode == "resume" and self._is_table and self.path.exists():
            raise ResumeError(f"{self.path} is complete; start again with --overwrite", path=str(self.path))

    def _open(self) -> IO[bytes]:
        try:
            file = self.journal.open("a+b")
        except OSError as error:
            reason = error.strerror or "it is not an ordinary file"
            raise InputError(f"cannot write {self.journal}: {reason}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(f"{self.journal} is being written by another run") from None
        return file

    def __enter__(self) -> ScoresFile:
        return self

    def __exit__(self, *exc: object) -> None:
        # Closing writes what is left in the buffer, which fails again where writing it failed before.
        with contextlib.suppress(OSError):
            self._file.close()

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows that are there already; a last line that was cut off is removed from the file.

        Raises ResumeError where a row is not one of ours or was made by another reward or version.
        """
        end = 0
        with self.journal.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                yield self._checked(line, number)
                end += len(line)
        self._file.truncate(end)

    def _checked(self, line: bytes, number: int) -> dict[str, Any]:
        where = f"{self.journal}, line {number}"
        if not is_intact(line):
            raise ResumeError(
                f"{where} is not as guerdon wrote it: its checksum is missing or wrong; "
                "start again with --overwrite"
            )
        try:
            row = loads(line)
            check_row(row)
            name, version = row["reward"], row["version"]
            row["score"], row["sample"]
        except (ValueError, KeyError) as error:
            raise ResumeError(
                f"{where} is not a row of scores ({text_of(error)}); start again with --overwrite"
            ) from None
        del row["checksum"]
        if (name, version) != (self._made_by.reward, self._made_by.version):
            raise ResumeError(
                f"{where} was scored by {name} {version}, and the reward is now {self._made_by.reward} "
                f"{self._made_by.version}: its source or its parameters changed; start again with --overwrite"
            )
        return dict(row)

    def keep(self, count: int) -> None:
        """Cut the file down to its first ``count`` rows."""
        with self.journal.open("rb") as lines:
            end = sum(len(line) for line in itertools.islice(lines, count))
        self._file.truncate(end)

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows; they are with the system on return."""
        text = b"".join(map(sealed_line, rows))
        with _writing(self.journal, "; what was written so far stays, and --resume goes on from there"):
            self._file.write(text)
            self._file.flush()

    def complete(self) -> None:
        """The run is done: a table is made of the rows now."""
        if self._is_table:
            with self.journal.open("rb") as lines:
                write_rows(self.path, map(_without_checksum, lines))
            self.journal.unlink()


def _without_checksum(line: bytes) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line)
    row.pop("checksum", None)
    return row


class RowStream:
    """A stream that rows are written to as JSON Lines; in place of a ScoresFile."""

    path = None

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows; they are with the system on return."""
        self._stream.write("".join(dumps(row) + "\n" for row in rows))
        self._stream.flush()

    def complete(self) -> None:
        """The run is done; the stream stays open."""


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows to a file of one of the ``SUFFIXES``, which appears only once it is whole."""
    check_suffix(path)
    path = path.resolve()  # what a link points to is replaced, not the link
    with _writing(path, ""), atomic_write(path) as half:
        if path.suffix == ".parquet":
            write_parquet(half, rows)
        elif path.suffix in SEPARATORS:
            write_separated(half, rows, SEPARATORS[path.suffix])
        else:
            with half.open("w", encoding="ascii") as file:
                file.writelines(dumps(row) + "\n" for row in rows)


@contextlib.contextmanager
def _writing(path: Path, consequence: str) -> Iterator[None]:
    """Say of a full disk and its like which file it befell."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}{consequence}") from error
