"""Rows that are no samples: what they are, how they are listed and where they are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TextIO

from guerdon.errors import InputError

SHOWN = 20
"""How many malformed rows an error lists; all of them are counted."""

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not become a sample, and why.

    >>> str(BadRow("data.jsonl", 3, "the row is a list, not an object"))
    'data.jsonl:3: the row is a list, not an object'
    """

    file: str
    line: int
    """The physical line on which the row starts, or its number among the rows; both count from 1."""
    reason: str
    row: Any = None
    """The row as it was read, where it could be read."""
    text: str | None = None
    """The text of the row, where it could not be read."""
    unit: Literal["line", "row"] = "line"
    """What ``line`` counts."""

    @property
    def where(self) -> str:
        """``data.jsonl:3``, or ``data.parquet, row 3`` for a file without lines."""
        return f"{self.file}:{self.line}" if self.unit == "line" else f"{self.file}, row {self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"

    def brief(self) -> BadRow:
        """The same without the row and with at most 200 characters of its text, to be kept in memory."""
        return replace(self, row=None, text=None if self.text is None else self.text[:_EXCERPT])

    def to_json(self) -> str:
        """One line of JSON with ``file``, ``line``, ``reason`` and ``row`` or ``text``."""
        about = {"file": self.file, "line": self.line, "reason": self.reason}
        if self.row is not None:
            try:
                return json.dumps({**about, "row": self.row}, default=str, allow_nan=False)
            except (TypeError, ValueError):  # NaN or a key that is not a string, both possible in Parquet
                return json.dumps({**about, "text": repr(self.row)})
        return json.dumps({**about, "text": self.text or ""})


class BadRowsError(InputError):
    """Rows of a data set are malformed.

    Carries ``rejected``, the first 20 as BadRow, ``bad``, how many there are, and ``rows``, how many
    rows were looked at.
    """

    @classmethod
    def of(cls, rejected: Sequence[BadRow], bad: int, rows: int, remedy: str | None = None) -> BadRowsError:
        """The error that lists ``rejected`` and counts ``bad`` of ``rows``; ``remedy`` says what can be done."""
        remedy = remedy or "fix them, or skip them with --skip-bad-rows"
        count = f"{bad:,} of {rows:,} row{'' if rows == 1 else 's'} {'is' if bad == 1 else 'are'} malformed"
        lines = [f"{count}; {remedy}:"]
        lines += [f"  {line}" for line in _listed(rejected)]
        if bad > len(rejected):
            lines.append(f"  and {bad - len(rejected):,} more")
        return cls("\n".join(lines), rejected=tuple(rejected), bad=bad, rows=rows)


def _listed(rejected: Sequence[BadRow]) -> list[str]:
    """A line for each row; neighbours that have the file and the reason in common share a line."""
    groups: list[list[BadRow]] = []
    for row in rejected:
        if groups and (groups[-1][0].file, groups[-1][0].reason) == (row.file, row.reason):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [
        f"{replace(group[0], line=0).where[:-1]}{_ranges([row.line for row in group])}: {group[0].reason}"
        for group in groups
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """Rising numbers with runs drawn together: ``1-4, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


class RejectedFile:
    """The JSON Lines file that malformed rows are written to; there is none as long as there are none.

    A file of that name from an earlier run is removed first, so that what is there afterwards is of
    this run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> RejectedFile:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def write(self, row: BadRow) -> None:
        """Adds a row; raises InputError where the file cannot be written."""
        try:
            if self._file is None:
                self._file = self._path.open("w", encoding="utf-8")
            self._file.write(row.to_json() + "\n")
        except OSError as error:
            raise self._unwritable(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"cannot write the rejected rows to {self._path}: {error.strerror or error}")


def quoted(name: str) -> str:
    """A name in quotes, cut to 40 characters, control characters and line ends shown as escapes."""
    short = name if len(name) <= 40 else name[:39] + "…"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + '"'
