"""The histogram of the scores, and the table of the components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from guerdon.console.layout import print_line, usable_width
from guerdon.console.text import NAME_LIMIT, one_line
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Distribution, Histogram, Statistics

COMPONENTS = 30
"""Most rows of the component table; more are counted."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def optional_figure(number: float | None) -> str:
    """A number, or a dash where there is none."""
    return "-" if number is None else figure(number)


def print_histogram(histogram: Histogram, console: Console) -> None:
    """One bar a level or a range of scores, with counts and shares."""
    whole, most = sum(histogram.counts), max(histogram.counts)
    labels = bar_labels(histogram)
    counts = [f"{count:,}" for count in histogram.counts]
    shares = [percent(count / whole) for count in histogram.counts]
    left, middle, right = (max(map(len, column)) for column in (labels, counts, shares))
    room = max(usable_width(console) - left - middle - right - 6, 4)
    draw = _ascii_bar if console.options.ascii_only else _bar
    for label, count, share, number in zip(labels, counts, shares, histogram.counts, strict=True):
        line = Text(f"{label:>{left}}  ")
        line.append(f"{draw(number / most, room):<{room}}", style="green")
        line.append(f"  {count:>{middle}}  {share:>{right}}")
        print_line(console, line)


def bar_labels(histogram: Histogram) -> list[str]:
    """What stands before each bar."""
    if histogram.levels is not None:
        return [figure(level) for level in histogram.levels]
    edges = [figure(edge) for edge in histogram.edges]
    wide = max(map(len, edges))
    return [f"{a:>{wide}} to {b:>{wide}}" for a, b in pairwise(edges)]


def _bar(share: float, room: int) -> str:
    """A bar in eighths of a character; what is not zero shows."""
    eighths = max(round(share * room * 8), 1 if share else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _ascii_bar(share: float, room: int) -> str:
    return "#" * max(round(share * room), 1 if share else 0)


_COLUMNS: Sequence[tuple[str, Callable[[Distribution], str]]] = (
    ("scored", lambda d: f"{d.scored:,}"),
    ("mean", lambda d: optional_figure(d.mean)),
    ("std", lambda d: optional_figure(d.std)),
    ("min", lambda d: optional_figure(d.min)),
    ("max", lambda d: optional_figure(d.max)),
    ("levels", lambda d: f"{d.distinct:,}"),
)


def print_components(stats: Statistics, console: Console) -> None:
    """A row a component: how many were scored, and the numbers of their scores."""
    shown = list(stats.components.items())[:COMPONENTS]
    columns = [_aligned([name, *(show(component) for _, component in shown)]) for name, show in _COLUMNS]
    room = usable_width(console) - sum(2 + len(column[0]) for column in columns)
    names = [
        "component",
        *(shorten_middle(one_line(name, NAME_LIMIT, console), max(room, 9)) for name, _ in shown),
    ]
    wide = max(map(cell_len, names))
    console.print()
    for row, name in enumerate(names):
        cells = "".join(f"  {column[row]}" for column in columns)
        print_line(console, Text(f"{name}{' ' * (wide - cell_len(name))}{cells}", style="" if row else "dim"))
    if (more := len(stats.components) - len(shown)) > 0:
        print_line(console, Text(f"and {more:,} more", style="dim"))
    if stats.components_left_out:
        text = f"{stats.components_left_out:,} values have further names and are not counted here"
        print_line(console, Text(text, style="dim"))


def _aligned(column: Sequence[str]) -> list[str]:
    """A heading and figures of one width, decimal point under decimal point."""
    decimals = [len(cell) - cell.index(".") if "." in cell else 0 for cell in column[1:]]
    padded = [cell + " " * (max(decimals) - own) for cell, own in zip(column[1:], decimals, strict=True)]
    wide = max(len(cell) for cell in (column[0], *padded))
    return [f"{cell:>{wide}}" for cell in (column[0], *padded)]


def shorten_middle(name: str, room: int) -> str:
    """A name in ``room`` columns, its middle left out where it is longer."""
    if cell_len(name) <= room:
        return name
    end = name[-(room - 3) // 2 :]
    while cell_len(end) > (room - 3) // 2:
        end = end[1:]
    start = name
    while cell_len(start) > room - 3 - cell_len(end):
        start = start[:-1]
    return f"{start}...{end}"
