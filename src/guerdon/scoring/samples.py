"""What a run is given - rows, Samples, bare responses, tables, data sets, paths - read as its samples."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.data.columns import Columns, RewardNeeds
from guerdon.data.dataset import Dataset, open_dataset
from guerdon.data.layout import ChatLayout, RowLayout
from guerdon.data.tables import MemoryTable, not_rows
from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.column_checks import check_parameters
from guerdon.scoring.engine.base import PendingSample
from guerdon.scoring.grouping import Grouping
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.rows import digest_of
from guerdon.scoring.texts import NO_TEXT, SampleText
from guerdon.types import Sample, check_ending

_PEEK = 64
"""The first rows, by which columns are found and missing parameters are noticed."""


@dataclass(frozen=True, slots=True)
class StoppableSamples:
    """What a run is given, of which no more is taken once ``stop`` is set."""

    given: Any
    stop: threading.Event


@dataclass(slots=True)
class GivenSamples:
    """The samples of a run, their first ones looked at."""

    rows: Iterator[Any]
    """Samples and rows in chat form, and the failures of what is neither."""
    total: int | None
    """How many there are, where that is known."""
    head: list[Any]
    """The first of ``rows``."""
    found: list[str] = field(default_factory=list)
    """The columns that were found, as ``columns: prompt=question, …``."""


def given_samples(reward: RewardFunction, samples: Any, columns: Any) -> GivenSamples:
    """The samples of whatever ``score`` takes; raises InputError where nothing of it can be scored."""
    if isinstance(samples, StoppableSamples):
        given = given_samples(reward, samples.given, columns)
        given.rows = itertools.takewhile(lambda _: not samples.stop.is_set(), given.rows)
        return given
    needs = needs_of(reward)
    named = None if columns is None else Columns.of(columns)
    if isinstance(samples, str | Path):
        samples = _opened(samples, named, needs)
    if isinstance(samples, Dataset):
        data = samples.for_needs(needs, named)
        return _peeked(data.rows(), None, ChatLayout(), data)
    if (table := MemoryTable.of(samples)) is not None:
        samples = table
        total = len(table) if table.sized else None
    elif (problem := not_rows(samples)) is not None:
        raise InputError(problem)
    else:
        total = len(samples) if isinstance(samples, Sized) else None
    rest = iter(samples)
    head = list(itertools.islice(rest, _PEEK))
    rows = [row for row in head if isinstance(row, Mapping) and not isinstance(row, Sample)]
    layout = (named or Columns.of(None)).layout(rows, needs=needs) if rows else ChatLayout()
    return _peeked(_in_chat_form(itertools.chain(head, rest), layout), total, layout)


def needs_of(reward: RewardFunction) -> RewardNeeds:
    """What rows have to be read for."""
    return RewardNeeds(reads=reward.reads, any_ending=reward.allows_any_ending)


def _opened(source: str | Path, columns: Columns | None, needs: RewardNeeds) -> Dataset:
    """The data set of a path, checked as a whole."""
    if isinstance(source, str) and (not source or "\n" in source or not _exists(source)):
        raise InputError(
            f"there is no file {source[:80]!r}; samples are a path, rows, a table or a data set, and one response "
            "goes into a list: [text]"
        )
    data = open_dataset(source, columns=columns, needs=needs)
    data.check()
    return data


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a path, or a NUL byte
        return False


def _peeked(
    rows: Iterator[Any], total: int | None, layout: RowLayout, data: Dataset | None = None
) -> GivenSamples:
    head = list(itertools.islice(rows, _PEEK))
    line = layout.line
    found = data.lines if data is not None else [line] if line is not None else []
    return GivenSamples(itertools.chain(head, rows), total, head, found)


def _in_chat_form(given: Iterable[Any], layout: RowLayout) -> Iterator[Any]:
    for row in given:
        if isinstance(row, str):
            yield {"messages": [{"role": "assistant", "content": row}]}
        elif isinstance(row, Sample) or not isinstance(row, Mapping):
            yield row
        else:
            try:
                yield from layout.rows(row)
            except InputError as error:
                yield failure(error.kind, str(error))


def check_first_rows(reward: RewardFunction, head: list[Any]) -> None:
    """Raise before anything runs where no row is readable, or a parameter of the reward is missing."""
    good: list[Sample] = []
    first: InputError | None = None
    for row in head:
        try:
            sample = _as_sample(row)
            if not reward.allows_any_ending:
                check_ending(sample.messages)
            good.append(sample)
        except InputError as error:
            first = first or error
    if first is not None and not good:
        raise first
    check_parameters(reward, good)


def _as_sample(row: Any) -> Sample:
    if isinstance(row, Outcome):
        raise InputError(row.error or "")
    return row if isinstance(row, Sample) else Sample.from_row(row)


def pending_samples(
    rows: Iterable[Any],
    grouping: Grouping | None,
    digests: bool,
    read_text: Callable[[Any], SampleText] = lambda _: NO_TEXT,
) -> Iterator[PendingSample]:
    """Each row with its position, id, group and text, and with its digest where ``digests`` is set.

    A row that is not a row comes as the failure that says so.
    """
    for position, row in enumerate(rows):
        identity: Any
        if isinstance(row, Outcome):
            yield PendingSample(position, row, position, "" if digests else None)
            continue
        if isinstance(row, Sample):
            identity = row.id
        elif isinstance(row, Mapping):
            identity = row.get("id")
        else:
            error = f"a row must be an object with messages, not {type(row).__name__}"
            yield PendingSample(position, failure(InputError.kind, error), position, "" if digests else None)
            continue
        if not isinstance(identity, str | int):
            identity = position
        elif type(identity) not in (str, int):  # numpy's text, say, which no file takes as it is
            identity = str(identity) if isinstance(identity, str) else int(identity)
        try:
            digest = digest_of(row) if digests else None
            group = None if grouping is None else grouping.group(row)
        except RecursionError:
            yield PendingSample(
                position, failure(InputError.kind, "the row is nested too deep"), identity, ""
            )
            continue
        yield PendingSample(position, row, identity, digest, group, read_text(row))
