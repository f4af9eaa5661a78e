"""The folder of a training run as data: its samples, from the Parquet file or from the lines of a run that goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from guerdon.data.arrow_rows import read_parquet
from guerdon.data.files import ReadContext, ReadRow
from guerdon.data.json_rows import read_json_lines
from guerdon.data.rows import BadRow
from guerdon.errors import InputError

_FILES = ("metrics.jsonl", "run.json")
_SAMPLES, _GROWING = "samples.parquet", "samples.partial.jsonl"
_ABOUT = ("step", "mode", "position", "group", "score", "error", "error_kind", "reason", "reward", "version")


def run_samples(folder: Path) -> tuple[Path, Callable[[Path, ReadContext], Iterator[ReadRow]]] | None:
    """The samples of a run's folder and what reads them; None where it is none.

    Raises InputError for a run that kept none.
    """
    if not any((folder / name).is_file() for name in _FILES):
        return None
    if (growing := folder / _GROWING).is_file():
        return growing, read_run_lines
    if (samples := folder / _SAMPLES).is_file():
        return samples, read_parquet
    if (folder / "run.json").is_file():
        raise InputError(
            f"{folder} is a training run without samples; it was run with training.keep_samples=false"
        )
    return None


def read_run_lines(path: Path, context: ReadContext) -> Iterator[ReadRow]:
    """The samples of a run that goes on, with what the run says of each in columns that begin with ``run.``."""
    for item in read_json_lines(path, context):
        if isinstance(item, BadRow):
            yield item
            continue
        number, line = item
        sample = line.get("sample")
        if not isinstance(sample, dict):
            yield context.bad(number, "not a line of a run: it has no sample", row=line)
            continue
        about: dict[str, Any] = {f"run.{name}": line.get(name) for name in _ABOUT}
        yield number, {**sample, **about}
