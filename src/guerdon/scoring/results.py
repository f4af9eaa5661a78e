"""Scores: what a run over many samples gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from guerdon.errors import InputError
from guerdon.scoring.buffer import ResultBuffer
from guerdon.scoring.files import row_of, write_rows
from guerdon.scoring.outcome import Outcome, unpack
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.summary import Statistics
from guerdon.types import EvaluateResult, Provenance


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    done: int
    """Samples that have a verdict, those of an earlier run that was resumed among them."""
    resumed: int
    total: int | None
    """How many samples there are, where that is known."""
    failed: int
    mean: float | None
    """Mean score so far."""
    seconds: float
    """Since the run started."""


class Scores(Sequence[EvaluateResult]):
    """The results of a run, in the samples' order, with what made them.

    Iterating and indexing give EvaluateResults. The results of a large run lie on disk, not in memory.

    >>> from guerdon import score
    >>> scores = score(lambda response: len(response) / 4, ["ab", "abcd"], workers=0)
    >>> [result.score for result in scores], scores.statistics().mean
    ([0.5, 1.0], 0.75)
    """

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
        self.seconds = 0.0
        """How long the run took."""
        self.path: Path | None = None
        """The file that the run was written to, if it was."""
        self._buffer = ResultBuffer()
        self._accumulator = Accumulator()

    def add(self, identity: str | int, outcome: Outcome, seconds: float, group: Any = None) -> None:
        """Take in the next sample's outcome."""
        self._buffer.append(identity, outcome, seconds)
        components = {name: m[0] for name, m in outcome.metrics.items()} if outcome.metrics else None
        self._accumulator.add(
            outcome.score, kind=outcome.kind, components=components, seconds=seconds, group=group
        )

    @property
    def reward(self) -> str:
        """The name of the reward."""
        return self.provenance.reward

    @property
    def version(self) -> str:
        """The version of the reward."""
        return self.provenance.version

    def __len__(self) -> int:
        return len(self._buffer)

    @overload
    def __getitem__(self, position: int) -> EvaluateResult: ...
    @overload
    def __getitem__(self, position: slice) -> list[EvaluateResult]: ...
    def __getitem__(self, position: int | slice) -> EvaluateResult | list[EvaluateResult]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise IndexError(f"there are {len(self)} results, no number {position}")
        return unpack(self._buffer[position][1], self.provenance)

    def __iter__(self) -> Iterator[EvaluateResult]:
        for _, outcome, _ in self._buffer:
            yield unpack(outcome, self.provenance)

    @property
    def scores(self) -> list[float | None]:
        """The bare scores; None for what failed or does not apply."""
        return [outcome.score for _, outcome, _ in self._buffer]

    @property
    def ids(self) -> list[str | int]:
        """The samples' ids; the position of a sample that has none."""
        return [identity for identity, _, _ in self._buffer]

    def failures(self) -> Iterator[tuple[str | int, EvaluateResult]]:
        """The id and the result of every sample that failed."""
        for identity, outcome, _ in self._buffer:
            if outcome.error is not None:
                yield identity, unpack(outcome, self.provenance)

    def statistics(self) -> Statistics:
        """Counts, spread, histogram, components, groups, timing, and findings in words."""
        return self._accumulator.statistics()

    def progress(self, resumed: int, total: int | None, seconds: float) -> Progress:
        """How far the run that fills these scores is."""
        counts = self._accumulator
        return Progress(len(self), resumed, total, counts.failed, counts.mean, seconds)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each sample as a row: id, score, error, reason, metrics, seconds, reward, version, …"""
        for identity, outcome, seconds in self._buffer:
            yield row_of(identity, outcome, seconds, self.provenance)

    def write(self, path: str | Path) -> Path:
        """Write the rows to a ``.jsonl`` or ``.parquet`` file that does not exist yet.

        Raises InputError for another suffix or an existing file, MissingExtraError for Parquet without
        pyarrow.
        """
        target = Path(path)
        if target.exists():
            raise InputError(f"{target} exists already; remove it or choose another name")
        write_rows(target, self.rows())
        return target

    def __repr__(self) -> str:
        return f"<Scores {len(self)} by {self.reward} {self.version}>"


OnProgress = Callable[[Progress], None]
