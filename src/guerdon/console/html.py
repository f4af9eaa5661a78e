"""Scores, and samples of them, as HTML: what a notebook shows.

Everything that comes from data is escaped. Colours are those of the notebook's theme, so that both a light and a
dark one can be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from guerdon.console.charts import bar_labels, optional_figure
from guerdon.console.inspected import InspectedSample
from guerdon.console.scores import SHOWN, pace
from guerdon.console.statistics import (
    count_pieces,
    group_pieces,
    length_pieces,
    levels_text,
    time_pieces,
)
from guerdon.console.text import cut, visible
from guerdon.scoring.results import Scores
from guerdon.scoring.selection import SampleResult
from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Distribution, Finding, Histogram, Statistics

_TEXT = 2_000
_COMPONENTS = 30
_FAILURES = 5
_COLOURS = {"critical": "#d33", "warning": "#c80", "notice": "#39c"}
# Notebooks have rules for tables of their own, which align to the right and stripe the rows.
_STYLE = (
    "<style>.guerdon{font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:52em}"
    ".guerdon table{border-collapse:collapse;margin:.4em 0}"
    ".guerdon tr{background:none!important}"
    ".guerdon td,.guerdon th{text-align:left!important;padding:.1em .9em .1em 0!important;vertical-align:top;"
    "border:0!important;background:none;white-space:normal;max-width:none}"
    ".guerdon th{font-weight:normal;opacity:.65;white-space:nowrap}"
    ".guerdon td.n{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".guerdon .bar{background:#3a9d5d;height:.85em;min-width:1px;border-radius:2px;margin-top:.25em}"
    ".guerdon .finding{border-left:4px solid;padding:.15em .8em;margin:.5em 0}"
    ".guerdon summary{cursor:pointer;margin:.3em 0}"
    ".guerdon span{white-space:nowrap}"
    ".guerdon pre{white-space:pre-wrap;word-break:normal!important;overflow-wrap:anywhere;margin:0;"
    "font-size:12px;background:none;color:inherit}</style>"
)


def _escaped(text: str) -> str:
    """Text as HTML that shows what cannot be seen: controls, and what turns the direction of a line."""
    return escape(visible(text))


def scores_html(shown: Any) -> str:
    """Scores, SampleResults or a SampleResult as one block of HTML."""
    if isinstance(shown, Scores):
        body = "".join(_report(shown))
    else:
        samples = [shown] if isinstance(shown, SampleResult) else shown
        body = _samples(samples[:SHOWN])
        if (more := len(samples) - SHOWN) > 0:
            body += f"<p>and {more:,} more</p>"
    return f'{_STYLE}<div class="guerdon">{body}</div>'


def _report(scores: Scores) -> Iterable[str]:
    stats = scores.statistics()
    if (line := scores.all_failed) is not None:
        yield f'<p style="color:{_COLOURS["critical"]}"><b>{_escaped(line[:1].upper() + line[1:])}</b></p>'
    yield f"<b>{_escaped(scores.reward)}</b> <code>{_escaped(scores.version)}</code>"
    yield _pairs(_figures(stats))
    if stats.scored:
        yield _histogram(stats.histogram)
    if stats.components:
        yield _components(stats)
    yield "".join(map(_finding, stats.findings()))
    if stats.failed:
        failed = (InspectedSample.of_result(one) for one in itertools.islice(scores.failed(), _FAILURES))
        yield _details(f"failed samples ({stats.failed:,})", map(_sample, failed))
    if stats.scored and scores.has_text:
        worst, best = (_inspected(samples) for samples in (scores.worst(3), scores.best(3)))
        yield _details("lowest scores", map(_sample, worst))
        yield _details("highest scores", map(_sample, best))
    if scores.seconds:
        yield f"<small>{_escaped(pace(len(scores), scores.seconds))}</small>"
    for line in scores.columns:
        yield f"<br><small>{_escaped(line)}</small>"


def _figures(stats: Statistics) -> Iterable[tuple[str, Sequence[str]]]:
    yield "samples", count_pieces(stats)
    if stats.failed:
        yield "failed", [f"{number:,} {kind}" for kind, number in stats.failures.items()]
    if stats.scored:
        spread = f"mean {optional_figure(stats.mean)} ± {optional_figure(stats.std)}"
        yield "score", [spread, f"min {optional_figure(stats.min)}", f"max {optional_figure(stats.max)}"]
        yield "quantiles", [f"{name} {figure(value)}" for name, value in stats.quantiles.items()]
        yield "levels", [levels_text(stats)]
    if stats.groups is not None:
        yield "groups", group_pieces(stats.groups)
    if stats.lengths is not None:
        yield "length", length_pieces(stats.lengths)
    if stats.seconds is not None:
        yield "time", time_pieces(stats.seconds, ascii_only=False)


def _pairs(figures: Iterable[tuple[str, Sequence[str]]]) -> str:
    lines = (
        f"<tr><th>{name}</th><td>{' &emsp; '.join(f'<span>{_escaped(p)}</span>' for p in pieces)}</td></tr>"
        for name, pieces in figures
    )
    return f"<table>{''.join(lines)}</table>"


def _histogram(histogram: Histogram) -> str:
    whole, most = sum(histogram.counts), max(histogram.counts)
    lines = (
        f'<tr><td class="n">{_escaped(label)}</td>'
        f'<td style="width:24em"><div class="bar" style="width:{100 * count / most:.1f}%"></div></td>'
        f'<td class="n">{count:,}</td><td class="n">{percent(count / whole)}</td></tr>'
        for label, count in zip(bar_labels(histogram), histogram.counts, strict=True)
    )
    return f"<table>{''.join(lines)}</table>"


def _components(stats: Statistics) -> str:
    def cells(part: Distribution) -> str:
        numbers = [f"{part.scored:,}", *map(optional_figure, (part.mean, part.std, part.min, part.max))]
        return (
            "".join(f'<td class="n">{number}</td>' for number in numbers)
            + f"<td>{_small(part.histogram)}</td>"
        )

    names = ("component", "scored", "mean", "std", "min", "max", "from min to max")
    head = "".join(f"<th>{name}</th>" for name in names)
    shown = itertools.islice(stats.components.items(), _COMPONENTS)
    lines = (f"<tr><td>{_escaped(cut(name, 60))}</td>{cells(part)}</tr>" for name, part in shown)
    more = len(stats.components) - _COMPONENTS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>{rest}"


def _small(histogram: Histogram) -> str:
    """A histogram within a line of text."""
    most, wide = max(histogram.counts), 80 / len(histogram.counts)
    bars = (
        f'<rect x="{wide * place:.1f}" y="{14 - 14 * count / most:.1f}" width="{wide - 1:.1f}" '
        f'height="{14 * count / most:.1f}" fill="#3a9d5d"><title>{_escaped(label)}: {count:,}</title></rect>'
        for place, (label, count) in enumerate(zip(bar_labels(histogram), histogram.counts, strict=True))
    )
    return f'<svg width="80" height="14" style="vertical-align:middle">{"".join(bars)}</svg>'


def _finding(finding: Finding) -> str:
    colour = _COLOURS[finding.severity]
    return (
        f'<div class="finding" style="border-color:{colour}"><b style="color:{colour}">{finding.severity}</b> '
        f"{_escaped(finding.text)}<br>{_escaped(finding.remedy)}</div>"
    )


def _details(title: str, blocks: Iterable[str]) -> str:
    return f"<details><summary>{_escaped(title)}</summary>{''.join(blocks)}</details>"


def _inspected(samples: Iterable[SampleResult]) -> list[InspectedSample]:
    return [InspectedSample.of_result(one) for one in samples]


def _samples(samples: Iterable[SampleResult]) -> str:
    return "".join(map(_sample, _inspected(samples))) or "no samples"


def _sample(one: InspectedSample) -> str:
    expected = None if one.expected is None else str(one.expected)
    texts = {
        "sample": f"{one.name}   {one.verdict}",
        "prompt": one.prompt,
        "response": one.response,
        "expected": expected,
        "reason": one.reason,
    }
    lines = (
        f"<tr><th>{name}</th><td><pre>{_escaped(cut(text, _TEXT, lines=60)) or '<em>(empty)</em>'}</pre></td></tr>"
        for name, text in texts.items()
        if text is not None
    )
    return f"<table>{''.join(lines)}</table>"
