"""RunReader: a training run as read from its folder, during the run and afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.scoring.rows import is_number
from guerdon.scoring.statistics.summary import Histogram
from guerdon.train.diagnostics.step_statistics import component_names
from guerdon.train.diagnostics.trends import Alarm
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.jsonl import read_lines
from guerdon.train.records.samples import KeptSample, partial_of, read_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One line of ``metrics.jsonl``."""

    step: int
    at: float | None
    """Seconds since 1970 when the step ended."""
    scalars: Mapping[str, float]
    histograms: Mapping[str, Histogram]


class RunReader:
    """What a run has left in its folder; everything is read when it is asked for.

    ``RunReader.of(path)`` raises InputError where there is no run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @classmethod
    def of(cls, path: str | Path) -> RunReader:
        """The run in a folder, in the folder that a checkpoint of it lies in, or of a file in it."""
        given = Path(path)
        if not given.exists():
            raise InputError(f"there is no folder {given}; give the folder of a run of guerdon train")
        of = RunFolder.of_checkpoint(given)
        for folder in (given, *([of.path] if of else []), *given.resolve().parents[:3]):
            if folder.is_dir() and any(file.exists() for file in _files(RunFolder(folder))):
                return cls(RunFolder(folder))
        inside = sorted(one.parent for one in given.glob("*/run.json")) if given.is_dir() else []
        hint = f"; there are runs in it, such as {inside[-1]}" if inside else ""
        raise InputError(
            f"{given} is not the folder of a training run: it has neither run.json nor metrics.jsonl{hint}"
        )

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What ``run.json`` says: seed, reward, data, versions, state; empty where there is none."""
        path = self.folder.run
        if not path.exists():
            return {}
        try:
            said = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from None
        if not isinstance(said, dict):
            raise InputError(f"{path} holds no object")
        return said

    @cached_property
    def steps(self) -> list[StepRecord]:
        """The steps so far, in order."""
        return [_step(line, self.folder.metrics) for line in read_lines(self.folder.metrics)]

    @property
    def components(self) -> list[str]:
        """The components of the reward, in the order in which they first appeared."""
        names = (name for step in self.steps for name in component_names(step.scalars))
        return list(dict.fromkeys(names))

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Steps and values of a figure such as ``reward/mean``; steps that lack it are left out."""
        found = [(step.step, step.scalars[name]) for step in self.steps if name in step.scalars]
        return [step for step, _ in found], [value for _, value in found]

    def warnings(self) -> list[tuple[int, Alarm]]:
        """The warnings of the run, each with its step."""
        names = Alarm.__dataclass_fields__
        found = []
        for line in read_lines(self.folder.warnings):
            if "code" not in line:
                continue
            given = {name: line[name] for name in names if name in line}
            if not (
                set(given) >= {"code", "severity", "text", "remedy"} and all(map(_is_text, given.values()))
            ):
                raise InputError(f"{self.folder.warnings} has a line that is no warning of a training run")
            found.append((line["step"], Alarm(**given)))
        return found

    @property
    def has_samples(self) -> bool:
        """Whether samples were kept."""
        return self.folder.samples.exists() or partial_of(self.folder.samples).exists()

    def samples(self, mode: str | None = "train") -> Iterator[KeptSample]:
        """The samples in order, read one by one; of one mode, or of both where it is None.

        Raises InputError where none were kept.
        """
        if not self.has_samples:
            raise InputError(f"{self.folder.path} holds no samples; train with training.keep_samples=true")
        found = read_samples(self.folder.samples)
        return found if mode is None else (one for one in found if one.mode == mode)

    def evaluations(self) -> list[tuple[Path, Mapping[str, Any]]]:
        """The evaluations in the folder, by name of file; those that are not an object are left out."""
        found: list[tuple[Path, Mapping[str, Any]]] = []
        for path in sorted(self.folder.evaluations.glob("*.json")):
            try:
                said = json.loads(path.read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(said, dict):
                found.append((path, said))
        return found


def _files(folder: RunFolder) -> list[Path]:
    return [folder.run, folder.metrics]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _step(line: Mapping[str, Any], path: Path) -> StepRecord:
    scalars, histograms = {}, {}
    for name, value in line.items():
        if isinstance(value, dict):
            histograms[name] = _histogram(value, path)
        elif name not in ("step", "at") and is_number(value):
            scalars[name] = float(value)
    at = line.get("at")
    return StepRecord(
        step=line["step"], at=float(at) if is_number(at) else None, scalars=scalars, histograms=histograms
    )


def _histogram(value: Mapping[str, Any], path: Path) -> Histogram:
    edges, counts, levels = value.get("edges", []), value.get("counts", []), value.get("levels")
    for numbers in (edges, counts, [] if levels is None else levels):
        if not (isinstance(numbers, list) and all(map(is_number, numbers))):
            raise InputError(f"{path} has a histogram that holds more than numbers")
    if counts and len(edges) != len(counts) + 1:
        raise InputError(f"{path} has a histogram with {len(edges)} edges for {len(counts)} counts")
    return Histogram(
        edges=tuple(edges),
        counts=tuple(counts),
        levels=None if levels is None else tuple(levels),
    )
