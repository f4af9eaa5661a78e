"""``guerdon sandbox``: what the sandbox can do on this machine, and one program in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

import click

from guerdon.cli.options import debug_option, option
from guerdon.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from guerdon.sandbox.execution import Execution
    from guerdon.sandbox.isolation.doctor import Advice, Diagnosis
    from guerdon.sandbox.isolation.machine import Machine

TIMED_OUT = 124
NOT_RUN = 125
KILLED = 137
"""Exit statuses as ``timeout`` and shells have them."""
NOT_RUN_FOR = ("unavailable", "worker_lost")
"""What an execution's status is where nothing was run, so that there is nothing to measure."""

_isolation_option = option(
    "--isolation",
    type=click.Choice(["auto", "native", "bubblewrap", "landlock", "none"]),
    default="auto",
    show_default=True,
    help="The isolation tier between the program and this machine.",
)


@click.group(
    invoke_without_command=True, short_help="Check the sandbox on this machine, or run a program in it."
)
@debug_option
@click.pass_context
def sandbox(context: click.Context) -> None:
    """\b
    guerdon sandbox doctor
    guerdon sandbox run program.py --wall 5

    Check the sandbox on this machine, or run a program in it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@sandbox.command("doctor", short_help="Attack every tier of the sandbox, and advise.")
@option(
    "--isolation",
    type=click.Choice(["auto", "native", "bubblewrap", "landlock"]),
    default="auto",
    show_default=True,
    help="Check only this tier.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@debug_option
def doctor_(isolation: str, as_json: bool) -> None:
    """\b
    guerdon sandbox doctor
    guerdon sandbox doctor --isolation landlock --json

    Start every tier of the sandbox, try to escape from it, and test its limits.

    Exits with status 1 if no tier passes all of this.
    """
    from guerdon.cli.output import output
    from guerdon.console.working import Working
    from guerdon.sandbox.isolation.doctor import doctor

    with Working("trying to escape from each tier of the sandbox"):
        found = doctor(isolation)
    if as_json:
        click.echo(json.dumps(found.as_dict()))
    else:
        _print_diagnosis(found, output())
    if not found.sound:
        raise SystemExit(1)


@sandbox.command(short_help="Run one program in the sandbox.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.argument("arguments", nargs=-1)
@option("--language", default="python", show_default=True, help="The language of the program.")
@option(
    "--stdin", type=click.File("rb"), help="The program's standard input: a file, or - for standard input."
)
@option("--cpu", metavar="SECONDS", type=float, help="Limit of CPU time.")
@option("--wall", metavar="SECONDS", type=float, help="Limit of wall-clock time.")
@option("--memory", metavar="MIB", type=int, help="Limit of memory.")
@option(
    "--preload", metavar="MODULE", multiple=True, help="Import this module first, such as numpy. Repeatable."
)
@_isolation_option
@debug_option
def run(
    file: Path,
    arguments: tuple[str, ...],
    language: str,
    stdin: BinaryIO | None,
    cpu: float | None,
    wall: float | None,
    memory: int | None,
    preload: tuple[str, ...],
    isolation: str,
) -> None:
    """\b
    guerdon sandbox run program.py
    guerdon sandbox run main.cpp --language cpp --wall 5 --memory 256

    Run the program FILE, or - for standard input, with ARGUMENTS. A line on standard error says how it ended.

    On a terminal, control characters of its output appear as escapes such as \\x1b; a pipe or a file gets them as
    they are.

    The exit status is the program's, 124 after a time limit, 137 if the program was killed, and 125 if it could
    not be run.
    """
    from guerdon.console.text import visible
    from guerdon.sandbox import Limits, Sandbox

    given = {"cpu_s": cpu, "wall_s": wall, "memory_mb": memory}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    from_stdin = str(file) == "-"
    if from_stdin and stdin is sys.stdin.buffer:
        raise InputError(
            "the program and its input cannot both be standard input; give one of them as a file"
        )
    try:
        content = sys.stdin.buffer.read() if from_stdin else file.read_bytes()
        program = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    with Sandbox(isolation, workers=1, preload=preload, limits=limits) as box:
        done = box.run(program, language=language, stdin=stdin.read() if stdin else b"", arguments=arguments)
    click.echo(_shown(done.stdout, sys.stdout), nl=False)
    click.echo(_shown(done.stderr, sys.stderr), nl=False, err=True)
    click.echo(visible(_ending(done)), err=True)
    raise SystemExit(_exit_status(done))


def _shown(text: str, stream: TextIO) -> str:
    """What a program wrote; on a terminal without what would change the terminal, or what was shown before."""
    from guerdon.console.text import visible

    return visible(text) if stream.isatty() else text


def _ending(done: Execution) -> str:
    if done.status in NOT_RUN_FOR:
        return f"[{done.status}: {done.detail}]"
    what = done.status if done.exit_code is None else f"{done.status}, exit code {done.exit_code}"
    used = f"{done.cpu_s:.3f} s of processor time, {done.wall_s:.3f} s, {done.memory_mb:.0f} MiB"
    detail = f": {done.detail}" if done.detail else ""
    return f"[{what}{detail}; {used}; {done.tier}]"


def _exit_status(done: Execution) -> int:
    if done.status in NOT_RUN_FOR:
        return NOT_RUN
    if done.status == "timeout":
        return TIMED_OUT
    if done.exit_code is None:
        return KILLED
    return done.exit_code or (0 if done.ok else 1)


# On the terminal.


def _print_diagnosis(found: Diagnosis, console: Console) -> None:
    from rich.text import Text

    if found.tier is None:
        console.print(Text("No tier of the sandbox holds here.", style="bold red"), soft_wrap=True)
    else:
        style = "bold green" if found.sound else "bold red"
        head = Text("Programs run in the tier ") + Text(found.tier, style=style) + Text(".")
        console.print(head, soft_wrap=True)
    console.print()
    facts = {
        "machine": _machine_line(found.machine),
        "walls": _walls_line(found.machine),
        "languages": ", ".join(["python", *(name for name, there in found.languages.items() if there)]),
        "missing": ", ".join(name for name, there in found.languages.items() if not there),
        "modules": ", ".join(f"{name} {version}".strip() for name, version in found.modules.items())
        or "none beside the standard library",
        "providers": ", ".join(f"{name} (by {key})" for name, key in found.providers.items() if key)
        or "none is set up",
    }
    for label, fact in facts.items():
        if fact:
            _print_beside(label, fact, console)
    _print_tiers(found, console)
    for advice in found.advice:
        console.print()
        _print_advice(advice, console)


def _machine_line(machine: Machine) -> str:
    user = "" if machine.user is None else ", root" if machine.user == 0 else f", user {machine.user}"
    where = f", in {machine.container}" if machine.container else ""
    return f"{machine.system} {machine.architecture}, Python {machine.python}{user}{where}"


def _walls_line(machine: Machine) -> str:
    if not machine.linux:
        return "none: they need Linux"
    namespaces = f"forbidden: {machine.namespaces}" if machine.namespaces else "allowed"
    facts = [
        f"user namespaces {namespaces}",
        f"Landlock {machine.landlock}" if machine.landlock else "no Landlock",
        f"bubblewrap {machine.bubblewrap}" if machine.bubblewrap else "no bubblewrap",
        f"cgroup controllers: {', '.join(machine.controllers)}" if machine.controllers else "",
        "memory cgroups" if machine.memory_cgroup else "no memory cgroups",
        "under a seccomp filter" if machine.filtered else "",
    ]
    return ", ".join(part for part in facts if part)


def _print_tiers(found: Diagnosis, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    there = [report for report in found.tiers if report.available]
    if there:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("held against")
        for report in there:
            table.add_column(report.tier, no_wrap=True)
        for number, what in enumerate(finding.what for finding in there[0].findings):
            marks = [report.findings[number].held for report in there if number < len(report.findings)]
            table.add_row(what, *(Text("yes") if held else Text("no", style="yellow") for held in marks))
        console.print()
        console.print(table)
    console.print()
    for report in found.tiers:
        leaks = "; ".join(f"{leak.what}: {leak.detail}" for leak in report.leaks)
        style = "green" if report.sound else "red"
        failing = report.failing if report.available else f"is not available: {report.failing}"
        _print_beside(report.tier, failing or "holds", console, style)
        if leaks:
            _print_beside("", leaks, console, "yellow")


def _print_advice(advice: Advice, console: Console) -> None:
    from rich.text import Text

    _print_beside("advice", advice.text, console)
    for command in advice.commands:  # not wrapped: they are to be copied
        console.print(Text(f"{'':<12}  {command}", style="bold"), soft_wrap=True)


def _print_beside(label: str, text: str, console: Console, style: str = "") -> None:
    """A label, and beside it a text that is wrapped within its own column."""
    from rich.text import Text

    from guerdon.console import clean

    body = Text(clean(text, console), style=style)
    for number, line in enumerate(body.wrap(console, max(min(console.width, 100) - 12, 20))):
        line.rstrip()
        console.print(Text(f"{'' if number else label:<12}", style="bold") + line, soft_wrap=True)
