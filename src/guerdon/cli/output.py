"""What a command shows: consoles, and how far a long job is, on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Column

PATIENCE = 0.5
"""Seconds that a job may take before it is worth a bar."""

LINE_SECONDS = 10.0
"""Seconds between two lines where standard error is no terminal."""

_RATE_SECONDS = 10.0
"""How far back the rate looks."""


class _Console(Console):
    """Prints text as it is, and leaves a broken pipe to the program."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(
            file=sys.stderr if stderr else sys.stdout, highlight=False, markup=False, emoji=False
        )

    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, while which this is called


def output() -> Console:
    """Standard output as it is now."""
    return _Console()


@contextlib.contextmanager
def prints_to_stderr() -> Iterator[None]:
    """While user code runs here: what it prints must not mix with results on standard output."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


@dataclass(frozen=True, slots=True)
class _Narrower:
    """Leaves room for the ^C that a terminal echoes behind a line, which else would break it in two."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.inner, options.update_width(max(options.max_width - 4, 20)))


class _Bar(RichProgress):
    def get_renderables(self) -> Iterable[RenderableType]:
        yield _Narrower(self.make_tasks_table(self.tasks))


class ProgressBar:
    """How far a job is: a bar on a terminal, else a line now and then; use as a context manager.

    Nothing is shown of a job that is done within ``patience`` seconds.
    """

    def __init__(
        self, what: str, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._patience = patience
        self._clock = clock
        self._bar: _Bar | None = None
        self._started = self._said = clock()
        self._seen: deque[tuple[float, int]] = deque()
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def count(self, done: int, total: int, note: str = "", *, before: int = 0) -> None:
        """Show that ``done`` of ``total`` are done, ``before`` of them in an earlier run."""
        self._show(done - before, f"{done:,}/{total:,}", done / total if total else 1.0, total - done, note)

    def share(self, done: int, share: float, note: str = "") -> None:
        """Show that ``done`` are done, which is that share of all, from 0 to 1."""
        self._show(done, f"{done:,}", share, done / share - done if share else 0.0, note)

    def _show(self, fresh: int, count: str, share: float, left: float, note: str) -> None:
        now = self._clock()
        rate = self._rate(now, fresh)
        if now - self._started < self._patience:
            return
        pieces = [count]
        if rate > 0:
            pieces.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
            pieces += [f"{as_clock(left / rate)} left"] if left > 0 else []
        pieces += [note] if note else []
        if self._terminal:
            self._draw(share, "  ".join(pieces))
        elif now - self._said >= LINE_SECONDS:
            self._said = now
            click.echo(f"{self._what} {', '.join(pieces)}", err=True)

    def _rate(self, now: float, fresh: int) -> float:
        """Per second, over the last seconds."""
        self._seen.append((now, fresh))
        while now - self._seen[0][0] > _RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        then, before = self._seen[0]
        return (fresh - before) / (now - then) if now > then else 0.0

    def _draw(self, share: float, text: str) -> None:
        if self._bar is None:
            self._bar = _Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[text]}", table_column=Column(no_wrap=True), markup=False),
                console=_Console(stderr=True),
                transient=True,
                expand=True,
            )
            self._bar.add_task(self._what, total=1.0, text="")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=share, text=text)


def as_clock(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> as_clock(7.2), as_clock(190), as_clock(7200)
    ('0:07', '3:10', '2:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
