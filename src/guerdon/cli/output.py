"""What a command shows: consoles, and how far a long job is, on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

import click
from rich.console import Console

from guerdon.console.progress_bar import TransientBar, as_clock

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


def output(*, stderr: bool = False) -> Console:
    """Standard output, or standard error, as it is now."""
    return _Console(stderr=stderr)


def printable(text: str) -> str:
    """Text of any origin that a terminal shows and does not obey."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


@contextlib.contextmanager
def prints_to_stderr() -> Iterator[None]:
    """While user code runs here: what it prints must not mix with results on standard output."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


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
        self._bar: TransientBar | None = None
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
            self._bar = TransientBar(self._what, _Console(stderr=True))
        self._bar.show(share, 1.0, text)
