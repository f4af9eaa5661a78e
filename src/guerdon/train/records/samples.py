"""The samples of a run with their scores, kept so that the run can be read and scored again.

While the run goes on, rows gather in ``samples.partial.jsonl``; when it ends they become ``samples.parquet``.
A resumed run goes on from either, without the rows of the steps that it does again.

The Parquet file is a data set: ``messages``, ``ground_truth``, ``answer``, ``id`` and ``metadata``, which holds
every other column as JSON, are what the reward was given, so ``guerdon score REWARD samples.parquet`` scores it
again. What the run says of a sample stands in columns that begin with ``run.``, which is a name that no parameter
of a reward can have: ``run.step``, ``run.mode``, ``run.position`` in the step, ``run.group`` of those that answer
the same prompt in the same step, ``run.prompt`` and ``run.completion`` as text, ``run.score``, ``run.error``,
``run.error_kind``, ``run.reason``, ``run.metrics`` as JSON and each one's number as ``run.metrics.NAME``,
``run.reward``, ``run.version`` and ``run.parameters``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.errors import ResumeError, RewardError
from guerdon.scoring.outcome import pack
from guerdon.scoring.rows import check_row, row_of
from guerdon.train.diagnostics.step_statistics import Observation, prompt_key
from guerdon.train.records.jsonl import StepLines, read_lines
from guerdon.train.records.parquet import read_table, text_of, write_table
from guerdon.types import Provenance, Sample

if TYPE_CHECKING:
    from guerdon.trainers.adapter import ScoredBatch

_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("step", "position"), int),
    **dict.fromkeys(("mode", "group"), str),
    **dict.fromkeys(("error", "error_kind", "reason"), (str, type(None))),
    "score": (int, float, type(None)),
    "sample": dict,
}
_UNNAMED = Provenance("", "")


@dataclass(frozen=True, slots=True)
class ComponentScore:
    """One component of a kept verdict."""

    score: float
    weight: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSample:
    """A sample of a run with its verdict, as read back."""

    step: int
    mode: str
    """``train`` or ``eval``."""
    position: int
    """In its step, counted from 0."""
    group: str
    """The same for the samples of a step that answer the same prompt."""
    sample: Sample
    score: float | None
    error: str | None = None
    error_kind: str | None = None
    reason: str | None = None
    components: Mapping[str, ComponentScore] = field(default_factory=dict)
    reward: str = ""
    version: str = ""

    @property
    def prompt_key(self) -> str:
        """The same for every sample of the run that answers the same prompt."""
        return self.group.partition("/")[2]


def lines_of(batch: ScoredBatch, step: int, start: int) -> Iterator[dict[str, Any]]:
    """A batch as lines of the growing file; its first sample has the position ``start`` in the step."""
    for position, (sample, result) in enumerate(zip(batch.samples, batch.results, strict=True), start):
        made_by = result.provenance or batch.adapter.reward.provenance or _UNNAMED
        verdict = row_of(0, pack(result), 0.0, made_by)
        del verdict["id"], verdict["seconds"]
        yield {
            "step": step,
            "mode": batch.mode,
            "position": position,
            "group": f"{step}/{prompt_key(sample)}",
            "sample": sample.to_row(),
            **verdict,
        }


def check_line(line: Mapping[str, Any], path: Path) -> None:
    """Raises ResumeError for a line that is no sample of a run, whatever wrote it."""
    try:
        check_row({**line, "sample": None})
        for name, kinds in _KINDS.items():
            if not isinstance(line[name], kinds):
                raise ValueError(f"{name} is of a wrong type")
        if line["error"] is None and line["score"] is None and line["error_kind"] is not None:
            raise ValueError("error_kind is said without an error")
        messages = line["sample"].get("messages")
        if not (isinstance(messages, list) and all(isinstance(message, dict) for message in messages)):
            raise ValueError("messages is no list of objects")
    except (KeyError, ValueError) as error:
        raise _no_sample(path, error) from None


def kept(line: Mapping[str, Any]) -> KeptSample:
    """A line as an object."""
    components = {
        name: ComponentScore(metric["score"], metric.get("weight"), metric.get("reason"))
        for name, metric in (line.get("metrics") or {}).items()
    }
    return KeptSample(
        step=line["step"],
        mode=line["mode"],
        position=line["position"],
        group=line["group"],
        sample=Sample.from_row(line["sample"]),
        score=line["score"],
        error=line["error"],
        error_kind=line["error_kind"],
        reason=line["reason"],
        components=components,
        reward=line["reward"],
        version=line["version"],
    )


def observed(line: Mapping[str, Any]) -> Observation:
    """What trends look at in a line, without the cost of a Sample."""
    metrics = {
        name: (metric["score"], metric.get("weight")) for name, metric in (line.get("metrics") or {}).items()
    }
    messages = line["sample"]["messages"]
    kind = (line["error_kind"] or "error") if line["error"] is not None else None
    group = line["group"].partition("/")[2]
    length = len(text_of(messages[-1])) if messages else 0
    return Observation(line["score"], kind, metrics, group, length)


class SamplesFile:
    """The growing file of a run and what becomes of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """The Parquet file."""
        self._lines = StepLines(partial_of(path))

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines; they are with the system on return."""
        self._lines.append(lines)

    def resume(self, step: int) -> Iterator[dict[str, Any]]:
        """The lines up to a step; those of later steps are gone once all are read."""
        partial = self._lines.path
        if self.path.exists() and not partial.exists():
            half = partial.with_name(f".{partial.name}")
            half.unlink(missing_ok=True)
            restored = StepLines(half)
            for line in read_table(self.path):
                restored.append([line])
            restored.close()
            if half.exists():
                half.replace(partial)
        self.path.unlink(missing_ok=True)
        return checked(self._lines.resume(step), self._lines.path)

    def sync(self) -> None:
        """Have the rows on the disk itself."""
        self._lines.sync()

    def close(self) -> None:
        """The run is over: make the Parquet file of the rows, if there are any."""
        self._lines.close()
        partial = self._lines.path
        if not partial.exists():
            return
        if partial.stat().st_size:
            write_table(self.path, lambda: read_lines(partial))
        partial.unlink()


def partial_of(path: Path) -> Path:
    """Where the rows gather while the run goes on."""
    return path.with_name(f"{path.stem}.partial.jsonl")


def read_samples(path: Path) -> Iterator[KeptSample]:
    """The samples of a run in order, from the Parquet file or, where the run goes on, from the growing one.

    Nothing where there is neither. Raises InputError or ResumeError for a file that no run wrote.
    """
    partial = partial_of(path)
    lines = read_lines(partial) if partial.exists() or not path.exists() else read_table(path)
    for line in checked(lines, path):
        try:
            yield kept(line)
        except (RewardError, ValueError, TypeError, AttributeError) as error:
            raise _no_sample(path, error) from None


def _no_sample(path: Path, error: Exception) -> ResumeError:
    what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
    return ResumeError(f"{path} has a line that is no sample of a training run: {what[:200]}")


def checked(lines: Iterable[dict[str, Any]], path: Path) -> Iterator[dict[str, Any]]:
    """Lines that are samples of a run. Raises ResumeError for another."""
    for line in lines:
        check_line(line, path)
        yield line
