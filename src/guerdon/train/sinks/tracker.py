"""Weights & Biases and trackio, which are called alike."""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.errors import MissingExtraError
from guerdon.train.sinks.base import StepReport
from guerdon.trainers.sample_log import ROWS, TABLE, sample_table

logger = logging.getLogger("guerdon.train")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """The run as a tracker is to know it."""

    project: str
    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    table_rows: int = ROWS
    """Samples in a table; 0 for no tables."""
    table_steps: int = 1
    """Steps from one table to the next; the first step has one."""

    @property
    def name(self) -> str:
        """The folder's name with a few letters that no other run has; kept there, so that a resumed run has it too."""
        file = self.folder / "tracker.txt"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(secrets.token_hex(4), encoding="ascii")
        known = re.sub(r"[^\w-]", "-", self.folder.resolve().name)[-48:]
        return f"{known}-{file.read_text(encoding='ascii').strip()}"


class TrackerSink:
    """One run of a tracker. What the tracker cannot take is logged, and the training goes on without it.

    ``start`` gets the package and opens the run. Raises MissingExtraError where the package is not installed.
    """

    def __init__(
        self, package: str, key: str, tracked: TrackedRun, start: Callable[[Any, TrackedRun], None]
    ) -> None:
        self._package = package
        self._tracked = tracked
        self._start = start
        self._started = False
        self._lost = False
        try:
            self._module = importlib.import_module(package)
        except ImportError as error:
            raise MissingExtraError(
                f"{key} needs the package: pip install {package}", extra=package
            ) from error

    def step(self, report: StepReport) -> None:
        """Log the step's scalars and histograms, and its warnings where the tracker has alerts."""

        def log() -> None:
            self._begin()
            numpy = importlib.import_module("numpy")
            bars = {
                name: self._module.Histogram(np_histogram=(numpy.array(h.counts), numpy.array(h.edges)))
                for name, h in report.histograms.items()
                if len(h.counts) < 512
            }
            self._module.log({**report.scalars, **bars, **self._tables(report)}, step=report.step)
            for alarm in report.warning_change.raised:
                self._module.alert(title=alarm.code, text=str(alarm))

        self._attempt(log)

    def resume(self, step: int) -> None:
        """Nothing: the run of this name goes on, and keeps the first of two values that a step was given."""

    def flush(self) -> None:
        """Nothing: a tracker sends what it has on its own."""

    def close(self) -> None:
        """Finish the run."""
        if self._started:
            self._attempt(self._module.finish)
            self._started = False

    def _tables(self, report: StepReport) -> dict[str, Any]:
        """The samples of the step, and those of an evaluation."""
        tracked = self._tracked
        found = {}
        for name, is_eval in ((TABLE, False), (f"{TABLE}/eval", True)):
            pairs = [
                pair
                for batch in report.scored
                if (batch.mode == "eval") is is_eval
                for pair in zip(batch.samples, batch.results, strict=True)
            ]
            due = is_eval or report.step == 1 or report.step % tracked.table_steps == 0
            if pairs and due and tracked.table_rows:
                columns, data = sample_table(pairs, tracked.table_rows)
                found[name] = self._module.Table(columns=columns, data=data)
        return found

    def _begin(self) -> None:
        if not self._started:
            self._start(self._module, self._tracked)
            self._started = True

    def _attempt(self, action: Callable[[], None]) -> None:
        if self._lost:
            return
        try:
            with contextlib.redirect_stdout(sys.stderr):
                action()
        except Exception as error:
            self._lost = True
            logger.warning("%s is lost for this run; the run continues: %s", self._package, error)
