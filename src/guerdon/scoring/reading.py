"""Scores read back from the file that a run wrote."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from guerdon.errors import InputError
from guerdon.scoring.files import SUFFIXES
from guerdon.scoring.results import Scores
from guerdon.scoring.rows import check_row, loads, outcome_of
from guerdon.scoring.tables import SEPARATORS, import_pyarrow
from guerdon.scoring.texts import SampleText
from guerdon.types import Provenance

_PROGRESS_ROWS = 1000
_LONGEST_CELL = (1 << 31) - 1


class ReadSample(NamedTuple):
    """What a row of a scores file says of a sample."""

    id: str | int
    group: Any
    digest: str | None
    text: SampleText


def read_scores(path: str | Path, *, progress: Callable[[int], None] | None = None) -> Scores:
    """The scores in a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, those of an unfinished run, too.

    Groups are those of the column ``group``; without it the samples with equal prompts are one. ``progress``
    is called with the number of rows now and then.
    Raises InputError where there is no such file or its rows are not scores.

    >>> from guerdon import score
    >>> path = score(lambda response: len(response), ["ab", "a"], workers=0).write("read_scores.jsonl")
    >>> read_scores(path).worst(1)[0].response
    'a'
    """
    given = Path(path)
    scores: Scores | None = None
    for number, row in enumerate(_rows(given), 1):
        try:
            row = _with_metrics(row)
            check_row({**row, "seconds": float(row.get("seconds") or 0.0)})
            if scores is None:
                made_by = Provenance(row["reward"], row["version"], row.get("parameters") or {})
                scores = Scores(made_by, text="response" in row)
            scores.add(_sample(row, number - 1), outcome_of(row), float(row.get("seconds") or 0.0))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            names = ", ".join(map(str, list(row)[:8])) if isinstance(row, Mapping) else type(row).__name__
            raise InputError(
                f"{path}, row {number} is not a row of scores (it has: {names}); write one with: "
                "guerdon score REWARD DATA -o scores.jsonl"
            ) from None
        if progress is not None and number % _PROGRESS_ROWS == 0:
            progress(number)
    if scores is None:
        raise InputError(f"{path} has no rows")
    scores.path = given
    return scores


def _sample(row: Mapping[str, Any], position: int) -> ReadSample:
    prompt, response = row.get("prompt"), row.get("response")
    identity = row.get("id")
    text = SampleText(
        prompt, response, row.get("ground_truth"), len(response) if response is not None else None
    )
    group = row.get("group")
    if group is None and prompt is not None:
        group = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return ReadSample(position if identity is None else identity, group, row.get("sample"), text)


def _with_metrics(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose metrics are objects; the answers of ``guerdon evaluate`` have their numbers alone."""
    metrics = row.get("metrics") or {}
    if not any(isinstance(metric, int | float) for metric in metrics.values()):
        return row
    return {**row, "metrics": {name: {"score": metric} for name, metric in metrics.items()}}


def _rows(path: Path) -> Iterator[Any]:
    partial = path.with_name(f"{path.name}.partial.jsonl")
    if not path.exists() and partial.exists():
        path = partial
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    if path.suffix not in SUFFIXES:
        *others, last = SUFFIXES
        raise InputError(f"{path}: scores are read from a file that ends in {', '.join(others)} or {last}")
    try:
        if path.suffix == ".jsonl":
            yield from _lines(path)
        elif path.suffix == ".parquet":
            yield from map(_unflattened, _parquet(path))
        else:
            yield from map(_unflattened, _separated(path, SEPARATORS[path.suffix]))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from None


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):  # else a run was ended while it wrote it
                yield loads(line)


def _separated(path: Path, separator: str) -> Iterator[dict[str, Any]]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file, delimiter=separator):
                yield {name: None if value == "" else value for name, value in row.items()}
    finally:
        csv.field_size_limit(before)


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    _, pq = import_pyarrow("reading Parquet")
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1000):
            yield from batch.to_pylist()


def _unflattened(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table as that of a JSON Lines file."""
    for name in ("metrics", "parameters", "step_outputs"):
        if isinstance(value := row.get(name), str):
            row[name] = json.loads(value)
    if isinstance(score := row.get("score"), str):
        row["score"] = float(score)
    # An empty cell may be an empty response as well as none.
    if "response" in row and row["response"] is None:
        row["response"] = ""
    return row
