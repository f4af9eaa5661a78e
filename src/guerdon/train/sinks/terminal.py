"""The terminal: a bar with the run's figures, warnings above it, and what was asked for besides."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Console
from rich.text import Text

from guerdon.console import clean, duration, print_sample, print_statistics
from guerdon.console.progress_bar import TransientBar, as_clock
from guerdon.scoring.statistics.accumulator import Accumulator
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.train.diagnostics.trends import Alarm
from guerdon.train.sinks.base import StepReport

STATISTICS_STEPS = 10
"""Steps between two blocks of statistics, where they are asked for."""

LINES = 10
"""Lines that a whole run makes where standard error is no terminal, unless it takes long."""

LINE_SECONDS = 60.0
"""A line comes after so many seconds in any case."""

_REFRESH_SECONDS = 0.1
_SPARKS = "▁▂▃▄▅▆▇█"
_ASCII_SPARKS = "_.-=+*#@"
_STYLES = {"critical": "bold red", "warning": "yellow", "notice": "cyan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalOptions:
    """What the terminal shows of a run."""

    total: int | None = None
    """Steps of the whole run, where that is known."""
    statistics: bool = False
    """``training.log_reward_stats``: the statistics of the rewards every so many steps."""
    statistics_steps: int = STATISTICS_STEPS
    title: str = "train"


class TerminalSink:
    """Shows a run on standard error: live on a terminal, in a few lines elsewhere."""

    def __init__(
        self,
        options: TerminalOptions | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options or TerminalOptions()
        self._console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = self._console.is_terminal and os.environ.get("TERM") != "dumb"
        self._clock = clock
        self._bar: TransientBar | None = None
        self._started = self._said = self._drawn = clock()
        self._before = 0
        self._lines = 0
        self._rewards: list[float] = []
        self._stride = 1
        self._times: deque[float] = deque(maxlen=20)
        self._block = Accumulator()
        self._block_from: int | None = None
        self._last: StepReport | None = None

    def step(self, report: StepReport) -> None:
        """Show a step that ended."""
        now = self._clock()
        self._last = report
        self._times.append(report.scalars.get("time/step", 0.0))
        if (mean := report.scalars.get("reward/mean")) is not None:
            self._remember(report.step, mean)
        for position, (sample, result) in enumerate(report.first):
            self._trace(report.step, position)
            print_sample(position, sample, {result.reward or "reward": result}, self._console)
        for alarm in report.warning_change.raised:
            self._warn(report.step, alarm)
        if self._options.statistics:
            self._statistics(report)
        if self._live:
            if now - self._drawn >= _REFRESH_SECONDS or self._bar is None:
                self._drawn = now
                self._draw(report)
        elif self._due(report.step, now):
            self._say(report, now)

    def resume(self, step: int) -> None:
        """Go on after a step; the plan that is shown before the run says so."""
        self._before = step

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """Take the bar away and say how the run stands."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._last is not None and self._block.count:
            self._show_block(self._last.step)
        if self._last is not None and (self._live or self._last.step != self._lines):
            self._say(self._last, self._clock())

    def _remember(self, step: int, mean: float) -> None:
        """Keep at most 256 means for the sparkline, evenly over the run."""
        if (step - 1) % self._stride == 0:
            self._rewards.append(mean)
        if len(self._rewards) > 256:
            self._rewards = self._rewards[::2]
            self._stride *= 2

    # On a terminal.

    def _draw(self, report: StepReport) -> None:
        if self._bar is None:
            self._bar = TransientBar(self._options.title, self._console, auto_refresh=False)
        self._bar.show(report.step, self._options.total, self._progress(report))
        self._bar.footer = self._figures(report)
        self._bar.refresh()

    def _progress(self, report: StepReport) -> str:
        total = self._options.total
        text = f"{report.step:,}" if total is None else f"{report.step:,}/{total:,}"
        pace = sum(self._times) / len(self._times) if self._times else 0.0
        if total is not None and total > report.step and pace:
            text += f"  {as_clock((total - report.step) * pace)} left"
        return text

    def _figures(self, report: StepReport) -> Text:
        """Two lines at most: the reward with its course, and the rest."""
        width = max(min(self._console.width, 100) - 4, 20)
        head, rest = _pieces(report, self._console.options.ascii_only)
        room = width - len(head) - 2
        sparks = _ASCII_SPARKS if self._console.options.ascii_only else _SPARKS
        course = sparkline(self._rewards, min(room, 48), sparks) if room >= 8 else ""
        text = Text.assemble((head, "bold"), "  ", (course, "green"))
        line = ""
        for piece in rest:
            if len(line) + 3 + len(piece) > width:
                break
            line += f"   {piece}" if line else piece
        return Text("\n").join([text, Text(line, style="dim")]) if line else text

    # Elsewhere.

    def _due(self, step: int, now: float) -> bool:
        total = self._options.total
        if step == self._before + 1 or now - self._said >= LINE_SECONDS:
            return True
        return total is not None and step * LINES // total > (step - 1) * LINES // total

    def _say(self, report: StepReport, now: float) -> None:
        self._said, self._lines = now, report.step
        head, rest = _pieces(report, self._console.options.ascii_only)
        total = self._options.total
        start = f"step {report.step:,}" + ("" if total is None else f"/{total:,}")
        self._console.print(Text(", ".join([start, head, *rest])), soft_wrap=True)

    # Both.

    def _warn(self, step: int, alarm: Alarm) -> None:
        style = _STYLES[alarm.severity]
        text = Text.assemble(
            (f"{alarm.severity} at step {step:,}: ", style), clean(str(alarm), self._console)
        )
        self._console.print(text)

    def _trace(self, step: int, position: int) -> None:
        if position == 0:
            self._console.print(
                Text(f"step {step:,}, the first of its samples:", style="dim"), soft_wrap=True
            )

    def _statistics(self, report: StepReport) -> None:
        if self._block_from is None:
            self._block_from = report.step
        for seen in report.seen:
            parts = {name: value for name, (value, _) in seen.metrics.items()}
            group = f"{report.step} {seen.group}"
            self._block.add(seen.score, kind=seen.kind, components=parts, group=group, length=seen.length)
        if report.step - self._block_from + 1 >= self._options.statistics_steps and self._block.count:
            self._show_block(report.step)

    def _show_block(self, last: int) -> None:
        """The statistics of the steps since the block before."""
        steps = f"step {last:,}" if last == self._block_from else f"steps {self._block_from:,} to {last:,}"
        print_statistics(self._block.statistics(), self._console, f"Rewards of {steps}")
        self._console.print()
        self._block, self._block_from = Accumulator(), None


def _pieces(report: StepReport, ascii_only: bool) -> tuple[str, list[str]]:
    """The reward, and the other figures in the order of their weight."""
    get = report.scalars.get
    if (mean := get("reward/mean")) is None:
        head = "no reward"
    else:
        deviation = get("reward/var", 0.0) ** 0.5
        head = f"reward {mean:.3f} {'+/-' if ascii_only else '±'} {deviation:.3f}"
    rest = []
    if (flat := get("groups/zero_variance")) is not None:
        rest.append(f"{percent(round(flat, 3))} zero-variance groups")
    if get("failed"):
        rest.append(f"{get('failed', 0.0):,.0f} failed")
    if (length := get("length/mean")) is not None:
        rest.append(f"{figure(round(length, 1))} characters")
    if (correlation := get("length/correlation")) is not None:
        rest.append(f"length against reward {correlation:+.2f}")
    if (share := get("time/reward_share")) is not None:
        rest.append(f"{share:.0%} in rewards")
    if (seconds := get("time/step")) is not None:
        rest.append(f"{duration(seconds, ascii_only=ascii_only)}/step")
    if (speed := get("tokens_per_second")) is not None:
        rest.append(f"{speed:,.0f} tokens/s")
    return head, rest


def sparkline(values: list[float], width: int, sparks: str = _SPARKS) -> str:
    """A course in one line of ``width`` characters at most; the last character holds the latest values.

    >>> sparkline([0.0, 0.5, 1.0], 8)
    '▁▅█'
    """
    if not values or width < 1:
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(*means, 0.0) if len(means) > 1 else min(means[0], 0.0), max(means)
    scale = (high - low) or 1.0
    top = len(sparks) - 1
    return "".join(sparks[min(int((mean - low) / scale * top + 0.5), top)] for mean in means)
