"""The rows of a table of cases: from a file or a list, in chat form or with response and prompt as texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.errors import InputError


def name_of_cases(cases: Any) -> str:
    """How messages call them."""
    return str(cases) if isinstance(cases, str | os.PathLike) else "the list"


def rows_of(cases: Any) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Each case with where it stands and its line. Raises InputError for what is not a row."""
    from guerdon.data.files import ReadContext
    from guerdon.data.rows import BadRow
    from guerdon.data.source import find_sources

    if isinstance(cases, str | os.PathLike):
        for source in find_sources(cases if isinstance(cases, str) else Path(cases), None):
            for item in source.rows(ReadContext(source.name, lambda columns: None, lone_surrogates=True)):
                if isinstance(item, BadRow):
                    raise InputError(str(item), line=item.line)
                yield f"{source.name}:{item[0]}", *item
        return
    if isinstance(cases, Mapping) or not isinstance(cases, Iterable):
        raise InputError(f"cases must be a file or a list of rows, not a {type(cases).__name__}")
    for number, row in enumerate(cases, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"case {number}: a case must be an object, not a {type(row).__name__}")
        yield f"case {number}", number, row


def chat_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in chat form, without what is expected of it."""
    chat = {key: value for key, value in row.items() if key not in ("expected", "expected_metrics")}
    if "messages" in chat:
        return chat
    if "response" not in row:
        return _found(chat)
    messages = []
    for key, role in (("prompt", "user"), ("response", "assistant")):
        if key not in chat:
            continue
        text = chat.pop(key)
        if not isinstance(text, str):
            raise InputError(
                f'"{key}" must be text, not {kind_of_value(text)}; a conversation goes in "messages"'
            )
        messages.append({"role": role, "content": text})
    return {"messages": messages, **chat}


def _found(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in chat form by the names of its columns, such as ``question``, ``completion`` and ``answer``."""
    from guerdon.data.columns import Columns

    try:
        rows = Columns.of(None).layout([row]).rows(row)
    except InputError as error:
        raise InputError(
            f'a case needs "messages", or a "response" and perhaps a "prompt": {error}'
        ) from None
    if len(rows) != 1:
        raise InputError(f"a case has one response, not {len(rows)}")
    return dict(rows[0])


def kind_of_value(value: Any) -> str:
    """What a value is, for a message."""
    return "null" if value is None else f"a {type(value).__name__}"
