"""FailureWatch: ends a run whose reward has failed on every sample since it started."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from guerdon.errors import RewardError
from guerdon.scoring.statistics.failures import all_failed_line
from guerdon.train.backend import Monitor
from guerdon.trainers.adapter import ScoredBatch

STEPS = 3
"""After so many steps without a score a run ends. One may be bad luck; a model learns from none of them."""


class AllFailedError(RewardError):
    """The reward failed on every sample of the first steps, so there was nothing to learn from."""

    kind = "all_failed"


class FailureWatch:
    """A Monitor that passes everything on to another, and raises AllFailedError at the end of a step.

    That is the third step of this process, or the last of the run, where every sample of training until then failed.
    """

    def __init__(self, monitor: Monitor, total: int) -> None:
        self._monitor, self._total = monitor, total
        self._first = 1
        self._errors: Counter[tuple[str, str]] = Counter()
        self._any_verdict = False
        self._lock = threading.Lock()

    def scored(self, batch: ScoredBatch) -> None:
        """See Monitor."""
        if batch.mode != "eval" and not self._any_verdict:
            with self._lock:
                self._any_verdict = any(result.error is None for result in batch.results)
                self._errors.update((r.error_kind or "error", r.error) for r in batch.results if r.error)
        self._monitor.scored(batch)

    def tokens(self, generated: int) -> None:
        """See Monitor."""
        self._monitor.tokens(generated)

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        """See Monitor. Raises AllFailedError once the step is recorded."""
        self._monitor.step(step, seconds, logs)
        if self._any_verdict or not self._errors:
            return
        if step - self._first + 1 >= STEPS or step >= self._total:
            steps = f"step {step:,}" if step == self._first else f"steps {self._first:,} to {step:,}"
            raise AllFailedError(all_failed_line(self._errors, f" of {steps}"))

    def checkpoint(self, step: int, path: Path) -> None:
        """See Monitor."""
        self._monitor.checkpoint(step, path)

    def resume(self, step: int) -> None:
        """See Monitor."""
        self._first = step + 1
        self._monitor.resume(step)

    def close(self) -> None:
        """See Monitor."""
        self._monitor.close()
