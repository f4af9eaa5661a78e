"""``guerdon config``: which configuration holds, and where it comes from."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from guerdon.cli.completion import complete_commands
from guerdon.cli.configuration import (
    SHARED,
    CommandDefaults,
    ConfigFile,
    check_tables,
    defaults_of,
    find_config,
    key_of,
    params_of,
    shared_values,
)
from guerdon.cli.options import debug_option, option
from guerdon.cli.variables import variables
from guerdon.errors import InputError
from guerdon.settings import SETTINGS

_SECRET = ("api_key", "tls_key_password")
_NONE = "none: there is no guerdon.toml, and no [tool.guerdon] in a pyproject.toml, from here upwards"


@dataclass(frozen=True, slots=True)
class ConfiguredValue:
    """One value that holds, and where it comes from."""

    command: str | None
    """None for what holds for all commands."""
    key: str
    value: Any
    source: str
    flag: str | None = None
    """None for a shared key and an argument."""


@click.command(short_help="Show which configuration holds and where it comes from.")
@click.argument("command", nargs=-1, shell_complete=complete_commands)
@option("--variables", "list_variables", is_flag=True, help="List all environment variables.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@debug_option
@click.pass_context
def config(context: click.Context, command: tuple[str, ...], list_variables: bool, as_json: bool) -> None:
    """\b
    guerdon config
    guerdon config score

    Show what the configuration file and the environment set, and where each value comes from.

    With COMMAND, show all of its options, those with their default, too. The file is guerdon.toml, or
    pyproject.toml with a table [tool.guerdon], in the working directory or the nearest folder above. A flag comes
    before the environment, and that before the file.
    """
    program = context.find_root()
    if list_variables:
        if command:
            raise InputError(f"--variables lists the variables of all commands; leave out {command[0]}")
        _print_variables(program, as_json)
        return
    file = find_config(Path.cwd())
    if file is not None and isinstance(program.command, click.Group):
        check_tables(file, program.command.list_commands(program))
    found = list(_of_command(file, program, command) if command else _all(file, program))
    if as_json:
        click.echo(
            json.dumps({"file": str(file.path) if file else None, "values": [asdict(one) for one in found]})
        )
        return
    _print(file, found)


def _all(file: ConfigFile | None, program: click.Context) -> Iterator[ConfiguredValue]:
    """What holds for all commands, then what is set of each."""
    shared = shared_values(file) if file is not None else {}
    for key in SHARED:
        variable = SETTINGS["base_url"].variable
        if key == "server" and (text := _variable(variable)):
            yield ConfiguredValue(None, key, text, variable)
        elif key in shared and file is not None:
            yield ConfiguredValue(None, key, shared[key], file.place())
    for name, command in _commands(program.command, program):
        found = defaults_of(file, command, name) if file is not None else CommandDefaults()
        for value in _values(name, command, found):
            if value.source != "default" and not (file is not None and value.source == file.place()):
                yield value


def _of_command(
    file: ConfigFile | None, program: click.Context, words: Sequence[str]
) -> Iterator[ConfiguredValue]:
    """All options of one command."""
    known = dict(_commands(program.command, program))
    name = ".".join(words)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0].replace('.', ' ')}?" if close else "see: guerdon --help"
        raise InputError(f"there is no command {' '.join(words)!r}; {hint}")
    found = defaults_of(file, known[name], name) if file is not None else CommandDefaults()
    yield from _values(name, known[name], found)


def _commands(command: click.Command, context: click.Context, name: str = "") -> Iterable[tuple[str, Any]]:
    """Every command with its name in the file, such as judge.calibrate."""
    if name:
        yield name, command
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if (child := command.get_command(context, below)) is not None:
                yield from _commands(child, context, f"{name}.{below}".strip("."))


def _values(name: str, command: click.Command, found: CommandDefaults) -> Iterator[ConfiguredValue]:
    """The parameters of a command with the values that they have without a flag."""
    for param in params_of(command):
        own = str(param.name)
        variable = str(param.envvar) if param.envvar else ""
        value: Any
        if text := _variable(variable):
            value, source = text, variable
        elif own in found.places:
            value, source = found.values.get(own, found.variables.get(variable)), found.places[own]
        elif isinstance(param, click.Argument):
            continue  # it has no default
        else:
            value, source = param.get_default(click.Context(command)), "default"
        shown = "(set)" if value and own in _SECRET else value
        flag = f"--{key_of(param)}" if isinstance(param, click.Option) else None
        yield ConfiguredValue(name, key_of(param), _plain(shown), source, flag)


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip() if name else ""


def _plain(value: Any) -> Any:
    """A value as JSON has it; None for none."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else None


# In the terminal.


def _print(file: ConfigFile | None, found: Sequence[ConfiguredValue]) -> None:
    from guerdon.cli.output import printable

    click.echo(printable(f"file  {file.path if file else _NONE}"))
    rows = [
        (f"{(one.command or '').replace('.', ' ')} {one.flag or one.key}".strip(), _text(one.value), one)
        for one in found
    ]
    wide = max((len(name) for name, _, _ in rows), default=0)
    column = min(max((len(text) for _, text, _ in rows), default=0), 40)
    for name, text, one in rows:
        click.echo(printable(f"{name:<{wide}}  {text:<{column}}  {one.source}"))


def _text(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _print_variables(program: click.Context, as_json: bool) -> None:
    found = variables(program)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found]))
        return
    for one in found:
        meant = f"{one.flag} of {', '.join(one.commands)}" if one.flag else one.help
        if len(meant) > _WIDE:
            meant = f"{one.flag} of {len(one.commands)} commands"
        click.echo(f"{one.name:<30}  {meant}")
    known = {one.name for one in found}
    for name in sorted(os.environ):
        if name.startswith("GUERDON_") and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            click.echo(f"{name} is set and has no meaning{hint}", err=True)


_WIDE = 60
