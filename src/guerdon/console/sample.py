"""One sample with the verdicts of rewards, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guerdon.console.layout import heading, labelled, print_table, usable_width
from guerdon.console.text import LINES, NAME_LIMIT, REASON_LIMIT, block, one_line, value_text
from guerdon.scoring.selection import FailureGroup
from guerdon.scoring.statistics.figures import figure
from guerdon.types import EvaluateResult, Sample

PROMPT_LIMIT = 400
RESPONSE_LIMIT = 900
ERRORS = 5
"""Most different errors that are shown."""


def score_text(result: EvaluateResult) -> Text:
    """The score, ``failed``, or ``n/a`` where the reward does not apply, styled."""
    if result.error is not None:
        return Text("failed", style="bold red")
    if result.score is None:
        return Text("n/a", style="dim")
    return Text(figure(result.score), style="bold")


def print_sample(index: int, sample: Sample, results: Mapping[str, EvaluateResult], console: Console) -> None:
    """One sample with the verdict of each reward: prompt, response, scores, metrics and reasons.

    ``index`` counts from 0 and is shown from 1; ``results`` has a result for each reward's name.
    """
    title = f"Sample {index + 1}"
    if sample.id is not None:
        title += f"  id {one_line(str(sample.id), 40, console)}"
    heading(console, title)
    prompt = block(sample.prompt, PROMPT_LIMIT, console)
    more = len(sample.original_messages) - bool(sample.prompt)
    if more > 0:
        prompt += f"\n(and {more} other {'message' if more == 1 else 'messages'} before the response)"
    labelled(console, "prompt", Text(prompt))
    labelled(console, "response", Text(_response(sample, console)))
    expected = sample.ground_truth if sample.ground_truth is not None else sample.answer
    if expected is not None:
        labelled(console, "expected", Text(one_line(value_text(expected), REASON_LIMIT, console)))
    console.print()
    print_table(console, _verdicts(results, console))
    console.print()


def _response(sample: Sample, console: Console) -> str:
    calls = (sample.messages[-1].tool_calls if sample.messages else None) or []
    lines = [block(sample.response, RESPONSE_LIMIT, console)] if sample.response or not calls else []
    for call in calls[:LINES]:
        name = one_line(call.function.name, NAME_LIMIT, console)
        lines.append(f"calls {name}({one_line(value_text(call.function.arguments), REASON_LIMIT, console)})")
    if len(calls) > LINES:
        lines.append(f"and {len(calls) - LINES:,} more calls")
    return "\n".join(lines)


def _verdicts(results: Mapping[str, EvaluateResult], console: Console) -> Table:
    weighted = any(m.weight is not None for result in results.values() for m in result.metrics.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("reward", overflow="fold", max_width=max(usable_width(console) // 3, 10))
    table.add_column("score", no_wrap=True)
    if weighted:
        table.add_column("weight", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for name, result in results.items():
        cells = [Text(one_line(name, NAME_LIMIT, console), style="bold"), score_text(result)]
        table.add_row(*cells, *[Text("")] * weighted, _reason_text(result, console))
        for metric_name, metric in result.metrics.items():
            cells = [Text(f"  {one_line(metric_name, NAME_LIMIT, console)}"), Text(figure(metric.score))]
            weight = [Text("" if metric.weight is None else figure(metric.weight))] * weighted
            table.add_row(*cells, *weight, Text(one_line(metric.reason or "", REASON_LIMIT, console)))
    return table


def _reason_text(result: EvaluateResult, console: Console) -> Text:
    if result.error is not None:
        kind = one_line(result.error_kind or "error", NAME_LIMIT, console)
        return Text(f"{kind}: {one_line(result.error, REASON_LIMIT, console)}", style="red")
    reason = one_line(result.reason or "", REASON_LIMIT, console)
    if result.score is None:
        return Text(f"does not apply: {reason}" if reason else "does not apply", style="dim")
    return Text(reason)


def print_all_failed(line: str | None, console: Console, name: str = "") -> None:
    """That every sample failed, at the head of a report, after the reward's name; nothing where ``line`` is None."""
    if line is not None:
        said = f"{name}: {line}" if name else line[:1].upper() + line[1:]
        console.print(Text(one_line(said, REASON_LIMIT * 2, console), style="bold red"), soft_wrap=True)
        console.print()


def print_failures(failures: Sequence[FailureGroup], console: Console) -> None:
    """What failed: each error once, with how many samples it befell and some of their ids."""
    for group in failures[:ERRORS]:
        error = EvaluateResult(error=group.error, error_kind=group.kind)
        head = Text(f"{_which(group, console)}  ", style="red")
        labelled(console, "failed", head + _reason_text(error, console))
    if more := sum(group.count for group in failures[ERRORS:]):
        text = f"and {more:,} more {'sample' if more == 1 else 'samples'} with other errors"
        labelled(console, "", Text(text, style="dim"))


def _which(group: FailureGroup, console: Console) -> str:
    ids = [one_line(str(identity), NAME_LIMIT, console) for identity in group.ids]
    if group.count == 1:
        return ids[0] if group.has_ids else f"row {ids[0]}"
    names = f"{'' if group.has_ids else 'rows '}{', '.join(ids)}"
    return f"{group.count:,} samples{': ' if group.count == len(ids) else ', e.g. '}{names}"
