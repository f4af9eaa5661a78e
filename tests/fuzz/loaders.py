"""The loaders of data: whatever a file holds, it gives rows, bad rows or an InputError, in bounded memory.

An input is a byte that chooses the file's name, and its content.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tempfile
import tracemalloc
import zipfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pyarrow
import pyarrow.feather
import pyarrow.parquet

from guerdon.data.files import ReadContext
from guerdon.data.rows import BadRow
from guerdon.data.source import find_sources
from guerdon.errors import RewardError

_NAMES = ("a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a.eval", "a.jsonl.gz")
_ROWS = 1_000
_MEMORY = 600 << 20


def _table(write: object, rows: list[dict[str, object]]) -> bytes:
    sink = io.BytesIO()
    write(pyarrow.Table.from_pylist(rows), sink)  # type: ignore[operator]
    return sink.getvalue()


def _log() -> bytes:
    sink = io.BytesIO()
    sample = {"id": 1, "input": "?", "output": {"choices": [{"message": {"content": "4"}}]}, "target": "4"}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    return sink.getvalue()


_ROW: dict[str, object] = {"prompt": "?", "response": "4", "ground_truth": "4", "n": 1.5, "l": [1, 2]}
_LINE = json.dumps(_ROW).encode()
SEEDS: Sequence[bytes] = (
    b"\x00" + _LINE + b"\n" + _LINE,
    b"\x00" + b'{"messages": [{"role": "user", "content": "a"}]}\n[1]\n{"a": NaN}\n{"b": "\\ud800"}\n',
    b"\x01[" + _LINE + b", " + _LINE + b"]",
    b'\x01{"samples": [{"a": 1}], "data": [[1, 2]], "columns": ["x", "y"]}',
    b"\x02prompt,response\r\n\"a\nb\",'c'\r\n1,2,3\r\n",
    b"\x03prompt\tresponse\n1\t2\n\xef\xbb\xbf\t\n",
    b"\x04" + _table(pyarrow.parquet.write_table, [_ROW] * 3),
    b"\x05" + _table(pyarrow.feather.write_feather, [_ROW] * 3),
    b"\x06" + _log(),
    b"\x07" + gzip.compress(_LINE + b"\n", mtime=0),
    b"\x07" + gzip.compress(b'{"a": "' + b"x" * 1_000_000 + b'"}\n', mtime=0),
)


def check(data: bytes) -> None:
    """Loads the file."""
    name = _NAMES[data[0] % len(_NAMES)] if data else _NAMES[0]
    with tempfile.TemporaryDirectory(prefix="guerdon-fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(data[1:])
        before = os.stat(path).st_size
        tracemalloc.start()
        try:
            _load(path)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert used < _MEMORY, f"{used} bytes for {before}"


def _load(path: Path) -> None:
    try:
        for source in find_sources(path, None):
            context = ReadContext(source.name, lambda columns: None, lone_surrogates=True)
            for item in islice(source.rows(context), _ROWS):
                assert isinstance(item, BadRow) or isinstance(item[0], int)
    except RewardError:
        return
