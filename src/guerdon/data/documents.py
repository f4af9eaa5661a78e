"""Tables that one JSON document holds: pandas' orients, exports of W&B and trackio, the viewer of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.data.detection import PROMPTS, RESPONSES, TRUTHS
from guerdon.errors import InputError

_HOLDERS = ("rows", "data", "samples", "records", "examples", "instances", "results", "_value")
"""Keys under which documents have a list of rows."""

_ROLES = frozenset({*PROMPTS, *RESPONSES, *TRUTHS})


def rows_in(document: Mapping[str, Any]) -> list[Any] | None:
    """The rows of the table that a document holds; None where it is a row itself.

    Raises InputError for a table whose rows and columns do not fit.

    >>> rows_in({"columns": ["prompt", "response"], "data": [["2 + 2?", "4"]]})
    [{'prompt': '2 + 2?', 'response': '4'}]
    >>> rows_in({"prompt": {"0": "2 + 2?"}, "response": {"0": "4"}})
    [{'prompt': '2 + 2?', 'response': '4'}]
    """
    if "messages" in document:
        return None
    names, lines = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(lines, list) and _are_texts(names) and _are_lists(lines):
        return [_row(names, line, number) for number, line in enumerate(lines, 1)]
    for holder in _HOLDERS:
        listed = document.get(holder)
        if isinstance(listed, list) and _are_objects(listed) and _ROLES.isdisjoint(document):
            return [row["row"] if isinstance(row.get("row"), Mapping) else row for row in listed]
    return _by_column(document)


def is_document(value: Any) -> bool:
    """Whether an object on a line by itself is a table and not a row.

    >>> is_document({"prompt": "2 + 2?", "response": "4"})
    False
    """
    try:
        return isinstance(value, Mapping) and rows_in(value) is not None
    except InputError:
        return True


def _row(names: list[str], line: list[Any], number: int) -> dict[str, Any]:
    if len(names) != len(line):
        raise InputError(f"row {number} of the table has {len(line)} values for {len(names)} columns")
    return dict(zip(names, line, strict=True))


def _by_column(document: Mapping[str, Any]) -> list[Any] | None:
    """The rows of a table by columns: each a list, or an object by the number of the row, as pandas writes it."""
    columns = list(document.values())
    if _ROLES.isdisjoint(document):
        return None
    if all(isinstance(column, Mapping) and column and all(map(_is_number, column)) for column in columns):
        numbers = list(columns[0])
        return [{name: column.get(n) for name, column in document.items()} for n in numbers]
    texts = any(_are_texts(column) for name, column in document.items() if name in (*PROMPTS, *RESPONSES))
    if texts and all(isinstance(column, list) for column in columns):
        counts = {len(column) for column in columns}
        if len(counts) > 1:
            raise InputError("the columns of the table have different lengths")
        return [dict(zip(document, values, strict=True)) for values in zip(*columns, strict=True)]
    return None


def _is_number(key: Any) -> bool:
    return isinstance(key, str) and key.isdecimal()


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _are_lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, list) for item in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
