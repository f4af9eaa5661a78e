"""Windows of training steps: what the trends of a run are read from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.summary import Statistics
from guerdon.train.diagnostics.step_statistics import Observation, spread

KEPT = 64
"""Windows that are remembered; of more, every second one is let go, the first and the last few excepted."""


@dataclass(frozen=True, slots=True)
class Level:
    """Where a series stood in a window."""

    mean: float
    error: float
    """Standard error of the mean: from the samples or from step to step, whichever is larger."""

    def rise_from(self, earlier: Level, errors: float, least: float) -> bool:
        """Whether this lies above ``earlier`` by that many standard errors and by ``least``.

        >>> Level(0.6, 0.02).rise_from(Level(0.4, 0.02), errors=3, least=0.1)
        True
        """
        error = math.hypot(self.error, earlier.error)
        return self.mean - earlier.mean > max(errors * error, least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Some steps in a row, summed up."""

    first: int
    last: int
    reward: Level | None
    """None where no sample had a score."""
    start: Level | None = None
    """Where the reward stood in the first step that had one."""
    lowest: float = 0.0
    highest: float = 0.0
    """The extremes of the scores."""
    components: Mapping[str, Level] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weights of the components that have one."""
    length: Level
    count: int
    failed: int

    @property
    def steps(self) -> str:
        """Which steps these are, in words."""
        return f"steps {self.first:,} to {self.last:,}" if self.last > self.first else f"step {self.first:,}"

    @property
    def failing(self) -> float:
        """The share of the samples that failed."""
        return self.failed / self.count if self.count else 0.0


class OpenWindow:
    """The window that is being filled."""

    def __init__(self) -> None:
        self._scores = Accumulator()
        self._steps: list[int] = []
        self._now: dict[str, list[float]] = {}
        self._means: dict[str, list[float]] = {}
        self._weights: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: int, seen: Observation) -> None:
        """Take one sample of a step that has not ended."""
        components = {name: value for name, (value, _) in seen.metrics.items()}
        group = f"{step} {seen.group}"
        self._scores.add(seen.score, kind=seen.kind, components=components, group=group)
        self._note("length", float(seen.length))
        if seen.score is not None:
            self._note("reward", seen.score)
            for name, (value, weight) in seen.metrics.items():
                self._note(f"reward/{name}", value)
                if weight is not None:
                    self._weights[name] = weight

    def _note(self, series: str, value: float) -> None:
        self._now.setdefault(series, []).append(value)

    def end_step(self, step: int) -> None:
        """The step is complete."""
        self._steps.append(step)
        for series, values in self._now.items():
            self._means.setdefault(series, []).append(sum(values) / len(values))
        self._now = {}

    def close(self) -> tuple[Window, Statistics] | None:
        """The window and the statistics of all its samples; None where it had no samples."""
        stats = self._scores.statistics()
        if not stats.count:
            return None
        parts = {
            name: _level(part.mean, part.std, part.scored, self._means[f"reward/{name}"])
            for name, part in stats.components.items()
            if f"reward/{name}" in self._means
        }
        length = spread(self._means["length"])
        window = Window(
            first=self._steps[0],
            last=self._steps[-1],
            reward=_level(stats.mean, stats.std, stats.scored, self._means["reward"])
            if stats.scored
            else None,
            start=_start(stats, self._means["reward"]) if stats.scored else None,
            lowest=stats.min or 0.0,
            highest=stats.max or 0.0,
            components=parts,
            weights=self._weights,
            length=Level(*length),
            count=stats.count,
            failed=stats.failed,
        )
        return window, stats


def _start(stats: Statistics, means: Sequence[float]) -> Level:
    """The first step, with the error of so few samples."""
    return Level(means[0], (stats.std or 0.0) / math.sqrt(stats.scored / len(means)))


def _level(mean: float | None, std: float | None, count: int, means: Sequence[float]) -> Level:
    by_samples = (std or 0.0) / math.sqrt(max(count, 1))
    return Level(mean or 0.0, max(by_samples, spread(means)[1]))


class History:
    """The windows of a run so far, thinned out so that a long run takes no more memory than a short one."""

    def __init__(self) -> None:
        self._windows: list[Window] = []
        self.best: Window | None = None
        """The window with the highest mean reward."""
        self.peaks: dict[str, Window] = {}
        """For each component the window where its mean was highest."""
        self.lowest = math.inf
        self.highest = -math.inf
        self._extremes: dict[str, tuple[float, float]] = {}
        self.start: Level | None = None
        """Where the reward stood in the first step of the run."""

    def add(self, window: Window) -> None:
        """Take the next window."""
        if len(self._windows) >= KEPT:
            middle = self._windows[1:-4]
            self._windows = [self._windows[0], *middle[1::2], *self._windows[-4:]]
        self._windows.append(window)
        self.start = self.start or window.start
        if window.reward is not None:
            self.lowest, self.highest = min(self.lowest, window.lowest), max(self.highest, window.highest)
            if self.best is None or self.best.reward is None or window.reward.mean > self.best.reward.mean:
                self.best = window
        for name, level in window.components.items():
            peak = self.peaks.get(name)
            if peak is None or level.mean > peak.components[name].mean:
                self.peaks[name] = window
            low, high = self._extremes.get(name, (level.mean, level.mean))
            self._extremes[name] = min(low, level.mean), max(high, level.mean)

    @property
    def first(self) -> Window:
        """The first window."""
        return self._windows[0]

    @property
    def before(self) -> Window | None:
        """The window before the last."""
        return self._windows[-2] if len(self._windows) > 1 else None

    @property
    def last(self) -> Window:
        """The last window."""
        return self._windows[-1]

    @property
    def all(self) -> Sequence[Window]:
        """The windows that are remembered, in order."""
        return self._windows

    @property
    def scale(self) -> float:
        """How far apart the lowest and the highest score of the run lie; at least from 0 to the farther."""
        if not math.isfinite(self.lowest):
            return 0.0
        return max(self.highest, 0.0) - min(self.lowest, 0.0)

    def floor_of(self, name: str) -> float:
        """The lowest mean that a component had in a window."""
        return self._extremes[name][0]

    def scale_of(self, name: str) -> float:
        """How far apart a component's lowest and highest window lie, counted from 0 as well."""
        low, high = self._extremes[name]
        return max(high, 0.0) - min(low, 0.0)
