"""What to look at in a run: its best, worst and most changed samples, and where the components disagree."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from guerdon.train.records.run_reader import RunReader
from guerdon.train.records.samples import KeptSample

SHOWN = 3
"""Samples of each kind, unless another number is asked for."""


class _Place(NamedTuple):
    """Where a sample stands in its run."""

    step: int
    position: int


@dataclass(frozen=True, slots=True)
class PromptChange:
    """What became of one prompt over the run."""

    first: KeptSample
    """A sample of the first step that had the prompt, as near to that step's mean as there is."""
    last: KeptSample
    before: float
    """The prompt's mean score in its first step."""
    after: float
    """And in its last."""

    @property
    def by(self) -> float:
        """How far the mean moved."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A sample whose components say different things."""

    sample: KeptSample
    high: str
    """The component that stands highest on its own scale."""
    low: str
    gap: float
    """How far apart they stand, each from 0 at its lowest in the run to 1 at its highest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What is worth reading; each list begins with the most striking, and has a prompt at most once."""

    samples: int
    failed: int
    steps: int
    best: list[KeptSample] = field(default_factory=list)
    worst: list[KeptSample] = field(default_factory=list)
    changed: list[PromptChange] = field(default_factory=list)
    disagreeing: list[Disagreement] = field(default_factory=list)
    failures: list[KeptSample] = field(default_factory=list)
    """The last failure of each kind."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "steps": self.steps,
            "samples": self.samples,
            "failed": self.failed,
            "best": [_plain(one) for one in self.best],
            "worst": [_plain(one) for one in self.worst],
            "changed": [
                {"before": c.before, "after": c.after, "first": _plain(c.first), "last": _plain(c.last)}
                for c in self.changed
            ],
            "disagreeing": [
                {"high": d.high, "low": d.low, "gap": d.gap, "sample": _plain(d.sample)}
                for d in self.disagreeing
            ],
            "failures": [_plain(one) for one in self.failures],
        }


def inspect(reader: RunReader, count: int = SHOWN) -> Inspection:
    """Reads a run's samples twice: to find the places, and to fetch what stands there.

    Of equal samples the later one is taken, since it shows the model as it is now. Memory grows with the number
    of prompts, by some hundred bytes each, and not with the number of samples.
    Raises InputError where the run kept no samples.
    """
    search = _Search(_scales(reader))
    for one in reader.samples():
        search.look(one)
    changes = _largest(search.first, lambda key: abs(search.change(key)), count)
    changes = [key for key in changes if search.change(key)]
    wanted: dict[str, list[_Place]] = {
        "best": [search.best[key][1] for key in _largest(search.best, lambda k: search.best[k], count)],
        "worst": [search.worst[key][1] for key in _largest(search.worst, lambda k: search.worst[k], count)],
        "apart": [search.apart[key][1] for key in _largest(search.apart, lambda k: search.apart[k], count)],
        "failures": list(search.failures.values()),
        "changes": [
            place for key in changes for place in (search.first[key].near(), search.last[key].near())
        ],
    }
    found = _fetch(reader, {place for places in wanted.values() for place in places})
    pairs = iter(wanted["changes"])
    return Inspection(
        samples=search.samples,
        failed=search.failed,
        steps=search.steps,
        best=[found[place] for place in wanted["best"]],
        worst=[found[place] for place in wanted["worst"]],
        changed=[
            PromptChange(found[a], found[b], search.first[key].mean, search.last[key].mean)
            for key, a, b in zip(changes, pairs, pairs, strict=True)
        ],
        disagreeing=[search.disagreement(found[place]) for place in wanted["apart"]],
        failures=[found[place] for place in wanted["failures"]],
    )


class _Visit:
    """The samples of one prompt in one step."""

    __slots__ = ("scores", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self.scores: list[tuple[float, int]] = []

    @property
    def mean(self) -> float:
        return sum(score for score, _ in self.scores) / len(self.scores)

    def near(self) -> _Place:
        """The sample nearest to the mean."""
        mean = self.mean
        return _Place(self.step, min(self.scores, key=lambda pair: (abs(pair[0] - mean), pair[1]))[1])


class _Search:
    """The most striking samples so far, by prompt."""

    def __init__(self, scales: Mapping[str, tuple[float, float]]) -> None:
        self._scales = scales
        self.samples = self.failed = self.steps = 0
        self.best: dict[str, tuple[float, _Place]] = {}
        self.worst: dict[str, tuple[float, _Place]] = {}
        """By the score turned round, so that the largest is the worst."""
        self.apart: dict[str, tuple[float, _Place]] = {}
        self.first: dict[str, _Visit] = {}
        self.last: dict[str, _Visit] = {}
        self.failures: dict[str, _Place] = {}

    def look(self, one: KeptSample) -> None:
        """Take one sample in."""
        place, key = _Place(one.step, one.position), one.prompt_key
        self.samples += 1
        self.steps = max(self.steps, one.step)
        if one.error is not None:
            self.failed += 1
            self.failures[one.error_kind or "error"] = place
        if one.score is None:
            return
        _raise(self.best, key, one.score, place)
        _raise(self.worst, key, -one.score, place)
        if (gap := self.disagreement(one).gap) > 0:
            _raise(self.apart, key, gap, place)
        first = self.first.setdefault(key, _Visit(one.step))
        if first.step == one.step:
            first.scores.append((one.score, one.position))
        last = self.last.get(key)
        if last is None or last.step != one.step:
            last = self.last[key] = _Visit(one.step)
        last.scores.append((one.score, one.position))

    def change(self, key: str) -> float:
        """How far a prompt's mean moved from its first step to its last."""
        return self.last[key].mean - self.first[key].mean

    def disagreement(self, one: KeptSample) -> Disagreement:
        """How far the components of a sample stand apart; a penalty, of negative weight, counts turned round."""
        stands: dict[str, float] = {}
        for name, part in one.components.items():
            low, high = self._scales.get(name, (0.0, 1.0))
            if high > low:
                share = (part.score - low) / (high - low)
                stands[name] = 1 - share if (part.weight or 0.0) < 0 else share
        if len(stands) < 2:
            return Disagreement(one, "", "", 0.0)
        top, bottom = max(stands, key=lambda n: stands[n]), min(stands, key=lambda n: stands[n])
        return Disagreement(one, top, bottom, stands[top] - stands[bottom])


def _raise(table: dict[str, tuple[float, _Place]], key: str, value: float, place: _Place) -> None:
    if key not in table or (value, place) > table[key]:
        table[key] = value, place


def _largest(keys: Iterable[str], rank: Callable[[str], Any], count: int) -> list[str]:
    return heapq.nlargest(count, keys, key=rank)


def _scales(reader: RunReader) -> dict[str, tuple[float, float]]:
    """The lowest and highest value of each component in the run."""
    scales: dict[str, tuple[float, float]] = {}
    for name in reader.components:
        lows, highs = (reader.series(f"reward/{name}/{end}")[1] for end in ("min", "max"))
        if lows and highs:
            scales[name] = min(lows), max(highs)
    return scales


def _fetch(reader: RunReader, places: set[_Place]) -> dict[_Place, KeptSample]:
    found = {}
    for one in reader.samples():
        if (place := _Place(one.step, one.position)) in places:
            found[place] = one
    return found


def _plain(one: KeptSample) -> dict[str, Any]:
    return {
        "step": one.step,
        "position": one.position,
        "prompt": one.sample.prompt,
        "completion": one.sample.response,
        "ground_truth": one.sample.ground_truth if one.sample.ground_truth is not None else one.sample.answer,
        "score": one.score,
        "error": one.error,
        "error_kind": one.error_kind,
        "reason": one.reason,
        "components": {name: part.score for name, part in one.components.items()},
        "reward": one.reward,
        "version": one.version,
    }
