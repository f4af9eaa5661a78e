"""How far a long job is: on standard error, or in a notebook's cell."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

from rich.console import Console

from guerdon.console.notebook import NotebookBar, in_notebook
from guerdon.console.progress_bar import TransientBar, as_clock
from guerdon.console.working import Working
from guerdon.scoring.progress import OnProgress, Progress

PATIENCE = 0.5
"""Seconds that a job may take before it is worth a bar."""

LINE_SECONDS = 10.0
"""Seconds between two lines where standard error is no terminal."""

_RATE_SECONDS = 10.0
"""How far back the rate looks."""


class PlainConsole(Console):
    """Prints text as it is, and leaves a broken pipe to the program."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(
            file=sys.stderr if stderr else sys.stdout,
            highlight=False,
            markup=False,
            emoji=False,
            force_jupyter=False,
        )

    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, while which this is called


class ProgressBar:
    """How far a job is: a bar on a terminal and in a notebook, else a line now and then; a context manager.

    Nothing is shown of a job that is done within ``patience`` seconds.
    """

    def __init__(
        self, what: str, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._patience = patience
        self._clock = clock
        self._bar: TransientBar | NotebookBar | None = None
        self._started = self._said = clock()
        self._seen: deque[tuple[float, int]] = deque()
        self._live = is_live()
        # Lines come seldom, and none before something is done.
        self._first_line = Working(what)

    def __enter__(self) -> ProgressBar:
        if not self._live:
            self._first_line.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._first_line.stop()
        if self._bar is not None:
            self._bar.stop()

    def count(self, done: int, total: int | None, note: str = "", *, before: int = 0) -> None:
        """Show that ``done`` of ``total`` are done, ``before`` of them in an earlier run."""
        if total is None:
            self._show(done - before, f"{done:,}", None, 0, note)
            return
        self._show(done - before, f"{done:,}/{total:,}", done / total if total else 1.0, total - done, note)

    def share(self, done: int, share: float, note: str = "") -> None:
        """Show that ``done`` are done, which is that share of all, from 0 to 1."""
        self._show(done, f"{done:,}", share, done / share - done if share else 0.0, note)

    def _show(self, fresh: int, count: str, share: float | None, left: float, note: str) -> None:
        now = self._clock()
        rate = self._rate(now, fresh)
        if now - self._started < self._patience:
            return
        pieces = [count]
        if rate > 0:
            pieces.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
            pieces += [f"{as_clock(left / rate)} left"] if left > 0 else []
        pieces += [note] if note else []
        if self._live:
            self._draw(share, "  ".join(pieces))
        elif now - self._said >= LINE_SECONDS:
            self._first_line.stop()
            self._said = now
            print(f"{self._what} {', '.join(pieces)}", file=sys.stderr)

    def _rate(self, now: float, fresh: int) -> float:
        """Per second, over the last seconds."""
        self._seen.append((now, fresh))
        while now - self._seen[0][0] > _RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        then, before = self._seen[0]
        return (fresh - before) / (now - then) if now > then else 0.0

    def _draw(self, share: float | None, text: str) -> None:
        if self._bar is None:
            notebook = in_notebook()
            self._bar = (
                NotebookBar(self._what) if notebook else TransientBar(self._what, PlainConsole(stderr=True))
            )
        self._bar.show(share or 0.0, None if share is None else 1.0, text)


def is_live() -> bool:
    """Whether a bar can be drawn: in a notebook, and on a terminal."""
    if in_notebook():
        return True
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # a process may have no standard error, or have closed it
        return False


def show_scoring(bar: ProgressBar, progress: Progress) -> None:
    """Show how far a scoring run is, with its mean score and what failed."""
    notes = [] if progress.mean is None else [f"mean {progress.mean:.3f}"]
    notes += [f"{progress.failed:,} failed"] if progress.failed else []
    bar.count(progress.done, progress.total, "  ".join(notes), before=progress.resumed)


@contextlib.contextmanager
def scoring_progress(wanted: bool) -> Iterator[OnProgress | None]:
    """What shows a run of ``guerdon.score``; unless it is ``wanted``, only where there is a bar."""
    if not wanted and not is_live():
        yield None
        return
    with ProgressBar("scoring") as bar:
        yield lambda progress: show_scoring(bar, progress)
