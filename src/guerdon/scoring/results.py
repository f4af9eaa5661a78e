"""Scores: what a run over many samples gives."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, overload

from guerdon.errors import InputError, MissingExtraError
from guerdon.scoring import hooks
from guerdon.scoring.buffer import RecordBuffer
from guerdon.scoring.files import write_rows
from guerdon.scoring.outcome import Outcome, unpack
from guerdon.scoring.progress import Progress
from guerdon.scoring.rows import row_of
from guerdon.scoring.selection import FailureGroup, SampleResult, SampleResults, ScoreGroup
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.failures import all_failed_line
from guerdon.scoring.statistics.summary import Statistics
from guerdon.scoring.tables import arrow_table, flat_records
from guerdon.scoring.texts import SampleText
from guerdon.types import EvaluateResult, Provenance

SHOWN = 5
"""Samples that ``worst`` and its like give, unless another number is asked for."""

_ERRORS = 1000
_IDS = 3


class KnownSample(Protocol):
    """What Scores keep of a sample beside its result."""

    @property
    def id(self) -> str | int: ...
    @property
    def group(self) -> Any: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def text(self) -> SampleText: ...


class Scores(Sequence[EvaluateResult]):
    """The results of a run, in the samples' order, with what made them.

    Shows itself as a report in terminals and notebooks. Iterating and indexing give EvaluateResults;
    ``worst``, ``best``, ``failed``, ``groups`` and ``by_id`` give samples with their text. The results of a
    large run lie on disk, not in memory. Scores can be pickled.

    >>> from guerdon import score
    >>> scores = score(lambda response: len(response) / 4, ["ab", "abcd"], workers=0)
    >>> [result.score for result in scores], scores.statistics().mean
    ([0.5, 1.0], 0.75)
    >>> scores.best(1)[0].response
    'abcd'
    """

    def __init__(
        self,
        provenance: Provenance,
        *,
        text: bool = True,
        columns: Sequence[str] = (),
        grouped_by: str | None = None,
    ) -> None:
        self.provenance = provenance
        self.has_text = text
        """Whether prompts, responses and ground truths are kept."""
        self.columns = list(columns)
        """The columns that were found and not named, as ``columns: prompt=question, …``."""
        self.seconds = 0.0
        """How long the run took."""
        self.path: Path | None = None
        """The file that the run was written to, if it was."""
        self._results = RecordBuffer()
        self._texts = RecordBuffer()
        self._accumulator = Accumulator(grouped_by)
        self._statistics: Statistics | None = None

    def add(self, sample: KnownSample, outcome: Outcome, seconds: float) -> None:
        """Take in the next sample's outcome."""
        group = sample.group if type(sample.group) in (str, int, float) else None
        self._results.append((sample.id, tuple(outcome), seconds, group))
        if self.has_text:
            self._texts.append(tuple(sample.text))
        components = {name: m[0] for name, m in outcome.metrics.items()} if outcome.metrics else None
        self._accumulator.add(
            outcome.score,
            kind=outcome.kind,
            components=components,
            seconds=seconds,
            group=sample.group,
            length=sample.text.length,
        )
        self._statistics = None

    @property
    def reward(self) -> str:
        """The name of the reward."""
        return self.provenance.reward

    @property
    def version(self) -> str:
        """The version of the reward."""
        return self.provenance.version

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, position: int | str) -> EvaluateResult: ...
    @overload
    def __getitem__(self, position: slice) -> list[EvaluateResult]: ...
    def __getitem__(self, position: int | str | slice) -> EvaluateResult | list[EvaluateResult]:
        """The result at a position, those of a slice, or that of the sample with an id that is text."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if isinstance(position, str):
            return self.by_id(position).result
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise IndexError(f"there are {len(self)} results, no number {position}")
        return unpack(Outcome(*self._results[position][1]), self.provenance)

    def __iter__(self) -> Iterator[EvaluateResult]:
        for outcome in self._outcomes():
            yield unpack(outcome, self.provenance)

    def _outcomes(self) -> Iterator[Outcome]:
        for _, outcome, _, _ in self._results:
            yield Outcome(*outcome)

    @property
    def scores(self) -> list[float | None]:
        """The bare scores; None for what failed or does not apply."""
        return [outcome.score for outcome in self._outcomes()]

    @property
    def ids(self) -> list[str | int]:
        """The samples' ids; the position of a sample that has none."""
        return [identity for identity, _, _, _ in self._results]

    # Samples with their text.

    def sample(self, position: int) -> SampleResult:
        """The sample at a position, counted from 0, with its text and its result."""
        identity, outcome, seconds, group = self._results[position]
        text = SampleText(*self._texts[position]) if self.has_text else SampleText()
        result = unpack(Outcome(*outcome), self.provenance)
        return SampleResult(
            position=position, id=identity, result=result, text=text, group=group, seconds=seconds
        )

    def by_id(self, id: str | int) -> SampleResult:
        """The sample with an id. Raises KeyError where there is none, or more than one."""
        found = [position for position, identity in enumerate(self.ids) if identity == id]
        if len(found) == 1:
            return self.sample(found[0])
        if not found:
            raise KeyError(f"there is no sample with the id {id!r}")
        places = ", ".join(map(str, found[:5])) + (" and further ones" if len(found) > 5 else "")
        raise KeyError(f"{len(found)} samples have the id {id!r}; index by position: {places}")

    def worst(self, count: int = SHOWN) -> SampleResults:
        """The samples with the lowest scores, the lowest first."""
        ranked = heapq.nsmallest(count, ((s, i) for i, s in enumerate(self.scores) if s is not None))
        return self._samples([position for _, position in ranked])

    def best(self, count: int = SHOWN) -> SampleResults:
        """The samples with the highest scores, the highest first."""
        ranked = heapq.nsmallest(count, ((-s, i) for i, s in enumerate(self.scores) if s is not None))
        return self._samples([position for _, position in ranked])

    def failed(self) -> SampleResults:
        """The samples that failed, in order."""
        return self._samples([i for i, outcome in enumerate(self._outcomes()) if outcome.error is not None])

    def groups(self) -> list[ScoreGroup]:
        """The groups in the order of their first samples; none where nothing says which samples belong together."""
        found: dict[Any, tuple[array[int], array[float]]] = {}
        for position, (_, outcome, _, group) in enumerate(self._results):
            if group is None:
                continue
            positions, scores = found.setdefault(group, (array("q"), array("d")))
            positions.append(position)
            if outcome[0] is not None:
                scores.append(outcome[0])
        return [
            ScoreGroup(key=key, samples=self._samples(positions), scores=scores)
            for key, (positions, scores) in found.items()
        ]

    def disputed(self, count: int = SHOWN) -> list[ScoreGroup]:
        """The groups whose scores lie farthest apart, the farthest first; zero-variance groups are left out."""
        apart = [group for group in self.groups() if group.spread > 0]
        return heapq.nlargest(count, apart, key=lambda group: group.spread)

    def _samples(self, positions: Sequence[int]) -> SampleResults:
        return SampleResults(self.sample, positions)

    def failures(self) -> Iterator[tuple[str | int, EvaluateResult]]:
        """The id and the result of every sample that failed."""
        for identity, outcome, _, _ in self._results:
            if Outcome(*outcome).error is not None:
                yield identity, unpack(Outcome(*outcome), self.provenance)

    def failure_groups(self) -> list[FailureGroup]:
        """What failed, the samples with the same error together, the most frequent error first.

        Beyond 1,000 different errors the samples are counted with the last.
        """
        found: dict[tuple[str, str], FailureGroup] = {}
        for position, (identity, packed, _, _) in enumerate(self._results):
            outcome = Outcome(*packed)
            if outcome.error is None:
                continue
            key = (outcome.kind or "error", outcome.error)
            if key not in found and len(found) >= _ERRORS:
                key = next(reversed(found))
            group = found.setdefault(key, FailureGroup(kind=key[0], error=key[1], ids=[]))
            group.count += 1
            group.has_ids |= identity != position
            if len(group.ids) < _IDS:
                group.ids.append(identity)
        return sorted(found.values(), key=lambda group: -group.count)

    @property
    def all_failed(self) -> str | None:
        """Where samples failed and none has a score, one line that says so with the most frequent reason."""
        statistics = self.statistics()
        if not statistics.failed or statistics.scored:
            return None
        where = " that the reward applies to" if statistics.not_applicable else ""
        return all_failed_line({(one.kind, one.error): one.count for one in self.failure_groups()}, where)

    # Numbers.

    def statistics(self) -> Statistics:
        """Counts, spread, histogram, components, groups, timing, and findings in words."""
        if self._statistics is None:
            self._statistics = self._accumulator.statistics()
        return self._statistics

    def progress(self, resumed: int, total: int | None, seconds: float) -> Progress:
        """How far the run that fills these scores is."""
        counts = self._accumulator
        return Progress(len(self), resumed, total, counts.failed, counts.mean, seconds)

    # Rows and tables.

    def row(self, sample: KnownSample, outcome: Outcome, seconds: float) -> dict[str, Any]:
        """A sample as a row of a file, with its digest where it has one."""
        text = sample.text if self.has_text else None
        made_by = self.provenance
        return row_of(
            sample.id, outcome, seconds, made_by, text=text, group=sample.group, digest=sample.digest
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each sample as a row: id, score, error, reason, metrics, prompt, response, …"""
        texts = iter(self._texts)
        for identity, outcome, seconds, group in self._results:
            text = SampleText(*next(texts)) if self.has_text else None
            yield row_of(identity, Outcome(*outcome), seconds, self.provenance, text=text, group=group)

    def row_at(self, position: int) -> dict[str, Any]:
        """The row of the sample at a position."""
        one = self.sample(position)
        outcome = Outcome(*self._results[position][1])
        text = one.text if self.has_text else None
        return row_of(one.id, outcome, one.seconds, self.provenance, text=text, group=one.group)

    def write(self, path: str | Path) -> Path:
        """Write the rows to a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file that does not exist yet.

        Raises InputError for another suffix or an existing file, MissingExtraError for Parquet without
        pyarrow.
        """
        target = Path(path)
        if target.exists():
            raise InputError(f"{target} exists already; remove it or choose another name")
        write_rows(target, self.rows())
        return target

    def to_pandas(self) -> Any:
        """A DataFrame of pandas, with a column for each metric. Raises MissingExtraError without pandas."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError.of("data", "a DataFrame") from None
        return pandas.DataFrame(flat_records(self.rows()))

    def to_arrow(self) -> Any:
        """A table of pyarrow, as a Parquet file has it. Raises MissingExtraError without pyarrow."""
        return arrow_table(self.rows())

    def to_dataset(self) -> Any:
        """A Dataset of Hugging Face. Raises MissingExtraError without datasets."""
        try:
            import datasets
        except ImportError:
            raise MissingExtraError.of("data", "a Dataset") from None
        return datasets.Dataset(datasets.table.InMemoryTable(self.to_arrow()))

    # What it shows.

    def __repr__(self) -> str:
        return hooks.shown_as_text(self)

    def _repr_html_(self) -> str:
        return hooks.shown_as_html(self)
