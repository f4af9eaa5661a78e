"""Several runs of ``guerdon train``, one after the other, each in a process and a folder of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from guerdon.train.config.project import Project

SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How one of the runs ended."""

    folder: str
    overrides: list[str]
    """Those that differ between the runs."""
    status: int
    state: str
    first: float | None
    """The mean reward of the first step."""
    last: float | None
    """That of the last."""


Launch = Callable[[Sequence[str]], int]
"""Does one run, as the command line of ``guerdon train`` asks for it, and gives its exit status."""


def sweep(overrides: Sequence[str], project: Project, launch: Launch | None = None) -> int:
    """Do the runs, show how each ended, and give the exit status.

    Each has its own process by default, so that neither a crash nor memory that a library keeps touches the next.
    """
    from guerdon.cli.app import INTERRUPTED, USER_ERROR
    from guerdon.train.config.compose import combinations, compose
    from guerdon.train.run.prepare import sweep_folder

    runs = combinations(overrides, project)
    base = sweep_folder(compose(runs[0], project))
    differing = [text for run in runs for text in run if not all(text in other for other in runs)]
    results: list[SweepResult] = []
    for number, run in enumerate(runs):
        shown = [text for text in run if text in differing]
        folder = base / str(number)
        click.echo(f"\n[{number + 1}/{len(runs)}] {' '.join(shown)}", err=True)
        status = (launch or _in_a_process)(_arguments(run, folder, project))
        results.append(_result(folder, shown, status))
        (base / SUMMARY).write_text(
            json.dumps([asdict(one) for one in results], indent=2) + "\n", encoding="utf-8"
        )
        if status == INTERRUPTED:
            break
    _show(results, len(runs), base)
    if results[-1].status == INTERRUPTED:
        return INTERRUPTED
    # What is wrong with all of them is wrong with the command line.
    statuses = {one.status for one in results}
    return USER_ERROR if statuses == {USER_ERROR} else int(statuses != {0})


def _arguments(overrides: Sequence[str], folder: Path, project: Project) -> list[str]:
    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    arguments = [*overrides, f"run_dir='{quoted}'"]
    if project.folder is not None:
        arguments += ["--config-dir", str(project.folder)]
    if project.name is not None:
        arguments += ["--config-name", project.name]
    return arguments


def _in_a_process(arguments: Sequence[str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "guerdon", "train", *arguments])
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # it has got the same signal, saves its checkpoint and ends
            continue


def _result(folder: Path, shown: list[str], status: int) -> SweepResult:
    from guerdon.errors import InputError
    from guerdon.train.records.folder import RunFolder
    from guerdon.train.records.manifest import RunManifest

    run = RunFolder(folder)
    try:
        state: str = RunManifest.read(run).state
    except InputError:
        state = "not started"
    if status < 0 or (status and state == "running"):
        state = "killed"
    means = _means(run.metrics)
    return SweepResult(
        str(folder), shown, status, state, means[0] if means else None, means[-1] if means else None
    )


def _means(path: Path) -> list[float]:
    """The mean reward of each step."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            step: dict[str, Any] = json.loads(line)
        except ValueError:  # the last line of a killed run
            continue
        if isinstance(mean := step.get("reward/mean"), int | float):
            found.append(float(mean))
    return found


def _show(results: Sequence[SweepResult], planned: int, base: Path) -> None:
    from rich.table import Table

    from guerdon.cli.output import output

    table = Table(box=None, pad_edge=False)
    for name in ("run", "overrides", "state"):
        table.add_column(name)
    for name in ("reward first", "last"):
        table.add_column(name, justify="right")
    for one in results:
        numbers = ["–" if mean is None else f"{mean:.3f}" for mean in (one.first, one.last)]
        table.add_row(Path(one.folder).name, " ".join(one.overrides), one.state, *numbers)
    console = output()
    console.print()
    console.print(table)
    left = planned - len(results)
    click.echo(f"\nruns in {base}" + (f"; {left} not started" if left else ""), err=True)
