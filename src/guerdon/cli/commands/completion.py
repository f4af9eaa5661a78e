"""``guerdon completion``: completion for bash, zsh and fish."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from guerdon.cli.options import debug_option, option
from guerdon.errors import InputError

SHELLS = ("bash", "zsh", "fish")
_SCRIPTS = Path(__file__).resolve().parents[1] / "shells"


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """Where the script of a shell goes, and the line that loads it."""

    script: Path
    startup: Path | None
    """The file that the line is added to; None for a shell that finds the script by itself."""


@click.command(short_help="Print or install completion for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@option("--install", is_flag=True, help="Install it for this user, by default for the shell in $SHELL.")
@click.option("--line", hidden=True)
@debug_option
@click.pass_context
def completion(context: click.Context, shell: str | None, install: bool, line: str | None) -> None:
    """\b
    guerdon completion --install
    guerdon completion zsh

    Print the completion of SHELL, or install it.

    It completes commands, options, rewards, the functions of a file after ::, trainers, presets and keys of
    guerdon train, examples, and files.
    """
    if line is not None:
        _print_candidates(context, line)
        return
    shell = shell or (_shell_of_user() if install else None)
    if shell is None:
        raise InputError(f"name the shell: guerdon completion {SHELLS[0]}, or one of {', '.join(SHELLS[1:])}")
    text = (_SCRIPTS / f"completion.{shell}").read_text(encoding="utf-8")
    if install:
        _install(_plan(shell, os.environ), text)
    else:
        click.echo(text, nl=False)


def _print_candidates(context: click.Context, line: str) -> None:
    from guerdon.cli.completion import candidates

    program = context.find_root().command
    assert isinstance(program, click.Group)
    for item in candidates(program, line):
        help = " ".join((item.help or "").split())
        click.echo(f"{item.type}\t{item.value}\t{help}")


def _shell_of_user() -> str | None:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise InputError(
            f"$SHELL is {name or 'not set'}; name one of {', '.join(SHELLS)}: guerdon completion bash --install"
        )
    return name


def _plan(shell: str, environment: Mapping[str, str]) -> InstallPlan:
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "fish":
        config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
        return InstallPlan(config / "fish" / "completions" / "guerdon.fish", None)
    startup = home / ".bashrc" if shell == "bash" else Path(environment.get("ZDOTDIR") or home) / ".zshrc"
    return InstallPlan(data / "guerdon" / f"completion.{shell}", startup)


def _install(plan: InstallPlan, text: str) -> None:
    """Write the script, and have the shell load it. Doing so again changes nothing."""
    import shlex

    try:
        plan.script.parent.mkdir(parents=True, exist_ok=True)
        plan.script.write_text(text, encoding="utf-8")
        click.echo(f"wrote {plan.script}")
        if plan.startup is not None:
            line = f"source {shlex.quote(str(plan.script))}"
            there = plan.startup.read_text(encoding="utf-8") if plan.startup.exists() else ""
            if line not in there.splitlines():
                with plan.startup.open("a", encoding="utf-8") as file:
                    file.write(f"{'' if not there or there.endswith(chr(10)) else chr(10)}{line}\n")
                click.echo(f"added a line to {plan.startup}")
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None
    click.echo("open a new shell to use it", err=True)
