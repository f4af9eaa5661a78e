"""Rows from JSON Lines and JSON, read strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

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
from guerdon.errors import InputError

MAX_DEPTH = 200
"""How deep objects and lists may be nested: far above any real row, far below where pickling fails."""

MAX_DOCUMENT = 256 * 2**20
"""The largest JSON document in bytes, after gzip: unlike JSON Lines it is held in memory as a whole."""

_NAMES = {list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"an object has the key {quoted(twice)} twice")
    return value


def _constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not JSON; write null or a string")


def _float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise InputError(f"the number {text[:20]} is too large for a float")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def parse_json(text: str, start: int = 0, *, lone_surrogates: bool = False) -> tuple[Any, int]:
    """The JSON value at ``start`` and where it ends.

    Stricter than ``json.loads``: NaN and infinity, a key given twice, a lone surrogate (unless
    ``lone_surrogates``) and nesting over 200 levels are refused. Raises InputError that says what is wrong and where.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise InputError(_explained(error)) from None
    except RecursionError:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels") from None
    except InputError:
        raise
    except ValueError:  # int() refuses more than sys.get_int_max_str_digits() digits
        raise InputError("a whole number has too many digits; write it as a string") from None
    brackets = text.count("{", start, end) + text.count("[", start, end)
    if brackets > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise InputError(f"nested deeper than {MAX_DEPTH} levels")
    if not lone_surrogates and (text.find("\\ud", start, end) >= 0 or text.find("\\uD", start, end) >= 0):
        _refuse_lone_surrogates(value)
    return value, end


def _explained(error: json.JSONDecodeError) -> str:
    character = error.doc[error.pos : error.pos + 1]
    where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    if character == "\x00":
        return f"not JSON: a NUL byte at {where}"
    if character == "\ufeff":
        return f"not JSON: a byte order mark at {where}, inside the file"
    if not character:
        return f"not JSON: it ends too early, at {where}"
    return f"not JSON: {error.msg.removesuffix(' at')} at {where}"


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        escape = ascii(error.object[error.start])[1:-1]
        raise InputError(f"a string has the lone surrogate {escape}, which is not a character") from None


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
                    yield context.bad(number, not_an_object(value), row=value)
    except DamagedError as error:
        yield context.bad(number + 1, str(error))


def _document_hint(first: bytes) -> str:
    looks = first in (b"[", b"{")
    return "; if the file is one JSON document, give it the extension .json" if looks else ""


def read_json(path: Path, context: ReadContext, max_bytes: int = MAX_DOCUMENT) -> Iterator[ReadRow]:
    """The rows of a JSON file: a list of objects, one object, or in fact JSON Lines.

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
                    return line.startswith(b"{") and type(_row_of(line, context)) is dict
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


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
