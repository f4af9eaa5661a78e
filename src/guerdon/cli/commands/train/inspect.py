"""``guerdon train inspect``: the samples of a run that are worth reading."""

from __future__ import annotations

import json
from statistics import mean
from typing import TYPE_CHECKING

import click

from guerdon.cli.completion import complete_folders
from guerdon.cli.options import POSITIVE, debug_option, option

if TYPE_CHECKING:
    from rich.console import Console

    from guerdon.console.inspected import InspectedSample
    from guerdon.train.records.run_reader import RunReader
    from guerdon.train.records.samples import KeptSample
    from guerdon.train.views.inspect import Inspection

_TEXT = 300
_ALARMS = 10
_STEPS = 10


@click.command("inspect", short_help="Show a run's best, worst and most changed samples.")
@click.argument("run", shell_complete=complete_folders)
@option("-n", "--number", type=POSITIVE, default=3, show_default=True, help="Samples of each kind.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def inspect(run: str, number: int, as_json: bool) -> None:
    """\b
    guerdon train inspect runs/first
    guerdon train inspect runs/first -n 10 --json

    Show the most telling samples of RUN, the folder of a training run.

    These are the best and the worst samples, the prompts whose answers changed most over the run, the samples whose
    components disagree most, and failures of each kind. Also works during the run.
    """
    from guerdon.cli.output import output
    from guerdon.console.working import Working
    from guerdon.train.records.run_reader import RunReader
    from guerdon.train.views.inspect import inspect as find

    with Working(f"reading {run}"):
        reader = RunReader.of(run)
        found = find(reader, number)
    if as_json:
        warnings = [{"step": step, **alarm.to_dict()} for step, alarm in reader.warnings()]
        click.echo(
            json.dumps({"run": str(reader.folder.path), **found.to_dict(), "warnings": warnings}, default=str)
        )
    else:
        _print(reader, found, output())


def _print(reader: RunReader, found: Inspection, console: Console) -> None:
    from guerdon.console import print_heading, print_labelled
    from guerdon.scoring.statistics.figures import figure

    about = f"{found.steps:,} steps, {found.samples:,} samples"
    about += f", {found.failed:,} failed" if found.failed else ""
    _, means = reader.series("reward/mean")
    if means:
        about += f", mean reward {figure(means[0])} in the first step and {figure(means[-1])} in the last"
    print_heading(console, f"Run {reader.folder.path.resolve().name}")
    print_labelled(console, "run", about)
    if against := _length_against_score(reader):
        print_labelled(console, "length", against)
    for step, alarm in reader.warnings()[-_ALARMS:]:
        print_labelled(console, alarm.severity, f"step {step:,}: {alarm.text}")
    sections: list[tuple[str, list[KeptSample]]] = [("Best", found.best), ("Worst", found.worst)]
    for title, samples in sections:
        _section(console, title, len(samples))
        for one in samples:
            _sample(console, one)
    _section(console, "Most changed", len(found.changed))
    for change in found.changed:
        console.print()
        print_labelled(console, "prompt", change.first.sample.prompt, _TEXT)
        span = f"mean score {figure(change.before)} in step {change.first.step:,}, "
        print_labelled(console, "", f"{span}{figure(change.after)} in step {change.last.step:,}")
        for one in (change.first, change.last):
            print_labelled(console, f"step {one.step}", one.sample.response, _TEXT)
            print_labelled(console, "", _inspected(one).verdict)
    _section(console, "Components that disagree", len(found.disagreeing))
    for apart in found.disagreeing:
        _sample(console, apart.sample, f"{apart.high} is high and {apart.low} is low")
    if found.failures:
        _section(console, "Failed, the last of each kind", len(found.failures))
        for failure in found.failures:
            _sample(console, failure)


def _length_against_score(reader: RunReader) -> str:
    """The mean of the steps' rank correlations, of a longer run at both ends; empty where there are none."""
    from guerdon.scoring.statistics.figures import figure

    _, found = reader.series("length/correlation")
    if not found:
        return ""
    said = "rank correlation of length and score"
    if len(found) < 2 * _STEPS:
        return f"{said} {figure(round(mean(found), 2))}, on average over the steps"
    first, last = (figure(round(mean(some), 2)) for some in (found[:_STEPS], found[-_STEPS:]))
    return f"{said} {first} in the first steps, {last} in the last"


def _section(console: Console, title: str, count: int) -> None:
    from guerdon.console import print_heading

    console.print()
    print_heading(console, title)
    if not count:
        console.print("none")


def _sample(console: Console, one: KeptSample, note: str = "") -> None:
    from guerdon.console.inspected import print_inspected

    print_inspected(_inspected(one, note), console, _TEXT)


def _inspected(one: KeptSample, note: str = "") -> InspectedSample:
    from guerdon.console.inspected import InspectedSample

    truth = one.sample.ground_truth
    return InspectedSample(
        label=f"step {one.step}",
        score=one.score,
        error=one.error,
        error_kind=one.error_kind,
        reason=one.reason,
        components={name: part.score for name, part in one.components.items()},
        prompt=one.sample.prompt,
        response=one.sample.response,
        expected=truth if truth is not None else one.sample.answer,
        note=note,
    )
