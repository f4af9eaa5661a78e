"""A run's samples as a Parquet file that is a data set too; ``records.samples`` describes the columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.atomic_files import atomic_write
from guerdon.checks import text_of as _error_text
from guerdon.errors import InputError, MissingExtraError
from guerdon.scoring.rows import dumps

Line = Mapping[str, Any]
Read = Callable[[], Iterator[Line]]

_ROWS = 2_000
_METRIC_COLUMNS = 200
_METRIC = "run.metrics."
_LOOSE = b"guerdon.samples"
"""The key of the file under which stands which columns went with the metadata, for want of one type."""

_COLUMNS = {
    "run.step": "step",
    "run.mode": "mode",
    "run.position": "position",
    "run.group": "group",
    "run.prompt": None,
    "run.completion": None,
    "run.score": "score",
    "run.error": "error",
    "run.error_kind": "error_kind",
    "run.reason": "reason",
    "run.metrics": "metrics",
    "run.step_outputs": "step_outputs",
    "run.reward": "reward",
    "run.version": "version",
    "run.parameters": "parameters",
}
"""The run's own columns, and the keys of a line that they hold; None for text made of the messages."""

_NUMBERS = ("run.step", "run.position")
_OBJECTS = ("run.metrics", "run.step_outputs", "run.parameters")
_TYPED = ("id", "ground_truth", "answer")
"""Columns that keep the type of the data's own values where Arrow has one for all of them."""


@dataclass(slots=True)
class _TableLayout:
    """What the rows hold, found out in a first pass."""

    plain: bool = True
    """Whether every message has a role and a text and nothing else."""
    contexts: bool = False
    """Whether some sample has a context that is not its messages but the last."""
    types: dict[str, Any] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    """Columns whose values have no one type: they go with the metadata."""
    metrics: dict[str, None] = field(default_factory=dict)


def write_table(path: Path, read: Read) -> None:
    """Write lines to a file, which appears only once it is whole; ``read`` is called twice.

    Raises MissingExtraError without pyarrow, InputError where the file cannot be written.
    """
    pa, pq = _pyarrow()
    layout = _layout(pa, read)
    schema = _schema(pa, layout)
    try:
        with atomic_write(path) as half, pq.ParquetWriter(half, schema, compression="zstd") as writer:
            for chunk in _chunks(read()):
                writer.write_table(pa.Table.from_pylist([_row(line, layout) for line in chunk], schema))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def read_table(path: Path) -> Iterator[dict[str, Any]]:
    """The lines that a file was made of; raises InputError where it is none that ``write_table`` wrote."""
    pa, pq = _pyarrow()
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a Parquet file: {' '.join(str(error).split())[:200]}") from error
    with file:
        metadata = file.schema_arrow.metadata or {}
        if _LOOSE not in metadata:
            raise InputError(f"{path} does not hold the samples of a training run")
        try:
            loose = json.loads(metadata[_LOOSE])
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    yield _line(row, loose)
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise InputError(f"{path} is damaged: {' '.join(_error_text(error).split())[:200]}") from None


def _chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _ROWS)):
        yield chunk


def _layout(pa: Any, read: Read) -> _TableLayout:
    layout = _TableLayout()
    for chunk in _chunks(read()):
        for line in chunk:
            sample = line["sample"]
            layout.plain = layout.plain and all(map(_is_plain, sample["messages"]))
            layout.contexts = layout.contexts or "original_messages" in sample
            layout.metrics.update(dict.fromkeys(line.get("metrics") or ()))
        for name in _TYPED:
            _note_type(pa, layout, name, [line["sample"].get(name) for line in chunk])
    return layout


def _is_plain(message: Mapping[str, Any]) -> bool:
    return message.keys() == {"role", "content"} and isinstance(message["content"], str)


def _note_type(pa: Any, layout: _TableLayout, name: str, values: Sequence[Any]) -> None:
    """Arrow's type for the values, if it gives back what it was given: 1 is not 1.0, nor "1"."""
    if name in layout.loose:
        return
    try:
        array = pa.array(values)
        before = layout.types.get(name, pa.null())
        same = json.dumps(array.to_pylist()) == json.dumps(list(values))
        kind = before if array.type == pa.null() else array.type
        if same and before in (pa.null(), kind):
            layout.types[name] = kind
            return
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    layout.loose.add(name)


def _schema(pa: Any, layout: _TableLayout) -> Any:
    text = pa.string()
    message = pa.list_(pa.struct([("role", text), ("content", text)]))
    fields: list[tuple[str, Any]] = [("messages", message if layout.plain else text)]
    if layout.contexts:
        fields.append(("original_messages", text))
    for name in _TYPED:
        kind = text if name == "id" and name in layout.loose else layout.types.get(name)
        if kind not in (None, pa.null()) and (name == "id" or name not in layout.loose):
            fields.append((name, kind))
    fields.append(("metadata", text))
    for name in _COLUMNS:
        kind = pa.int64() if name in _NUMBERS else pa.float64() if name == "run.score" else text
        fields.append((name, kind))
    fields += [(_METRIC + _utf8(name), pa.float64()) for name in list(layout.metrics)[:_METRIC_COLUMNS]]
    return pa.schema(fields, metadata={_LOOSE: json.dumps(sorted(layout.loose - {"id"}))})


def _row(line: Line, layout: _TableLayout) -> dict[str, Any]:
    sample = line["sample"]
    metadata = dict(sample.get("metadata") or {})
    row: dict[str, Any] = {"messages": _messages(sample["messages"], layout.plain)}
    if "original_messages" in sample:
        row["original_messages"] = dumps_list(sample["original_messages"])
    for name in _TYPED:
        value = sample.get(name)
        if name not in layout.loose:
            row[name] = _utf8(value) if isinstance(value, str) else value
        elif name == "id":
            row[name] = None if value is None else str(value)
        elif value is not None:
            metadata[name] = value
    row["metadata"] = dumps(metadata) if metadata else None
    for name, key in _COLUMNS.items():
        value = line.get(key) if key is not None else _text(sample["messages"], name)
        if name in _OBJECTS:
            value = None if value is None else json.dumps(value, default=str)
        row[name] = _utf8(value) if isinstance(value, str) else value
    for name, metric in (line.get("metrics") or {}).items():
        row[_METRIC + _utf8(name)] = metric["score"]
    return row


def dumps_list(values: Sequence[Any]) -> str:
    """A list as JSON text."""
    return json.dumps(values, default=str)


def _messages(messages: Sequence[Mapping[str, Any]], plain: bool) -> Any:
    if not plain:
        return dumps_list(messages)
    return [{"role": _utf8(m["role"]), "content": _utf8(m["content"])} for m in messages]


def _text(messages: Sequence[Mapping[str, Any]], what: str) -> str:
    """The completion, or the last message of the user before it."""
    if what == "run.completion":
        return text_of(messages[-1]) if messages else ""
    asked = (message for message in reversed(messages[:-1]) if message["role"] == "user")
    return text_of(next(asked, {}))


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message in a line, as ``Message.text`` is that of a Message."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(t for part in content if isinstance(t := part.get("text"), str))


def _line(row: Mapping[str, Any], loose: Sequence[str]) -> dict[str, Any]:
    sample: dict[str, Any] = {"messages": _parsed(row["messages"])}
    for name in ("original_messages", *_TYPED, "metadata"):
        if (value := row.get(name)) is not None:
            sample[name] = _parsed(value) if name in ("original_messages", "metadata") else value
    for name in loose:
        if name in sample.get("metadata", ()):
            sample[name] = sample["metadata"].pop(name)
    if not sample.get("metadata"):
        sample.pop("metadata", None)
    line: dict[str, Any] = {"sample": sample}
    for name, key in _COLUMNS.items():
        if key is not None:
            value = row[name]
            line[key] = _parsed(value) if name in _OBJECTS and value is not None else value
    return line


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _utf8(text: str) -> str:
    # Parquet text is UTF-8, which has no place for the lone surrogates that a model may write.
    return text.encode("utf-8", "replace").decode()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of("train", "keeping samples in Parquet") from error
    return pyarrow, pyarrow.parquet
