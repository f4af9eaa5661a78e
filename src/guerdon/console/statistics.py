"""The statistics of a run, as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from guerdon.console.charts import optional_figure, print_components, print_histogram
from guerdon.console.layout import heading, labelled, print_items
from guerdon.console.text import NAME_LIMIT, REASON_LIMIT, duration, one_line
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import (
    Distribution,
    Finding,
    Groups,
    Lengths,
    Statistics,
    Timing,
)

SMALL_CORRELATION = 0.1
"""A rank correlation nearer to 0, or within two standard errors of it, is no relation that is worth a word."""

_SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "notice": "cyan"}


def print_statistics(stats: Statistics, console: Console, title: str = "Statistics") -> None:
    """The summary of a run: counts, numbers, histogram, components, groups, length, time, findings with remedies."""
    heading(console, one_line(title, NAME_LIMIT, console))
    print_items(console, "samples", count_pieces(stats))
    if stats.failed:
        kinds = [
            f"{number:,} {one_line(kind, NAME_LIMIT, console)}" for kind, number in stats.failures.items()
        ]
        print_items(console, "failed", kinds, style="red")
    if stats.scored:
        _print_distribution(stats, console)
    if stats.components:
        print_components(stats, console)
    further = {
        "groups": group_pieces(stats.groups) if stats.groups else [],
        "length": length_pieces(stats.lengths) if stats.lengths else [],
        "time": time_pieces(stats.seconds, ascii_only=console.options.ascii_only) if stats.seconds else [],
    }
    if any(further.values()):
        console.print()
    for label, pieces in further.items():
        if pieces:
            print_items(console, label, pieces)
    _print_findings(stats.findings(), console)


def count_pieces(stats: Statistics) -> list[str]:
    """How many samples there are, and how many without a score."""
    counts = [f"{stats.count:,}"]
    if stats.scored != stats.count or not stats.count:
        counts.append(f"{stats.scored:,} scored")
    if stats.failed:
        counts.append(f"{stats.failed:,} failed ({percent(stats.failed / stats.count)})")
    if stats.not_applicable:
        counts.append(f"{stats.not_applicable:,} not applicable")
    return counts


def _print_distribution(stats: Statistics, console: Console) -> None:
    plus_minus = "+/-" if console.options.ascii_only else "±"
    print_items(
        console,
        "score",
        [
            f"mean {optional_figure(stats.mean)} {plus_minus} {optional_figure(stats.std)}",
            f"min {optional_figure(stats.min)}",
            f"max {optional_figure(stats.max)}",
        ],
        style="bold",
    )
    print_items(console, "quantiles", [f"{name} {figure(value)}" for name, value in stats.quantiles.items()])
    print_items(console, "levels", [levels_text(stats)])
    console.print()
    print_histogram(stats.histogram, console)


def levels_text(stats: Distribution) -> str:
    """How many different scores there are, and which is the most frequent.

    >>> levels_text(Distribution(scored=40, distinct=4, top_value=1.0, top_share=0.925))
    '4 distinct scores; 92.5% are 1'
    """
    if stats.distinct == 1:
        return f"1 distinct score: all are {optional_figure(stats.top_value)}"
    said = f"{stats.distinct:,} distinct scores"
    if stats.distinct == stats.scored:
        return said
    return f"{said}; {percent(stats.top_share or 0.0)} are {optional_figure(stats.top_value)}"


def group_pieces(groups: Groups) -> list[str]:
    """What is said of groups."""
    by = [] if groups.by is None else [f"by {groups.by}"]
    if not groups.compared:
        return [f"{groups.count:,}", "none has two scores to compare", *by]
    return [
        f"{groups.count:,} of {figure(round(groups.mean_size, 1))} on average",
        f"std within {figure(groups.std_within)}",
        f"{percent(groups.zero_variance)} zero-variance",
        f"{percent(groups.all_low)} all lowest",
        f"{percent(groups.all_high)} all highest",
        *by,
    ]


def length_pieces(lengths: Lengths) -> list[str]:
    """What is said of the length of the responses, and of length against score.

    >>> length_pieces(Lengths(count=40, mean=118.4, p50=90, p95=310, max=350, correlation=-0.41))
    ['mean 118.4 characters', 'shorter responses score higher: rank correlation -0.41']
    """
    mean = f"mean {figure(round(lengths.mean, 1))} characters"
    correlation = lengths.correlation
    if correlation is None:
        return [mean, "no correlation with the score: one of them is constant"]
    if abs(correlation) < max(SMALL_CORRELATION, 2 / math.sqrt(max(lengths.count - 1, 1))):
        return [mean, f"no clear relation to the score: rank correlation {figure(round(correlation, 2))}"]
    which = "longer" if correlation > 0 else "shorter"
    return [mean, f"{which} responses score higher: rank correlation {figure(round(correlation, 2))}"]


def time_pieces(timing: Timing, *, ascii_only: bool) -> list[str]:
    """What is said of the time that samples took."""
    names: dict[str, Any] = {"mean": timing.mean, "p50": timing.p50, "p99": timing.p99, "max": timing.max}
    return [f"{name} {duration(value, ascii_only=ascii_only)}" for name, value in names.items()]


def _print_findings(found: Sequence[Finding], console: Console) -> None:
    for finding in found:
        console.print()
        style = _SEVERITY_STYLE[finding.severity]
        body = Text(one_line(finding.text, 10 * REASON_LIMIT, console))
        labelled(console, finding.severity, body, label_style=style)
        labelled(console, "", Text(one_line(finding.remedy, 10 * REASON_LIMIT, console)), label_style="")
