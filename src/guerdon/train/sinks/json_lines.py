"""``metrics.jsonl``, an object a step, and ``warnings.jsonl``, an object for each warning that comes or goes."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from guerdon.train.records.folder import RunFolder
from guerdon.train.records.jsonl import StepLines
from guerdon.train.sinks.base import StepReport


class JsonLinesSink:
    """The files that ``guerdon train inspect`` and ``plot`` read; written through at every step."""

    def __init__(self, folder: RunFolder) -> None:
        self._metrics = StepLines(folder.metrics)
        self._warnings = StepLines(folder.warnings)

    def step(self, report: StepReport) -> None:
        """Write the step's line, and one for each warning; raises InputError where that fails."""
        line: dict[str, Any] = {"step": report.step, "at": round(time.time(), 3), **report.scalars}
        for name, bars in report.histograms.items():
            levels = {} if bars.levels is None else {"levels": bars.levels}
            line[name] = {"edges": bars.edges, "counts": bars.counts, **levels}
        self._metrics.append([line])
        self._warnings.append(
            {"step": report.step, **alarm.to_dict()} for alarm in report.warning_change.raised
        )
        self._warnings.append({"step": report.step, "over": key} for key in report.warning_change.resolved)

    def resume(self, step: int) -> None:
        """Cut both files back to a step."""
        for lines in (self._metrics, self._warnings):
            deque(lines.resume(step), maxlen=0)

    def flush(self) -> None:
        """Have both files on the disk itself."""
        self._metrics.sync()
        self._warnings.sync()

    def close(self) -> None:
        """Let the files go."""
        self._metrics.close()
        self._warnings.close()
