"""The table of a benchmark of verifiers: on the terminal and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guerdon.accuracy.benchmark import SuiteReport
from guerdon.accuracy.confusion import ConfusionCounts, Rate
from guerdon.accuracy.measurement import Measurement
from guerdon.console import clean

_SHARES = ("precision", "recall", "accuracy", "f1")
_HEADS = ("precision", "recall", "accuracy", "F1")
_WIDEST = 100
_KINDS = 30
"""Kinds of which all are shown."""
EXPLANATION = (
    'precision and recall are of "right"; below each share its Wilson interval of 95 %; "decided" is the share '
    "of the cases with a verdict: failures and cases that do not apply are in no other column"
)


def percent(value: float | None) -> str:
    """A share in per cent, cut and not rounded to 100 where something is missing.

    >>> percent(1.0), percent(0.99999), percent(0.9954), percent(0.5), percent(0.00004), percent(None)
    ('100', '99.99', '99.54', '50.0', '0.01', '-')
    """
    if value is None:
        return "-"
    if value in (0, 1):
        return f"{value * 100:.0f}"
    if value < 0.001:
        return f"{max(value * 100, 0.01):.2f}"
    return f"{min(value * 100, 99.99):.2f}" if value >= 0.99 else f"{value * 100:.1f}"


def interval(rate: Rate) -> str:
    """The interval of a share in per cent, its ends rounded outwards; "" where there is no share.

    >>> interval(Rate.of(0, 300)), interval(Rate.of(299, 300)), interval(Rate.of(0, 0))
    ('0–1.3', '98.1–100', '')
    """
    if rate.value is None:
        return ""
    low, high = math.floor(rate.low * 1000) / 10, math.ceil(rate.high * 1000) / 10
    return f"{low:g}–{high:g}"


def milliseconds(value: float | None) -> str:
    """A time in milliseconds with three digits.

    >>> milliseconds(0.01234), milliseconds(1.5), milliseconds(1234.5), milliseconds(None)
    ('0.0123', '1.5', '1,234', '-')
    """
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def headline(report: SuiteReport) -> str:
    """Which cases the suite has."""
    if not report.of:
        return ""
    cases = f"{report.cases:,} cases"
    if report.cases < report.of:
        cases = f"a fixed sample of {report.cases:,} of {report.of:,} cases"
    ran = next((found for found in report.measurements if not found.left_out), None)
    return cases if ran is None else f"{cases}, {ran.counts.right:,} right and {ran.counts.wrong:,} wrong"


def notes(report: SuiteReport) -> list[str]:
    """What the table leaves unsaid: who was left out, what failed, the aim."""
    said = [f"left out: {report.left_out}"] if report.left_out else []
    for found in report.measurements:
        if found.counts.wrong and not found.counts.right:  # precision and recall say nothing here
            rate = found.counts.false_positive_rate
            count = f"{found.counts.false_positives:,} of {rate.n:,} wrong answers"
            said.append(f"{found.verifier} accepts {count}: {percent(rate.value)} % ({interval(rate)})")
        if found.left_out:
            said.append(f"{found.verifier} left out: {found.left_out}")
        elif found.failures:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.failures.items())
            said.append(f"{found.verifier} failed: {kinds}; first: {_line(found.first_failure)}")
    return said + ([f"aim: {report.suite.aim}"] if report.suite.aim else [])


def _line(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]} …"


def print_report(report: SuiteReport, console: Console, *, kinds: bool = False) -> None:
    """One suite on the terminal, within 80 columns where the names are short; broken down by kind if asked."""
    _say(console, f"{report.suite.name}: {report.suite.title}", "bold")
    if said := headline(report):
        _say(console, said, "dim")
    ran = [found for found in report.measurements if not found.left_out]
    if ran:
        _put(console, _table(ran, console))
    if kinds:
        for found in ran:
            if set(found.kinds) - {""}:
                _say(console, f"{found.verifier} by kind", "bold")
                _print_kinds(found, console)
    for note in notes(report):
        _say(console, note, "dim")
    console.print()


def _say(console: Console, text: str, style: str) -> None:
    console.print(Text(clean(text, console), style=style), width=min(console.width, _WIDEST))


def _put(console: Console, table: Table) -> None:
    console.print(table, width=min(console.width, _WIDEST))


def _table(ran: Sequence[Measurement], console: Console) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("verifier", overflow="fold", ratio=1)
    for head in ("decided", *_HEADS, "ms"):
        table.add_column(head, justify="right", no_wrap=True)
    for found in ran:
        rates: list[Rate] = [getattr(found.counts, name) for name in _SHARES]
        cells = [_cell(rate, console) for rate in rates]
        table.add_row(
            Text(clean(found.verifier, console), style="bold" if found.catalogue else ""),
            Text(percent(found.counts.coverage.value)),
            *cells,
            Text(milliseconds(found.p50_ms)),
        )
    return table


def _cell(rate: Rate, console: Console) -> Text:
    return Text.assemble(percent(rate.value), (f"\n{clean(interval(rate), console)}", "dim"))


_KIND_HEADS = ("right", "accepted", "wrong", "accepted", "no verdict", "agrees")


def _kind_cells(counts: ConfusionCounts) -> list[str]:
    return [
        f"{counts.right:,}",
        f"{counts.true_positives:,}",
        f"{counts.wrong:,}",
        f"{counts.false_positives:,}",
        f"{counts.failed + counts.undecided:,}",
        percent(counts.accuracy.value),
    ]


def _sorted_kinds(found: Measurement) -> Iterable[tuple[str, ConfusionCounts]]:
    """The kinds, those with the worst agreement first."""
    return sorted(found.kinds.items(), key=lambda item: (item[1].accuracy.value or 0.0, item[0]))


def _print_kinds(found: Measurement, console: Console) -> None:
    """The kinds; where they are many, those only that are not as they should be."""
    kinds = list(_sorted_kinds(found))
    listed = [(kind, counts) for kind, counts in kinds if len(kinds) <= _KINDS or not _flawless(counts)]
    if listed:
        _put(console, _kinds(listed, console))
    if more := len(kinds) - len(listed):
        _say(console, f"{more:,} {'kind' if more == 1 else 'kinds'} without a fault", "dim")


def _flawless(counts: ConfusionCounts) -> bool:
    return counts.true_positives == counts.right and counts.true_negatives == counts.wrong


def _kinds(kinds: Iterable[tuple[str, ConfusionCounts]], console: Console) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("kind", overflow="fold", ratio=1)
    for head in _KIND_HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for kind, counts in kinds:
        table.add_row(Text(clean(kind or "(none)", console)), *map(Text, _kind_cells(counts)))
    return table


# Markdown


def markdown(reports: Sequence[SuiteReport]) -> str:
    """All suites as Markdown, each with its table by kind where it has kinds."""
    parts = ["# Verifiers against labels\n", f"{EXPLANATION[0].upper()}{EXPLANATION[1:]}.\n"]
    for report in reports:
        parts.append(f"## {_escaped(report.suite.name)}\n\n{_escaped(report.suite.title)}\n")
        parts += [f"{headline(report)}.\n"] if report.of else []
        ran = [found for found in report.measurements if not found.left_out]
        if ran:
            heads = ("verifier", "decided", *_HEADS, "wrong accepted", "ms (p50)", "ms (p99)")
            parts.append(_grid(heads, [_markdown_row(found) for found in ran]))
        for found in ran:
            if set(found.kinds) - {""}:
                rows = [[kind or "(none)", *_kind_cells(counts)] for kind, counts in _sorted_kinds(found)]
                parts.append(f"### {_escaped(found.verifier)} by kind\n")
                parts.append(_grid(("kind", *_KIND_HEADS), rows))
        said = notes(report)
        parts += ["".join(f"- {_escaped(note)}\n" for note in said)] if said else []
    return "\n".join(parts)


def _markdown_row(found: Measurement) -> list[str]:
    cells = [found.verifier, percent(found.counts.coverage.value)]
    for name in (*_SHARES, "false_positive_rate"):
        rate: Rate = getattr(found.counts, name)
        cells.append(f"{percent(rate.value)} [{interval(rate)}]" if rate.value is not None else "-")
    return [*cells, milliseconds(found.p50_ms), milliseconds(found.p99_ms)]


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---', *['---:'] * (len(heads) - 1)])}|"]
    lines += [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return "".join(f"\\{c}" if c in "\\|*_`<>#" else c for c in text)
