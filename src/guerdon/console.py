"""What a person sees in the terminal: a sample with its verdicts, and the statistics of a run.

Everything shown comes from models, data sets and user code, so it is printed as text and never as markup:
control characters, terminal escapes, direction overrides and lone surrogates appear as escapes such as
``\\x1b``, and characters that the console's encoding lacks likewise.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Distribution, Finding, Groups, Histogram, Statistics, Timing
from guerdon.types import EvaluateResult, Sample

__all__ = [
    "clean",
    "cut",
    "duration",
    "print_failures",
    "print_heading",
    "print_labelled",
    "print_sample",
    "print_statistics",
    "score_text",
]

PROMPT_LIMIT = 400
RESPONSE_LIMIT = 900
REASON_LIMIT = 300
NAME_LIMIT = 60
LINES = 14
"""Most lines of a prompt or a response that are shown."""

ERRORS = 5
"""Most different errors that are shown."""

IDS = 3
"""Most samples that are named of those that failed alike."""

COMPONENTS = 30
"""Most rows of the component table; more are counted."""

WIDEST = 100
"""Most columns that a summary uses: beyond them bars grow without saying more."""

LABEL = 11

_SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "notice": "cyan"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Joiners are part of how emoji and several scripts are written, and move nothing else.
_KEPT = {"\n", "\u200c", "\u200d"}
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# The piece of a word at a cut, unless it is long enough to be more than a piece.
_WORD_STUB = re.compile(r"(?<=\s)\S{1,15}\Z")
_WORD_REST = re.compile(r"\A\S{1,15}(?=\s)")
_LONG_WORD = re.compile(r"[!-~]{81,}")


def clean(text: str, console: Console) -> str:
    """Text that cannot do anything to the console but be read; line breaks stay, tabs become spaces.

    >>> clean("a\\x1b[31m\\u202eb\\ud800", Console())
    'a\\\\x1b[31m\\\\u202eb\\\\ud800'
    """
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    shown = "".join(c if c in _KEPT or unicodedata.category(c) not in _ESCAPED else _escape(c) for c in text)
    try:
        return shown.encode(console.encoding, "backslashreplace").decode(console.encoding)
    except LookupError:
        return shown.encode("ascii", "backslashreplace").decode("ascii")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, limit: int, lines: int = LINES) -> str:
    """The beginning and the end of a long text, with the number of characters left out between them.

    A text of at most ``limit`` characters and ``lines`` lines stays as it is, but for single words of
    more than 80 characters. The end gets a third: that is where answers are.

    >>> cut("a" * 50 + " " + "b" * 50, 30)
    'aaaaaaaaaaaaaaaaaaaa [... 71 characters left out ...] bbbbbbbbbb'
    """
    if len(text) > limit or text.count("\n") >= lines:
        first, last, end_lines = limit - limit // 3, max(limit // 3, 1), max(lines // 3, 1)
        head, tail = text[:first], text[-last:]
        if len(text) > first and not text[first].isspace():
            head = _WORD_STUB.sub("", head)
        if len(text) > last and not text[-last - 1].isspace():
            tail = _WORD_REST.sub("", tail)
        head = "\n".join(head.split("\n")[: max(lines - end_lines, 1)]).rstrip(" ")
        tail = "\n".join(tail.split("\n")[-end_lines:]).lstrip(" ")
        left = len(text) - len(head) - len(tail)
        if left > 0:
            space = "\n" if "\n" in text else " "
            note = f"[... {left:,} {'character' if left == 1 else 'characters'} left out ...]"
            return f"{_shorten(head)}{space}{note}{space}{_shorten(tail)}"
    return _shorten(text)


def _shorten(text: str) -> str:
    return _LONG_WORD.sub(lambda word: f"{word[0][:50]}[... {len(word[0]) - 60:,} ...]{word[0][-10:]}", text)


def _line(text: str, limit: int, console: Console) -> str:
    """One line of about ``limit`` characters at most."""
    return clean(cut(text.replace("\n", " ").strip(), limit), console)


def _block(text: str, limit: int, console: Console) -> str:
    """Some lines, or a word about why there is nothing to see."""
    if not text.strip():
        return f"({len(text):,} blank characters)" if text else "(empty)"
    return clean(cut(text.strip("\n"), limit), console)


def duration(seconds: float, *, ascii_only: bool = False) -> str:
    """Seconds in the unit that reads best.

    >>> duration(0.0000123), duration(0.5), duration(12.3), duration(200)
    ('12.3 µs', '500 ms', '12.3 s', '3.33 min')
    """
    for unit, size in (("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size * (2 if unit == "min" else 1):
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e6)} {'us' if ascii_only else 'µs'}"


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def score_text(result: EvaluateResult) -> Text:
    """The score, ``failed``, or ``n/a`` where the reward does not apply, styled."""
    if result.error is not None:
        return Text("failed", style="bold red")
    if result.score is None:
        return Text("n/a", style="dim")
    return Text(figure(result.score), style="bold")


# A sample


def print_sample(index: int, sample: Sample, results: Mapping[str, EvaluateResult], console: Console) -> None:
    """One sample with the verdict of each reward: prompt, response, scores, metrics and reasons.

    ``index`` counts from 0 and is shown from 1; ``results`` has a result for each reward's name.
    """
    title = f"Sample {index + 1}"
    if sample.id is not None:
        title += f"  id {_line(str(sample.id), 40, console)}"
    _heading(console, title)
    prompt = _block(sample.prompt, PROMPT_LIMIT, console)
    more = len(sample.original_messages) - bool(sample.prompt)
    if more > 0:
        prompt += f"\n(and {more} other {'message' if more == 1 else 'messages'} before the response)"
    _labelled(console, "prompt", Text(prompt))
    _labelled(console, "response", Text(_response(sample, console)))
    expected = sample.ground_truth if sample.ground_truth is not None else sample.answer
    if expected is not None:
        _labelled(console, "expected", Text(_line(_shown(expected), REASON_LIMIT, console)))
    console.print()
    _put_table(console, _verdicts(results, console))
    console.print()


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else reprlib.repr(value)


def _response(sample: Sample, console: Console) -> str:
    calls = (sample.messages[-1].tool_calls if sample.messages else None) or []
    lines = [_block(sample.response, RESPONSE_LIMIT, console)] if sample.response or not calls else []
    for call in calls[:LINES]:
        name = _line(call.function.name, NAME_LIMIT, console)
        lines.append(f"calls {name}({_line(_shown(call.function.arguments), REASON_LIMIT, console)})")
    if len(calls) > LINES:
        lines.append(f"and {len(calls) - LINES:,} more calls")
    return "\n".join(lines)


def _verdicts(results: Mapping[str, EvaluateResult], console: Console) -> Table:
    weighted = any(m.weight is not None for result in results.values() for m in result.metrics.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("reward", overflow="fold", max_width=max(_width(console) // 3, 10))
    table.add_column("score", no_wrap=True)
    if weighted:
        table.add_column("weight", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for name, result in results.items():
        cells = [Text(_line(name, NAME_LIMIT, console), style="bold"), score_text(result)]
        table.add_row(*cells, *[Text("")] * weighted, _reason(result, console))
        for metric_name, metric in result.metrics.items():
            cells = [Text(f"  {_line(metric_name, NAME_LIMIT, console)}"), Text(figure(metric.score))]
            weight = [Text("" if metric.weight is None else figure(metric.weight))] * weighted
            table.add_row(*cells, *weight, Text(_line(metric.reason or "", REASON_LIMIT, console)))
    return table


def _reason(result: EvaluateResult, console: Console) -> Text:
    if result.error is not None:
        kind = _line(result.error_kind or "error", NAME_LIMIT, console)
        return Text(f"{kind}: {_line(result.error, REASON_LIMIT, console)}", style="red")
    reason = _line(result.reason or "", REASON_LIMIT, console)
    if result.score is None:
        return Text(f"does not apply: {reason}" if reason else "does not apply", style="dim")
    return Text(reason)


# The statistics of a run


def print_statistics(stats: Statistics, console: Console, title: str = "Statistics") -> None:
    """The summary of a run: counts, numbers, histogram, components, groups, time, findings with remedies."""
    _heading(console, _line(title, NAME_LIMIT, console))
    _pieces(console, "samples", _counts(stats))
    if stats.failed:
        kinds = [f"{number:,} {_line(kind, NAME_LIMIT, console)}" for kind, number in stats.failures.items()]
        _pieces(console, "failed", kinds, style="red")
    if stats.scored:
        _print_distribution(stats, console)
    if stats.components:
        _print_components(stats, console)
    if stats.groups is not None or stats.seconds is not None:
        console.print()
    if stats.groups is not None:
        _pieces(console, "groups", _groups(stats.groups))
    if stats.seconds is not None:
        _pieces(console, "time", _times(stats.seconds, console))
    _print_findings(stats.findings(), console)


def print_failures(
    failures: Sequence[tuple[str | int, EvaluateResult]], total: int, console: Console
) -> None:
    """What failed, each error once with the ids of its samples; ``total`` counts those not shown too."""
    alike: dict[str, tuple[EvaluateResult, list[str]]] = {}
    for identity, result in failures:
        ids = alike.setdefault(f"{result.error_kind} {result.error}", (result, []))[1]
        ids.append(_line(str(identity), NAME_LIMIT, console))
    shown = list(alike.values())[:ERRORS]
    for result, ids in shown:
        more = len(ids) - IDS
        head = ", ".join(ids[:IDS]) + (f" and {more:,} more" if more > 0 else "")
        _labelled(console, "failed", Text(f"{head}  ", style="red") + _reason(result, console))
    if (more := total - sum(len(ids) for _, ids in shown)) > 0:
        _labelled(console, "", Text(f"and {more:,} more", style="dim"))


def _width(console: Console) -> int:
    return max(min(console.width, WIDEST), 20)


def _heading(console: Console, title: str) -> None:
    console.print(Rule(Text(title, style="bold"), align="left", style="dim"), width=_width(console))


def print_heading(console: Console, title: str) -> None:
    """The line that opens a section; the title may be of any origin."""
    _heading(console, _line(title, NAME_LIMIT, console))


def print_labelled(
    console: Console, label: str, text: str, limit: int = 10 * REASON_LIMIT, style: str = ""
) -> None:
    """A label, and beside it a text of any origin, cut to ``limit`` characters and wrapped in its own column."""
    _labelled(console, _line(label, LABEL, console), Text(_block(text, limit, console), style=style))


def _put(console: Console, line: Text) -> None:
    """One line as it is, without trailing spaces; the caller has seen to the width."""
    line.rstrip()
    console.print(line, soft_wrap=True)


def _labelled(console: Console, label: str, body: Text, label_style: str = "dim", gap: int = LABEL) -> None:
    """A label, and beside it a text that is wrapped within its own column."""
    width = max(_width(console) - gap, 10)
    lines = body.wrap(console, width, overflow="fold")
    for number, line in enumerate(lines):
        # Assembled, since what is added to a text takes on the style that the text was made with.
        start = f"{label if number == 0 else '':<{gap}}"
        _put(console, Text.assemble((start, label_style), line))


def _put_table(console: Console, table: Table) -> None:
    """A table without the spaces that rich fills its last column with."""
    options = console.options.update_width(_width(console))
    for segments in console.render_lines(table, options, pad=False):
        _put(console, Text.assemble(*((segment.text, segment.style or "") for segment in segments)))


def _pieces(console: Console, label: str, pieces: Iterable[str], style: str = "") -> None:
    """A label, and beside it pieces that are broken over lines only between each other."""
    width = max(_width(console) - LABEL, 10)
    lines: list[str] = []
    for piece in pieces:
        if lines and cell_len(lines[-1]) + 3 + cell_len(piece) <= width:
            lines[-1] += f"   {piece}"
        else:
            lines.append(piece)
    _labelled(console, label, Text("\n".join(lines), style=style))


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
    _pieces(
        console,
        "score",
        [
            f"mean {_figure(stats.mean)} {plus_minus} {_figure(stats.std)}",
            f"min {_figure(stats.min)}",
            f"max {_figure(stats.max)}",
        ],
        style="bold",
    )
    _pieces(console, "quantiles", [f"{name} {figure(value)}" for name, value in stats.quantiles.items()])
    levels = [f"{stats.distinct:,} distinct"]
    if stats.distinct > 1:
        effective = stats.effective_levels or 0.0
        levels.append(f"{effective:,.0f} effective" if effective >= 100 else f"{effective:.3g} effective")
        levels.append(f"most frequent {_figure(stats.top_value)} ({percent(stats.top_share or 0.0)})")
    _pieces(console, "levels", levels)
    console.print()
    _print_histogram(stats.histogram, console)


def _figure(number: float | None) -> str:
    return "-" if number is None else figure(number)


def _print_histogram(histogram: Histogram, console: Console) -> None:
    whole, most = sum(histogram.counts), max(histogram.counts)
    labels = _bar_labels(histogram)
    counts = [f"{count:,}" for count in histogram.counts]
    shares = [percent(count / whole) for count in histogram.counts]
    left, middle, right = (max(map(len, column)) for column in (labels, counts, shares))
    room = max(_width(console) - left - middle - right - 6, 4)
    draw = _ascii_bar if console.options.ascii_only else _bar
    for label, count, share, number in zip(labels, counts, shares, histogram.counts, strict=True):
        line = Text(f"{label:>{left}}  ")
        line.append(f"{draw(number / most, room):<{room}}", style="green")
        line.append(f"  {count:>{middle}}  {share:>{right}}")
        _put(console, line)


def _bar_labels(histogram: Histogram) -> list[str]:
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
    ("mean", lambda d: _figure(d.mean)),
    ("std", lambda d: _figure(d.std)),
    ("min", lambda d: _figure(d.min)),
    ("max", lambda d: _figure(d.max)),
    ("levels", lambda d: f"{d.distinct:,}"),
)


def _print_components(stats: Statistics, console: Console) -> None:
    shown = list(stats.components.items())[:COMPONENTS]
    columns = [_aligned([name, *(show(component) for _, component in shown)]) for name, show in _COLUMNS]
    room = _width(console) - sum(2 + len(column[0]) for column in columns)
    names = ["component", *(_fit(_line(name, NAME_LIMIT, console), max(room, 9)) for name, _ in shown)]
    wide = max(map(cell_len, names))
    console.print()
    for row, name in enumerate(names):
        cells = "".join(f"  {column[row]}" for column in columns)
        _put(console, Text(f"{name}{' ' * (wide - cell_len(name))}{cells}", style="" if row else "dim"))
    if (more := len(stats.components) - len(shown)) > 0:
        _put(console, Text(f"and {more:,} more", style="dim"))
    if stats.components_left_out:
        text = f"{stats.components_left_out:,} values have further names and are not counted here"
        _put(console, Text(text, style="dim"))


def _aligned(column: Sequence[str]) -> list[str]:
    """A heading and figures of one width, decimal point under decimal point."""
    decimals = [len(cell) - cell.index(".") if "." in cell else 0 for cell in column[1:]]
    padded = [cell + " " * (max(decimals) - own) for cell, own in zip(column[1:], decimals, strict=True)]
    wide = max(len(cell) for cell in (column[0], *padded))
    return [f"{cell:>{wide}}" for cell in (column[0], *padded)]


def _fit(name: str, room: int) -> str:
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
        body = Text(_line(finding.text, 10 * REASON_LIMIT, console))
        _labelled(console, finding.severity, body, label_style=style)
        _labelled(console, "", Text(_line(finding.remedy, 10 * REASON_LIMIT, console)), label_style="")
