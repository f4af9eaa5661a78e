"""Tables in memory as rows: pandas, polars, Arrow and Hugging Face datasets, none of which is imported here."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Set, Sized
from dataclasses import dataclass
from typing import Any

from guerdon.data.arrow_rows import table_rows
from guerdon.data.files import ReadContext
from guerdon.data.rows import BadRow
from guerdon.errors import InputError

_BATCH = 512

_TABLES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "RecordBatchReader"),
    "datasets": ("Dataset", "DatasetDict", "IterableDatasetDict"),
}


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """The rows of a table, read anew in each pass."""

    kind: str
    """The package whose it is."""
    held: Any

    @classmethod
    def of(cls, value: Any) -> MemoryTable | None:
        """The table that a value is; None where it is none. Raises InputError for several splits."""
        for package, names in _TABLES.items():
            module = sys.modules.get(package)
            kinds = tuple(kind for n in names if isinstance(kind := getattr(module, n, None), type))
            if module is not None and isinstance(value, kinds):
                return cls(package, _one_split(value) if package == "datasets" else value)
        return None

    def __len__(self) -> int:
        return self.held.num_rows if self.kind in ("pyarrow", "datasets") else len(self.held)

    @property
    def sized(self) -> bool:
        """Whether its length is known."""
        return hasattr(self.held, "num_rows") or isinstance(self.held, Sized)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        read = {
            "pandas": self._pandas_rows,
            "polars": self._polars_rows,
            "pyarrow": self._pyarrow_rows,
            "datasets": self._datasets_rows,
        }[self.kind]
        return read()

    def _pandas_rows(self) -> Iterator[dict[str, Any]]:
        names = _unique([str(name) for name in self.held.columns])
        for start in range(0, len(self.held), _BATCH):
            part = self.held.iloc[start : start + _BATCH]
            columns = [part.iloc[:, i].tolist() for i in range(len(names))]
            for values in zip(*columns, strict=True):
                yield {name: _python(value) for name, value in zip(names, values, strict=True)}

    def _polars_rows(self) -> Iterator[dict[str, Any]]:
        frame = self.held.collect() if hasattr(self.held, "collect") else self.held
        yield from frame.iter_rows(named=True)

    def _pyarrow_rows(self) -> Iterator[dict[str, Any]]:
        held = self.held
        batches = held.to_batches() if hasattr(held, "to_batches") else [held]
        if hasattr(held, "read_next_batch"):
            batches = held
        yield from self._arrow(iter(batches), held.schema)

    def _datasets_rows(self) -> Iterator[dict[str, Any]]:
        batches = self.held.with_format("arrow").iter(batch_size=_BATCH)
        yield from self._arrow(batches, self.held.features.arrow_schema)

    def _arrow(self, batches: Iterator[Any], schema: Any) -> Iterator[dict[str, Any]]:
        for item in table_rows(batches, schema, ReadContext("the table", lambda _: None)):
            if isinstance(item, BadRow):
                raise InputError(str(item))
            yield item[1]


def _one_split(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    names = list(value)
    if len(names) != 1:
        choices = ", ".join(f'data["{name}"]' for name in names[:8])
        raise InputError(f"the dataset has several splits; choose one: {choices}")
    return value[names[0]]


def _unique(names: list[str]) -> list[str]:
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f'two columns are named "{twice}"; rename one of them')
    return names


def _python(value: Any) -> Any:
    """A cell as Python's own value: arrays as lists, numpy's numbers as numbers, NaN and NA as None."""
    if type(value) is str or value is None:
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if hasattr(value, "tolist"):
        return _python(value.tolist())
    if isinstance(value, list | tuple):
        return [_python(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _python(item) for key, item in value.items()}
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def not_rows(value: Any) -> str | None:
    """What is wrong with data that is no list of rows; None where nothing is.

    >>> not_rows(b"rows")
    'samples must be rows, not bytes; guerdon.open_dataset reads a file'
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return f"samples must be rows, not {type(value).__name__}; guerdon.open_dataset reads a file"
    if isinstance(value, Mapping):
        if any(isinstance(column, list) for column in value.values()) and "messages" not in value:
            return (
                "samples must be rows, not a mapping; one row goes into a list: [row], and columns that are "
                "lists into a table: pandas.DataFrame(columns)"
            )
        return "samples must be rows, not a mapping; one row goes into a list: [row]"
    if isinstance(value, int | float | complex):
        return f"samples must be rows, not a number ({value!r}); a row is such as {{'response': '4'}}"
    if isinstance(value, Set):
        return "samples must be rows in an order, not a set; make it a list: sorted(samples)"
    if not hasattr(value, "__iter__"):
        return f"samples must be a list or an iterator of rows, not {type(value).__name__}"
    return None
