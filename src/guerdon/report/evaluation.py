"""An evaluation on the terminal: before and after training, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guerdon.console import clean
from guerdon.report.accuracy import percent
from guerdon.scoring.statistics.figures import figure
from guerdon.train.evaluation.eval_metrics import EvalMetrics, Share
from guerdon.train.evaluation.evaluate import Evaluation, ScoredCompletion


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """The table of an evaluation, and what changed."""
    tallies = [t for t in (evaluation.before, evaluation.after) if t is not None]
    after = evaluation.after
    console.print(
        f"{clean(evaluation.made_by.reward, console)} {evaluation.made_by.version}, {evaluation.inference}: "
        f"{after.problems:,} held-out problems, {after.passes:,} "
        f"{'answer' if after.passes == 1 else 'answers'} each"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("")
    for column in tallies:
        table.add_column("before" if column.step == 0 else f"step {column.step:,}", justify="right")
        table.add_column("95 %", justify="right", style="dim")
    for name, shares in _rows(evaluation, tallies):
        table.add_row(name, *(cell for share in shares for cell in _cells(share)))
    table.add_row("mean reward", *(cell for t in tallies for cell in (_number(t.reward), "")))
    lengths = [t.lengths for t in tallies]
    table.add_row(
        "mean length", *(c for n in lengths for c in (_number(round(n.mean, 1) if n else None), ""))
    )
    against = [n.correlation if n else None for n in lengths]
    table.add_row("length against score", *(c for r in against for c in (_number(r and round(r, 2)), "")))
    if any(t.failed for t in tallies):
        table.add_row("failed", *(cell for t in tallies for cell in (f"{t.failed:,}", "")))
    console.print(table)
    if (changes := evaluation.changes) is not None:
        better, worse = changes
        same = after.problems - better - worse
        console.print(f"{better:,} problems better than before, {worse:,} worse, {same:,} the same")


def print_answers(answers: Sequence[ScoredCompletion], console: Console) -> None:
    """Every answer on a line or two: problem, completion, score, reason."""
    for answer in answers:
        result = answer.result
        prompt = answer.problem.prompt
        asked = prompt if isinstance(prompt, str) else str(prompt[-1].get("content", ""))
        said = "failed" if result.failed else "-" if result.score is None else figure(result.score)
        console.print(
            Text(f"{_line(asked, console)} → {_line(answer.completion, console)}  [{said}]"),
            overflow="ellipsis",
            no_wrap=True,
        )
        if why := result.error or result.reason:
            console.print(Text(f"    {_line(why, console)}", style="dim"), overflow="ellipsis", no_wrap=True)


def _rows(evaluation: Evaluation, tallies: Sequence[EvalMetrics]) -> Iterator[tuple[str, list[Share | None]]]:
    component = evaluation.criteria.accuracy.component
    yield f"accuracy ({component})" if component else "accuracy", [t.accuracy for t in tallies]
    yield "partial accuracy", [t.partial for t in tallies]
    if evaluation.criteria.format is not None:
        yield f"format ({evaluation.criteria.format.component})", [t.format for t in tallies]
    if evaluation.after.passes > 1:
        for k in evaluation.after.pass_at:
            yield f"pass@{k}", [t.pass_at.get(k) for t in tallies]


def _cells(share: Share | None) -> tuple[str, str]:
    if share is None:
        return "-", ""
    low, high = math.floor(share.low * 1000) / 10, math.ceil(share.high * 1000) / 10
    return f"{percent(share.value)} %", f"{low:g}–{high:g}"


def _number(value: float | None) -> str:
    return "-" if value is None else figure(value)


def _line(text: str, console: Console) -> str:
    return clean(" ".join(text.split()), console)
