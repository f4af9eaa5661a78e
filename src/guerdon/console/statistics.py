"""The statistics of a run, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from guerdon.console.charts import optional_figure, print_components, print_histogram
from guerdon.console.layout import heading, labelled, print_items
from guerdon.console.text import NAME_LIMIT, REASON_LIMIT, duration, one_line
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Finding, Groups, Statistics, Timing

_SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "notice": "cyan"}


def print_statistics(stats: Statistics, console: Console, title: str = "Statistics") -> None:
    """The summary of a run: counts, numbers, histogram, components, groups, time, findings with remedies."""
    heading(console, one_line(title, NAME_LIMIT, console))
    print_items(console, "samples", _counts(stats))
    if stats.failed:
        kinds = [
            f"{number:,} {one_line(kind, NAME_LIMIT, console)}" for kind, number in stats.failures.items()
        ]
        print_items(console, "failed", kinds, style="red")
    if stats.scored:
        _print_distribution(stats, console)
    if stats.components:
        print_components(stats, console)
    if stats.groups is not None or stats.seconds is not None:
        console.print()
    if stats.groups is not None:
        print_items(console, "groups", _groups(stats.groups))
    if stats.seconds is not None:
        print_items(console, "time", _times(stats.seconds, console))
    _print_findings(stats.findings(), console)


def _counts(stats: Statistics) -> list[str]:
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
    levels = [f"{stats.distinct:,} distinct"]
    if stats.distinct > 1:
        effective = stats.effective_levels or 0.0
        levels.append(f"{effective:,.0f} effective" if effective >= 100 else f"{effective:.3g} effective")
        levels.append(f"most frequent {optional_figure(stats.top_value)} ({percent(stats.top_share or 0.0)})")
    print_items(console, "levels", levels)
    console.print()
    print_histogram(stats.histogram, console)


def _groups(groups: Groups) -> list[str]:
    if not groups.compared:
        return [f"{groups.count:,}", "none has two scores to compare"]
    return [
        f"{groups.count:,} of {figure(round(groups.mean_size, 1))} on average",
        f"std within {figure(groups.std_within)}",
        f"{percent(groups.without_variance)} without variance",
        f"{percent(groups.all_low)} all lowest",
        f"{percent(groups.all_high)} all highest",
    ]


def _times(timing: Timing, console: Console) -> list[str]:
    names: dict[str, Any] = {"mean": timing.mean, "p50": timing.p50, "p99": timing.p99, "max": timing.max}
    ascii_only = console.options.ascii_only
    return [f"{name} {duration(value, ascii_only=ascii_only)}" for name, value in names.items()]


def _print_findings(found: Sequence[Finding], console: Console) -> None:
    for finding in found:
        console.print()
        style = _SEVERITY_STYLE[finding.severity]
        body = Text(one_line(finding.text, 10 * REASON_LIMIT, console))
        labelled(console, finding.severity, body, label_style=style)
        labelled(console, "", Text(one_line(finding.remedy, 10 * REASON_LIMIT, console)), label_style="")
