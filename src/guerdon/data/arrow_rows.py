"""Rows from Arrow's tables: Parquet, Arrow files, a saved Hugging Face dataset; needs pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from guerdon.data.files import ReadContext, ReadRow
from guerdon.data.rows import quoted
from guerdon.errors import InputError, MissingExtraError

_BATCH = 512
"""Rows that are turned into Python objects at once: few, as one row may hold megabytes."""

_CHUNK = 2**18
"""Bytes of a column that are read at once; without a number Arrow reads all of a row group."""


def optional(module: str, what: str) -> Any:
    """The module of the extra ``data``; raises MissingExtraError that says what needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError.of("data", what) from error


def read_parquet(path: Path, context: ReadContext) -> Iterator[ReadRow]:
    """The rows of a Parquet file, a batch at a time.

    Raises InputError if it is none or lacks columns, MissingExtraError without pyarrow.
    """
    pa = optional("pyarrow", f"reading {context.name}")
    parquet = optional("pyarrow.parquet", f"reading {context.name}")
    size = path.stat().st_size
    with pa.OSFile(str(path)) as source:
        try:
            file = parquet.ParquetFile(source, pre_buffer=False, buffer_size=_CHUNK)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{context.name} is not a Parquet file: {_line(error)}") from None
        scale = size / max(file.metadata.num_rows, 1)
        batches = file.iter_batches(batch_size=_BATCH)
        yield from table_rows(batches, file.schema_arrow, context, scale)


def read_arrow(path: Path, context: ReadContext) -> Iterator[ReadRow]:
    """The rows of an Arrow file in the stream format, which ``datasets`` saves, or the file format.

    Raises InputError if it is none or lacks columns, MissingExtraError without pyarrow.
    """
    pa = optional("pyarrow", f"reading {context.name}")
    ipc = optional("pyarrow.ipc", f"reading {context.name}")
    with pa.OSFile(str(path)) as source:
        try:
            if source.read(6) == b"ARROW1":
                file = ipc.open_file(source)
                schema, batches = file.schema, map(file.get_batch, range(file.num_record_batches))
            else:
                source.seek(0)
                stream = ipc.open_stream(source)
                schema, batches = stream.schema, iter(stream)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{context.name} is not an Arrow file: {_line(error)}") from None
        context.position = source.tell
        yield from table_rows(batches, schema, context)


def table_rows(
    batches: Iterator[Any], schema: Any, context: ReadContext, scale: float | None = None
) -> Iterator[ReadRow]:
    """The rows of record batches or tables; with ``scale``, the position is the row number times that.

    Nulls inside messages are left out: a table has every key of every message, as null where it was
    not given.
    """
    pa = optional("pyarrow", f"reading {context.name}")
    context.unit = "row"
    names = schema.names
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"{context.name}: two columns are named {quoted(twice)}; rename one of them")
    if (problem := context.expect(names)) is not None:
        raise InputError(f"{context.name}: {problem}")
    messages = [field.name for field in schema if _is_message(pa, field.type)]
    number = 0
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError, ValueError) as error:
            yield context.bad(number + 1, f"the file is corrupt from here on: {_line(error)}")
            return
        if batch is None:
            return
        for start in range(0, batch.num_rows, _BATCH):
            for row in _python_rows(pa, batch.slice(start, _BATCH)):
                number += 1
                if isinstance(row, str):
                    yield context.bad(number, row)
                    continue
                for name in messages:
                    row[name] = _given(row[name])
                yield number, row
            if scale is not None:
                context.position = partial(int, number * scale)


def _python_rows(pa: Any, batch: Any) -> Iterator[dict[str, Any] | str]:
    """Each row as a dictionary, or why it cannot be one: text that is not UTF-8, a date out of range, …"""
    failures = (pa.ArrowException, ValueError, OverflowError)
    try:
        # Offsets and buffers of a damaged file are followed unchecked, out of this process's memory.
        batch.validate(full=True)
        yield from batch.to_pylist()
    except failures:
        for i in range(batch.num_rows):
            try:
                row = batch.slice(i, 1)
                row.validate(full=True)
                yield row.to_pylist()[0]
            except failures as error:
                yield f"a value cannot be read: {_line(error)}"


def _is_message(pa: Any, kind: Any) -> bool:
    """Whether a column's type is a message or a list of them."""
    types = pa.types
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    return bool(types.is_struct(kind) and kind.get_field_index("role") >= 0)


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(item) for item in value]
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items() if item is not None or key == "content"}
    return value


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
