"""Rows of scores as the tables of other programs: CSV, tab-separated values, Parquet and Arrow."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.errors import MissingExtraError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_CHUNK = 10_000
_METRIC_COLUMNS = 200
_NUMBERS = ("score", "seconds")
_JSON = ("metrics", "parameters", "step_outputs")
_FIXED = (
    *("id", "score", "error", "error_kind", "reason", "metrics", "prompt", "response", "ground_truth"),
    *("group", "seconds", "reward", "version", "parameters", "step_outputs", "sample"),
)
_TEXTS = frozenset({"prompt", "response", "ground_truth"})


class FlatRows:
    """Rows with one value a column: numbers and text, a column for each metric's score besides its JSON.

    The columns are those of the first 10,000 rows.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = iter(rows)
        self._head = list(itertools.islice(self._rows, _CHUNK))
        self._metrics = sorted({name for row in self._head for name in row["metrics"]})[:_METRIC_COLUMNS]
        has_text = any("response" in row for row in self._head)
        self._fixed = [name for name in _FIXED if has_text or name not in _TEXTS]
        self.columns = [*self._fixed, *map(_metric_column, self._metrics)]

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers; the others hold text."""
        return column in _NUMBERS or column not in self._fixed

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """All rows, some thousand at a time; can be taken once."""
        chunk = self._head
        while chunk:
            yield [self._flat(row) for row in chunk]
            chunk = list(itertools.islice(self._rows, _CHUNK))

    def _flat(self, row: Mapping[str, Any]) -> dict[str, Any]:
        flat = {name: _cell(row.get(name), name in _JSON) for name in self._fixed}
        for name, column in zip(self._metrics, self.columns[len(self._fixed) :], strict=True):
            metric = row["metrics"].get(name)
            flat[column] = metric["score"] if metric else None
        flat["score"], flat["seconds"] = row["score"], row["seconds"]
        return flat


def write_separated(path: Path, rows: Iterable[Mapping[str, Any]], separator: str) -> None:
    """Write rows with a line of column names; an absent value is an empty cell."""
    flat = FlatRows(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, flat.columns, delimiter=separator, lineterminator="\n")
        writer.writeheader()
        for chunk in flat.chunks():
            writer.writerows(chunk)


def write_parquet(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to a Parquet file."""
    pa, pq = import_pyarrow("writing Parquet")
    flat = FlatRows(rows)
    schema = _schema(pa, flat)
    with pq.ParquetWriter(path, schema) as writer:
        for chunk in flat.chunks():
            writer.write_table(pa.Table.from_pylist(chunk, schema))


def flat_records(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of each column."""
    flat = FlatRows(rows)
    columns: dict[str, list[Any]] = {name: [] for name in flat.columns}
    for chunk in flat.chunks():
        for record in chunk:
            for name, value in record.items():
                columns[name].append(value)
    return columns


def arrow_table(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as a table of pyarrow."""
    pa, _ = import_pyarrow("an Arrow table")
    flat = FlatRows(rows)
    schema = _schema(pa, flat)
    batches = [pa.RecordBatch.from_pylist(chunk, schema) for chunk in flat.chunks()]
    return pa.Table.from_batches(batches, schema)


def _schema(pa: Any, flat: FlatRows) -> Any:
    return pa.schema([(name, pa.float64() if flat.is_number(name) else pa.string()) for name in flat.columns])


def _cell(value: Any, as_json: bool) -> str | None:
    if value is None or (isinstance(value, str) and not as_json):
        return None if value is None else _utf8(value)
    return json.dumps(value, default=str)


def _metric_column(name: str) -> str:
    return f"metrics.{_utf8(name)}"


def _utf8(text: str) -> str:
    # UTF-8 has no place for the lone surrogates that a model may write.
    return text.encode("utf-8", "replace").decode()


def import_pyarrow(what: str) -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet; raises MissingExtraError where they are not installed."""
    with contextlib.suppress(ImportError):
        import pyarrow
        import pyarrow.parquet

        return pyarrow, pyarrow.parquet
    raise MissingExtraError.of("data", what)
