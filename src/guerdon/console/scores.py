"""Scores, and samples of them, as text: what a terminal shows where they are the value of an expression."""

from __future__ import annotations

import io
import shutil
import sys
from typing import Any

from rich.console import Console

from guerdon.console.inspected import InspectedSample, print_inspected
from guerdon.console.sample import print_all_failed, print_failures
from guerdon.console.statistics import print_statistics
from guerdon.console.text import clean, duration
from guerdon.scoring.results import Scores
from guerdon.scoring.selection import SampleResult

SHOWN = 20
"""Most samples that a selection shows; more are counted."""


def print_scores(scores: Scores, console: Console) -> None:
    """The report of a run: its statistics with what was found, and what failed; first of all if everything did."""
    statistics = scores.statistics()
    print_all_failed(scores.all_failed, console)
    print_statistics(statistics, console, f"{scores.reward} {scores.version}")
    if statistics.failed:
        console.print()
        print_failures(scores.failure_groups(), console)


def pace(done: int, seconds: float, *, ascii_only: bool = False) -> str:
    """How many samples took how long.

    >>> pace(40, 2.0)
    '40 samples in 2 s, 20/s'
    """
    said = f"{done:,} {'sample' if done == 1 else 'samples'} in {duration(seconds, ascii_only=ascii_only)}"
    return said + (f", {done / seconds:,.0f}/s" if seconds > 0 and done else "")


def scores_text(shown: Any) -> str:
    """Scores or SampleResults as lines of the terminal's width."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    width = shutil.get_terminal_size().columns
    # In a notebook a console of rich would show each line as an output of its own.
    console = Console(file=file, width=width, highlight=False, markup=False, emoji=False, force_jupyter=False)
    print_shown(shown, console)
    file.flush()
    file.seek(0)
    return file.read().strip("\n")


def print_shown(shown: Any, console: Console) -> None:
    """Print Scores or SampleResults."""
    if isinstance(shown, Scores):
        print_scores(shown, console)
        if shown.seconds and len(shown):
            console.print()
            console.print(pace(len(shown), shown.seconds, ascii_only=console.options.ascii_only))
        for line in shown.columns:
            console.print(clean(line, console))
        return
    samples = [shown] if isinstance(shown, SampleResult) else shown
    if not len(samples):
        console.print("no samples")
    for one in samples[:SHOWN]:
        print_inspected(InspectedSample.of_result(one), console)
    if (more := len(samples) - SHOWN) > 0:
        console.print(f"\nand {more:,} more")
