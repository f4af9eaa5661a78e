"""Scores on disk: a row a sample in order, appended as results come, completed after an interruption.

A JSON Lines file is appended to in place. A Parquet file cannot be, so its rows gather in
``NAME.partial.jsonl`` beside it and are converted when the run is complete.

Every row names what made it (reward, version, parameters) and carries ``sample``, a hash of the sample
that was scored: a resumed run refuses a file whose reward or data are not its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from guerdon.errors import InputError, MissingExtraError, ResumeError
from guerdon.scoring.outcome import Outcome, metrics_as_dicts, metrics_from_dicts
from guerdon.types import Provenance, Sample

SUFFIXES = (".jsonl", ".parquet")
_PARQUET_ROWS = 10_000
_METRIC_COLUMNS = 200


def row_of(
    identity: str | int, outcome: Outcome, seconds: float, made_by: Provenance, digest: str | None = None
) -> dict[str, Any]:
    """One row as it is written."""
    row: dict[str, Any] = {
        "id": identity,
        "score": outcome.score,
        "error": outcome.error,
        "error_kind": outcome.kind,
        "reason": outcome.reason,
        "metrics": metrics_as_dicts(outcome.metrics),
        "seconds": round(seconds, 7),
        "reward": made_by.reward,
        "version": made_by.version,
        "parameters": made_by.parameters,
    }
    if outcome.steps is not None:
        row["step_outputs"] = outcome.steps
    if digest is not None:
        row["sample"] = digest
    return row


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The outcome in a written row."""
    return Outcome(
        row["score"],
        row.get("reason"),
        metrics_from_dicts(row.get("metrics") or {}),
        row.get("step_outputs"),
        row.get("error"),
        row.get("error_kind"),
    )


def dumps(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON; ASCII only, so that no text in it can break the line or the encoding.

    Infinity and NaN, which only parameters can hold, are written as text: JSON has no word for them.
    """
    try:
        return json.dumps(row, default=str, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_without_infinities(row), default=str, separators=(",", ":"))


def _without_infinities(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return value


def digest_of(row: Mapping[str, Any] | Sample) -> str:
    """A hash of a sample's content, the same in every process.

    >>> digest_of({"messages": [], "answer": 4}) == digest_of({"answer": 4, "messages": []})
    True
    """
    plain = row.to_row() if isinstance(row, Sample) else row
    try:
        text = json.dumps(plain, sort_keys=True, default=_plain)
    except (TypeError, ValueError):  # keys of mixed types, or a value that refuses
        text = repr(plain)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def check_suffix(path: Path) -> None:
    """Raises InputError unless the file is one that scores can be written to."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: scores are written to a .jsonl or a .parquet file")
    if path.suffix == ".parquet":
        _pyarrow()
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
        self._is_parquet = self.path.suffix == ".parquet"
        self.journal = (
            self.path.with_name(self.path.name + ".partial.jsonl") if self._is_parquet else self.path
        )
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
            if self._is_parquet:
                self.path.unlink(missing_ok=True)

    def _refuse_existing(self) -> None:
        there = next((p for p in (self.path, self.journal) if p.exists() and p.stat().st_size), None)
        if self._mode == "new" and there is not None:
            raise InputError(
                f"{there} exists already; complete it with --resume or start again with --overwrite"
            )
        if self._mode == "resume" and self._is_parquet and self.path.exists():
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
        try:
            row = json.loads(line)
            name, version = row["reward"], row["version"]
            row["score"], row["sample"]
        except (ValueError, KeyError, TypeError):
            raise ResumeError(f"{where} is not a row of scores; start again with --overwrite") from None
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

    def append(self, rows: Iterable[tuple[str | int, Outcome, float, str | None]]) -> None:
        """Write rows (id, outcome, seconds, digest of the sample); they are with the system on return."""
        text = "".join(dumps(row_of(i, o, s, self._made_by, d)) + "\n" for i, o, s, d in rows)
        with _writing(self.journal, "; what was written so far stays, and --resume goes on from there"):
            self._file.write(text.encode("ascii"))
            self._file.flush()

    def complete(self) -> None:
        """The run is done: a Parquet file is made of the rows now."""
        if self._is_parquet:
            with self.journal.open("rb") as lines:
                write_rows(self.path, map(json.loads, lines))
            self.journal.unlink()


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows to a ``.jsonl`` or ``.parquet`` file, which appears only once it is whole."""
    check_suffix(path)
    path = path.resolve()  # what a link points to is replaced, not the link
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _writing(path, ""):
            if path.suffix == ".parquet":
                _write_parquet(half, rows)
            else:
                with half.open("w", encoding="ascii") as file:
                    file.writelines(dumps(row) + "\n" for row in rows)
            half.replace(path)
    finally:
        half.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(path: Path, consequence: str) -> Iterator[None]:
    """Say of a full disk and its like which file it befell."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}{consequence}") from error


def _write_parquet(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A column a metric's score besides the whole metrics as JSON; ids are text."""
    pa, pq = _pyarrow()
    rows = iter(rows)
    first = list(itertools.islice(rows, _PARQUET_ROWS))
    names = sorted({name for row in first for name in row["metrics"]})[:_METRIC_COLUMNS]
    text, number = pa.string(), pa.float64()
    schema = pa.schema(
        [("id", text), ("score", number), ("error", text), ("error_kind", text), ("reason", text)]
        + [("metrics", text), ("seconds", number), ("reward", text), ("version", text)]
        + [("parameters", text), ("step_outputs", text), ("sample", text)]
        + [(_metric_column(name), number) for name in names]
    )
    with pq.ParquetWriter(path, schema) as writer:
        batch = first
        while batch:
            writer.write_table(pa.Table.from_pylist([_flat(row, names) for row in batch], schema))
            batch = list(itertools.islice(rows, _PARQUET_ROWS))


def _flat(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    flat = {name: _utf8(value) if isinstance(value, str) else value for name, value in row.items()}
    flat["id"] = str(flat["id"])
    for name in ("metrics", "parameters", "step_outputs"):
        flat[name] = None if row.get(name) is None else json.dumps(row[name], default=str)
    for name in names:
        metric = row["metrics"].get(name)
        flat[_metric_column(name)] = metric["score"] if metric else None
    return flat


def _metric_column(name: str) -> str:
    return f"metrics.{_utf8(name)}"


def _utf8(text: str) -> str:
    # Parquet text is UTF-8, which has no place for the lone surrogates that a model may write.
    return text.encode("utf-8", "replace").decode()


def _pyarrow() -> tuple[Any, Any]:
    with contextlib.suppress(ImportError):
        import pyarrow
        import pyarrow.parquet

        return pyarrow, pyarrow.parquet
    raise MissingExtraError.of("data", "writing Parquet")
