"""Options of commands: their environment variables, groups of flags, and how values are read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from guerdon.cli.completion import completer_of
from guerdon.errors import InputError
from guerdon.settings import SETTINGS, parse_positive, setting

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # not generic at run time in every version of click that will do

HELP_WIDTH = 80
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
T = TypeVar("T")


@dataclass(slots=True)
class Invocation:
    """One call of the program."""

    args: tuple[str, ...] = ()
    debug: bool = False
    shared: Mapping[str, Any] = field(default_factory=dict)
    """What a configuration file says for all commands: reward, data, columns, server."""


def option(*names: str, **attributes: Any) -> Decorator:
    """An option with an environment variable that is named after it: GUERDON_SKIP_BAD_ROWS.

    The help of a command does not repeat the variables: ``guerdon config --variables`` lists them.
    """
    flag = next(name for name in names if name.startswith("--"))
    attributes.setdefault("envvar", variable_of(flag))
    attributes.setdefault("shell_complete", completer_of(attributes.get("metavar")))
    return click.option(*names, **attributes)


def variable_of(flag: str) -> str:
    """The environment variable of a flag.

    >>> variable_of("--max-samples")
    'GUERDON_MAX_SAMPLES'
    """
    return f"GUERDON_{flag.lstrip('-').replace('-', '_').upper()}"


def _turn_on_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Invocation).debug = True


def debug_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flag ``--debug``, which both the program and every command take."""
    return option(
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_turn_on_debug,
        help=SETTINGS["debug"].help,
    )(command)


class SettingOption(click.Option):
    """An option of the table of settings.

    Its environment variable is left for guerdon.settings to read: a reward's own time limit comes before the
    variable and after the flag, also where there is no command line.
    """

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return None


class ParsedValue(ParamType):
    """A value as a parser of the table of settings reads it, whose InputError is the user's."""

    def __init__(self, parse: Callable[[Any], Any], metavar: str) -> None:
        self.name = metavar
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


class LineSeparated(ParamType):
    """Text; several in an environment variable stand on a line each."""

    name = "text"
    envvar_list_splitter = "\n"


POSITIVE = ParsedValue(parse_positive, "count")


def setting_option(name: str, metavar: str, default: str, help: str | None = None) -> Decorator:
    """An option of the table of settings; ``help`` where it means something else to a command."""
    row = SETTINGS[name]
    return click.option(
        f"--{name.replace('_', '-')}",
        cls=SettingOption,
        type=ParsedValue(row.parse, metavar),
        envvar=row.variable,
        help=f"{(help or row.help).rstrip('.')}; by default {default}.",
    )


def option_group(cls: type[Any], name: str, options: Sequence[Decorator]) -> Decorator:
    """A decorator that adds options and gives their values to the command as one object."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(*args: Any, **flags: Any) -> Any:
            mine = {field: flags.pop(field) for field in cls.__dataclass_fields__}
            return command(*args, **flags, **{name: cls(**mine)})

        result: Callable[..., Any] = gathered
        for add in reversed(options):
            result = add(result)
        return result

    return decorate


def combined(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for add in reversed(decorators):
            command = add(command)
        return command

    return decorate


def check_variables() -> None:
    """Raises InputError where an environment variable of a limit holds what is none."""
    for name in SETTINGS:
        setting(name)


timeout_option = setting_option("timeout", "seconds", f"the reward's own, or {SETTINGS['timeout'].default:g}")
workers_option = setting_option("workers", "count", "one per processor")
