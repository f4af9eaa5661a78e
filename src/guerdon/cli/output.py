"""What a command shows, and where."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console

from guerdon.console.job_progress import PlainConsole, ProgressBar

__all__ = ["ProgressBar", "output", "printable", "prints_to_stderr"]


def output(*, stderr: bool = False) -> Console:
    """Standard output, or standard error, as it is now."""
    return PlainConsole(stderr=stderr)


def printable(text: str) -> str:
    """Text of any origin that a terminal shows and does not obey."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


@contextlib.contextmanager
def prints_to_stderr() -> Iterator[None]:
    """While user code runs here: what it prints must not mix with results on standard output."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
