"""Data sets: rows as samples, checked as a whole before the first is used, streamed each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from guerdon.data.columns import NO_REWARD, Columns, RewardNeeds
from guerdon.data.files import ReadContext, ReadRow
from guerdon.data.layout import RowLayout
from guerdon.data.rows import SHOWN, BadRow, BadRowsError, RejectedFile
from guerdon.data.source import FileSource, RowSource, find_sources
from guerdon.errors import InputError
from guerdon.types import Sample

T = TypeVar("T")
_EVERY = 1000
"""Rows between two calls of a progress callback."""
_PEEK = 64
"""The first rows of a file, by which its columns are found."""

Convert = Callable[[RowLayout, Mapping[str, Any]], T]
"""Makes of a row in chat form what a pass gives."""


def _row(_: RowLayout, row: Mapping[str, Any]) -> Mapping[str, Any]:
    return row


def _sample(layout: RowLayout, row: Mapping[str, Any]) -> Sample:
    return layout.sample(row)


def _checked_row(layout: RowLayout, row: Mapping[str, Any]) -> Mapping[str, Any]:
    layout.sample(row)
    return row


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far a pass over a data set is."""

    rows: int
    """Rows read so far, malformed ones included."""
    bad: int
    """Malformed ones among them."""
    share: float
    """The part of the data that has been read, from 0 to 1; by bytes for files, so not exact."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a full pass over a data set found."""

    rows: int
    """All rows, malformed ones included."""
    bad: int
    """Malformed ones among them."""
    rejected: tuple[BadRow, ...]
    """The first 20 malformed ones."""

    @property
    def good(self) -> int:
        """Rows that are samples."""
        return self.rows - self.bad


class Dataset:
    """Samples from files, read anew and a row at a time in each pass; made by ``open_dataset``."""

    def __init__(
        self,
        name: str,
        sources: list[RowSource],
        columns: Columns,
        limit: int | None,
        needs: RewardNeeds = NO_REWARD,
    ) -> None:
        self.name = name
        """What to call it in messages: what it was opened as, or its only file."""
        self._sources = sources
        self._columns = columns
        self._limit = limit
        self._reader = needs
        self._lines: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"Dataset({self.name!r})"

    def __iter__(self) -> Iterator[Sample]:
        """The samples in order; raises InputError at the first malformed row, and if there are no rows."""
        return self._all(_sample)

    @property
    def lines(self) -> list[str]:
        """The columns that were found in the passes so far, as ``columns: prompt=question, …``."""
        return list(self._lines)

    def for_needs(self, needs: RewardNeeds, columns: Columns | None = None) -> Dataset:
        """The same data for what a reward reads, with ``columns`` in place of its own where given."""
        return Dataset(self.name, self._sources, columns or self._columns, self._limit, needs)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """The rows in chat form, which ``score`` takes too, at less than half the cost of samples.

        Messages are not checked: this is for data that ``check`` has passed. Raises as iteration does.
        """
        return self._all(_row)

    def _all(self, make: Convert[T]) -> Iterator[T]:
        empty = True
        for item in self._items(_Pass(self._sources), make):
            if isinstance(item, BadRow):
                raise InputError(str(item), file=item.file, line=item.line, reason=item.reason)
            empty = False
            yield item
        if empty:
            raise self._no_rows()

    def survey(self, progress: Callable[[ReadProgress], None] | None = None) -> Survey:
        """Reads everything once and counts what is malformed.

        ``progress`` is called after every 1,000 rows and at the end. Raises InputError if a file cannot
        be read or there are no rows.
        """
        rows = bad = 0
        rejected: list[BadRow] = []
        state = _Pass(self._sources)
        for item in self._items(state, _sample):
            rows += 1
            if isinstance(item, BadRow):
                bad += 1
                if bad <= SHOWN:
                    rejected.append(item.brief())
            if progress is not None and rows % _EVERY == 0:
                progress(ReadProgress(rows, bad, state.share()))
        if not rows:
            raise self._no_rows()
        if progress is not None:
            progress(ReadProgress(rows, bad, 1.0))
        return Survey(rows, bad, tuple(rejected))

    def check(self, progress: Callable[[ReadProgress], None] | None = None) -> int:
        """The number of samples, if every row is one.

        Raises BadRowsError that counts the malformed rows and lists the first 20, otherwise as
        ``survey`` does.
        """
        survey = self.survey(progress)
        if survey.bad:
            raise BadRowsError.of(survey.rejected, survey.bad, survey.rows)
        return survey.rows

    def samples(
        self, *, rejected: str | Path | None = None, on_bad: Callable[[BadRow], None] | None = None
    ) -> Iterator[Sample]:
        """The samples in order without the malformed rows.

        These are written to the JSON Lines file ``rejected`` with file, line, reason and row or text,
        and given to ``on_bad``. Raises BadRowsError at the end if no row was a sample.
        """
        return self._good(_sample, rejected, on_bad)

    def good_rows(
        self, *, rejected: str | Path | None = None, on_bad: Callable[[BadRow], None] | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """The rows of ``samples`` in chat form, as ``rows`` gives them."""
        return self._good(_checked_row, rejected, on_bad)

    def _good(
        self,
        make: Convert[T],
        rejected: str | Path | None,
        on_bad: Callable[[BadRow], None] | None,
    ) -> Iterator[T]:
        first: list[BadRow] = []
        good = bad = 0
        with ExitStack() as stack:
            file = None if rejected is None else stack.enter_context(self._rejected_file(Path(rejected)))
            for item in self._items(_Pass(self._sources), make):
                if not isinstance(item, BadRow):
                    good += 1
                    yield item
                    continue
                bad += 1
                if bad <= SHOWN:
                    first.append(item.brief())
                if file is not None:
                    file.write(item)
                if on_bad is not None:
                    on_bad(item)
        if not good:
            raise BadRowsError.of(first, bad, bad) if bad else self._no_rows()

    def reads(self, path: str | Path) -> bool:
        """Whether a file is one of those that are read, under whatever name."""
        path = Path(path)
        files = (source.path for source in self._sources if isinstance(source, FileSource))
        return path.exists() and any(path.samefile(file) for file in files)

    def _rejected_file(self, path: Path) -> RejectedFile:
        if self.reads(path):
            raise InputError(f"the rejected rows cannot be written to {path}, which is read from")
        return RejectedFile(path)

    def _items(self, state: _Pass, make: Convert[T]) -> Iterator[T | BadRow]:
        left = self._limit
        for source in self._sources:
            if left == 0:
                return
            context = state.begin(source, self._columns)
            layout = None
            items = source.rows(context)
            while head := list(islice(items, _PEEK if left is None else min(_PEEK, left))):
                layout = layout or self._layout(head, context)
                for item in chain(head, items) if layout is not None else head:
                    yield from _made(item, layout, make, context)
                    if left is not None:
                        left -= 1
                        if left == 0:
                            return

    def _layout(self, head: Sequence[ReadRow], context: ReadContext) -> RowLayout | None:
        """The layout of a file that begins with these rows; None where all of them are malformed."""
        rows = [item[1] for item in head if not isinstance(item, BadRow)]
        if not rows:
            return None
        try:
            layout = self._columns.layout(rows, needs=self._reader, in_text=context.in_text)
        except InputError as error:
            raise InputError(f"{context.name}: {error}") from None
        if (line := layout.line) is not None:
            self._lines[line] = None
        return layout

    def _no_rows(self) -> InputError:
        return InputError(f"{self.name} holds no rows")


def _made(
    item: ReadRow, layout: RowLayout | None, make: Convert[T], context: ReadContext
) -> Sequence[T | BadRow]:
    """What a pass gives for one row of a file: several things where it holds several responses."""
    if isinstance(item, BadRow) or layout is None:
        return [item] if isinstance(item, BadRow) else []
    number, row = item
    try:
        made = layout.rows(row)
        return (make(layout, made[0]),) if len(made) == 1 else [make(layout, each) for each in made]
    except InputError as error:
        return [context.bad(number, str(error), row=row)]


class _Pass:
    """Where one pass over the sources is."""

    def __init__(self, sources: list[RowSource]) -> None:
        self._total = max(sum(source.size for source in sources), 1)
        self._before = 0
        self._size = 0
        self._context: ReadContext | None = None

    def begin(self, source: RowSource, columns: Columns) -> ReadContext:
        self._before += self._size
        self._size = source.size
        self._context = ReadContext(source.name, columns.lacking)
        return self._context

    def share(self) -> float:
        position = self._context.position() if self._context is not None else 0
        return min(1.0, (self._before + position) / self._total)


def open_dataset(
    source: str | Path,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    split: str | None = None,
    limit: int | None = None,
    needs: RewardNeeds = NO_REWARD,
) -> Dataset:
    """The data set of a file, a folder, ``-`` for standard input, or a Hugging Face dataset.

    Files are JSON Lines, JSON, CSV, each also compressed by gzip, Parquet and Arrow; a folder is read
    with all such files in it, by path; ``owner/name`` or ``owner/name:configuration`` that is not a path
    is had from the Hugging Face hub. Files are streamed, except that a JSON document, of 256 MiB at
    most, is held in memory. What comes through a pipe is JSON Lines unless its name says otherwise,
    and is kept in a temporary file, since a data set is read more than once.

    ``columns`` says which columns make the sample, as ``{"prompt": "question"}``; those that are not named
    are found by their names. ``split`` says which part of a folder or dataset is read, ``limit`` how many
    rows, counted from the first and with malformed ones, ``needs`` what the reward reads.

    Raises InputError that says what to do if there is nothing to read or ``limit`` is under 1,
    MissingExtraError where a package is missing.

    >>> import json, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "sums.jsonl")
    >>> _ = path.write_text(json.dumps({"question": "2 + 2?", "reply": "4", "gold": "4"}) + "\\n")
    >>> data = open_dataset(path, columns={"response": "reply"})
    >>> data.check(), [sample.response for sample in data]
    (1, ['4'])
    >>> folder.cleanup()
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit is {limit}; give a whole number of 1 or more")
    sources = find_sources(source, split)
    name = sources[0].name if len(sources) == 1 else str(source)
    return Dataset(name, sources, Columns.of(columns), limit, needs)
