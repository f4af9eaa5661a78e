"""Rows from JSON Lines and JSON, read strictly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guerdon.data.documents import is_document, rows_in
from guerdon.data.eval_logs import is_eval_log, rows_of_log
from guerdon.data.files import (
    BLANK,
    MAX_LINE,
    DamagedError,
    ReadContext,
    ReadRow,
    damage,
    lines_of,
    opened,
    too_long,
)
from guerdon.data.rows import quoted
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError

MAX_DOCUMENT = 256 * 2**20
"""The largest JSON document in bytes, after gzip: unlike JSON Lines it is held in memory as a whole."""

_DOCUMENT_HINT = "; if the file is one JSON document, give it the extension .json"
_NAMES = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}


def _row_of(line: bytes, context: ReadContext) -> Any:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(invalid_utf8(error)) from None
    value, end = parse_json(text, _skip(text, 0), lone_surrogates=context.lone_surrogates)
    if rest := text[end:].strip(" \t\r\n"):
        raise InputError(f"not JSON: more after the end of the row, from column {end + 1}: {quoted(rest)}")
    return value


def invalid_utf8(error: UnicodeDecodeError) -> str:
    """The reason for bytes that are not UTF-8."""
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the line"


def not_an_object(value: Any) -> str:
    """The reason for a value that is not a row."""
    return f"a row must be an object, not {_NAMES.get(type(value), 'null')}"


def read_json_lines(path: Path, context: ReadContext, max_line: int = MAX_LINE) -> Iterator[ReadRow]:
    """The rows of a JSON Lines file, a line at a time."""
    number = 0
    try:
        with opened(path, context) as stream:
            for number, line in enumerate(lines_of(stream, max_line), 1):
                if line is None:
                    yield context.bad(number, too_long(max_line))
                    continue
                if not (line := line.rstrip(BLANK)):
                    continue
                try:
                    value = _row_of(line, context)
                except InputError as error:
                    hint = _document_hint(line) if number == 1 else ""
                    text = line.decode(errors="backslashreplace")
                    yield context.bad(number, f"{error}{hint}", text=text)
                    continue
                if type(value) is dict:
                    yield number, value
                else:
                    hint = _DOCUMENT_HINT if number == 1 and _is_table(value) else ""
                    yield context.bad(number, not_an_object(value) + hint, row=value)
    except DamagedError as error:
        yield context.bad(number + 1, str(error))


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _document_hint(first: bytes) -> str:
    looks = first in (b"[", b"{")
    return _DOCUMENT_HINT if looks else ""


def read_json(path: Path, context: ReadContext, max_bytes: int = MAX_DOCUMENT) -> Iterator[ReadRow]:
    """The rows of a JSON file: a list of objects, one object, a table in an object, or in fact JSON Lines.

    A document is held in memory as a whole, its rows are not. Rows are numbered, not lines, unless the
    first line is an object by itself: then the file is read as JSON Lines. Raises InputError for a
    document over ``max_bytes``.
    """
    if _is_lines(path, context):
        yield from read_json_lines(path, context)
        return
    context.unit = "row"
    try:
        with opened(path, context) as stream, damage():
            content = stream.read(max_bytes + 1)
    except DamagedError as error:
        yield context.bad(1, str(error))
        return
    if len(content) > max_bytes:
        raise InputError(
            f"{context.name} is a JSON document of over {max_bytes / 2**20:,.0f} MiB, which has to be held "
            "in memory; convert it to JSON Lines, one object a line: jq -c '.[]'"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield context.bad(1, f"not UTF-8: byte 0x{content[error.start]:02x} in line {line}")
        return
    del content
    yield from _rows_of_document(text, context)


def _is_lines(path: Path, context: ReadContext) -> bool:
    """Whether the first line that is not blank is an object by itself."""
    try:
        with opened(path, context) as stream:
            for line in lines_of(stream):
                if line is None:
                    return False
                if line := line.strip(BLANK):
                    value = _row_of(line, context) if line.startswith(b"{") else None
                    return type(value) is dict and not (is_document(value) or is_eval_log(value))
    except (DamagedError, InputError):
        pass
    return False


def _rows_of_document(text: str, context: ReadContext) -> Iterator[ReadRow]:
    """The rows, parsed one by one; after a row that is not JSON there is no telling where the next starts."""
    at = _skip(text, 0)
    if at == len(text):
        return
    number = 1
    listed = text[at] == "["
    at = _skip(text, at + 1) if listed else at
    empty = listed and text[at : at + 1] == "]"
    while not empty:
        try:
            value, at = parse_json(text, at, lone_surrogates=context.lone_surrogates)
        except InputError as error:
            yield context.bad(
                number, f"{error}; the rest of the file cannot be read", text=text[at : at + 1000]
            )
            return
        if not listed and type(value) is dict and not text[at:].strip():
            yield from _rows_of_object(value, context)
            return
        yield (number, value) if type(value) is dict else context.bad(number, not_an_object(value), row=value)
        at = _skip(text, at)
        if not listed or text[at : at + 1] == "]":
            break
        number += 1
        if text[at : at + 1] != ",":
            found = quoted(text[at : at + 10]) if at < len(text) else "the end of the file"
            line = text.count("\n", 0, at) + 1
            yield context.bad(
                number,
                f"not JSON: {found} in line {line}, where a comma or ] must be",
                text=text[at : at + 1000],
            )
            return
        at = _skip(text, at + 1)
    at = _skip(text, at + 1 if listed else at)
    if at < len(text):
        line = text.count("\n", 0, at) + 1
        yield context.bad(
            number + 1,
            f"not JSON: more after the end of the document, in line {line}: {quoted(text[at : at + 40])}",
            text=text[at : at + 1000],
        )


def _rows_of_object(value: dict[str, Any], context: ReadContext) -> Iterator[ReadRow]:
    """The rows of a document that is one object: the table that it holds, else itself."""
    if is_eval_log(value):
        yield from rows_of_log(value, context)
        return
    try:
        rows = rows_in(value)
    except InputError as error:
        raise InputError(f"{context.name}: {error}") from None
    for number, row in enumerate([value] if rows is None else rows, 1):
        yield (number, row) if type(row) is dict else context.bad(number, not_an_object(row), row=row)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
