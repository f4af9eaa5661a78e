"""Rows from CSV as RFC 4180 has it, also with semicolons or tabs: the first row names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from guerdon.data.files import MAX_LINE, DamagedError, ReadContext, ReadRow, lines_of, opened, too_long
from guerdon.data.json_rows import invalid_utf8
from guerdon.data.rows import BadRow, quoted
from guerdon.errors import InputError

MAX_FIELD = 64 * 2**20
"""The longest field in characters; it also ends the search for a quote that is never closed."""


_QUOTED = re.compile(rb'"(?:[^"]|"")*"')


class _Text:
    """The lines as text for csv.reader, with what is wrong with those of the row at hand."""

    def __init__(self, max_line: int) -> None:
        self.lines: Iterator[bytes | None] = iter(())
        self.max_line = max_line
        self.number = 0
        self.taken: list[str] = []
        self.problem: str | None = None

    def __iter__(self) -> _Text:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.number += 1
        if line is None:
            raise InputError(too_long(self.max_line))
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            self.problem = invalid_utf8(error)
            text = line.decode(errors="backslashreplace")
        if b"\0" in line:
            self.problem = "the row holds a NUL byte"
        self.taken.append(text)
        return text

    def next_row(self) -> None:
        self.taken = []
        self.problem = None


def read_csv(path: Path, context: ReadContext, max_line: int = MAX_LINE) -> Iterator[ReadRow]:
    """The rows of a CSV file, a row at a time; fields are text.

    An empty ``id`` is none.
    Raises InputError if the names of the columns are missing, doubled or not those that are needed.
    """
    context.in_text = True
    # The limit belongs to the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_FIELD))
    text = _Text(max_line)
    try:
        with opened(path, context) as stream:
            lines = lines_of(stream, max_line)
            first_line = next(lines, b"")
            text.lines = chain([first_line], lines) if first_line != b"" else lines
            records = _records(text, context, _delimiter(first_line or b""))
            if (first := next(records, None)) is None:
                return
            header = _header(first, context)
            for record in records:
                if isinstance(record, BadRow):
                    yield record
                elif len(record[1]) > 1 or len(header) == 1 or record[1][0].strip():
                    yield _row(*record, header, context)
    except DamagedError as error:
        yield context.bad(text.number + 1, str(error))


def _delimiter(header: bytes) -> str:
    """What separates the names in the first line: a comma, else a tab or a semicolon where there is one.

    >>> _delimiter(b"question;completion"), _delimiter(b"question"), _delimiter(b'"a;b",c')
    (';', ',', ',')
    """
    names = _QUOTED.sub(b"", header)
    return next((mark.decode() for mark in (b"\t", b",", b";") if mark in names), ",")


def _records(text: _Text, context: ReadContext, delimiter: str) -> Iterator[tuple[int, list[str]] | BadRow]:
    """The fields of each row and the line it starts on; empty lines are none."""
    rows = csv.reader(text, strict=True, delimiter=delimiter)
    while True:
        line = text.number + 1
        text.next_row()
        try:
            fields = next(rows)
        except StopIteration:
            return
        except InputError as error:
            yield context.bad(text.number, str(error))
        except csv.Error as error:
            yield context.bad(line, _explained(error), text="".join(text.taken).rstrip("\r\n"))
        else:
            if text.problem:
                yield context.bad(line, text.problem, text="".join(text.taken).rstrip("\r\n"))
            elif fields:
                yield line, fields


def _explained(error: csv.Error) -> str:
    problem = str(error)
    if problem == "unexpected end of data":
        return "not CSV: a quote is opened in this row and never closed"
    if problem.startswith("field larger"):
        return f"a field has over {MAX_FIELD:,} characters; is a quote opened and never closed?"
    if problem.startswith("new-line"):
        return "not CSV: a carriage return outside quotes; lines must end in a line feed"
    return "not CSV: text after a closing quote; a quote inside a field is written twice"


def _header(first: tuple[int, list[str]] | BadRow, context: ReadContext) -> list[str]:
    """The names of the columns; a column without one, as pandas writes its index, is ``column_N``."""
    if isinstance(first, BadRow):
        raise InputError(f"{first.where}: the names of the columns cannot be read: {first.reason}")
    line, names = first
    where = f"{context.name}:{line}"
    if not any(name.strip() for name in names):
        raise InputError(f"{where}: the first row must name the columns, and it is empty")
    header = [name.strip() or f"column_{i}" for i, name in enumerate(names, 1)]
    if twice := next((name for i, name in enumerate(header) if name in header[:i]), None):
        raise InputError(f"{where}: two columns are named {quoted(twice)}; rename one of them")
    if (problem := context.expect(header)) is not None:
        raise InputError(f"{where}: {problem} (the first row must name the columns)")
    return header


def _row(line: int, fields: list[str], header: list[str], context: ReadContext) -> ReadRow:
    row: dict[str, Any] = dict(zip(header, fields, strict=False))
    if len(fields) != len(header):
        reason = f"{len(fields)} fields, where the first row names {len(header)} columns"
        return context.bad(line, reason, text=_written(fields))
    if row.get("id") == "":
        del row["id"]
    return line, row


def _written(fields: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(fields)
    return out.getvalue()
