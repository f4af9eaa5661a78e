"""``guerdon train plot``: the curves of a run as an image."""

from __future__ import annotations

import click

from guerdon.cli.completion import complete_folders
from guerdon.cli.options import debug_option, option


@click.command("plot", short_help="Draw a run's curves.")
@click.argument("run", shell_complete=complete_folders)
@option(
    "-o",
    "--output",
    metavar="FILE",
    help="A .png, .pdf or .svg file; plot.png in the run's folder by default.",
)
@debug_option
def plot(run: str, output: str | None) -> None:
    """\b
    guerdon train plot runs/first
    guerdon train plot runs/first -o curves.svg

    Draw the curves of RUN, the folder of a training run.

    The plot has reward, components, zero-variance groups, length, length against score, failures, time in rewards,
    the trainer's own figures and held-out accuracy, as far as the run has them. Also works during the run.
    """
    from guerdon.console.working import Working
    from guerdon.train.records.run_reader import RunReader
    from guerdon.train.views.plot import plot as draw

    with Working(f"drawing {run}"):
        path = draw(RunReader.of(run), output)
    click.echo(str(path))
