"""The program: which commands there are, and how every error of a command ends.

A command's module is imported when the command is named, and imports what it works with when it runs, so
that ``guerdon --help`` is quick.

Exit statuses: 0; 1 for what the command itself reports (all samples failed, a case is off) and for a bug,
with its traceback; 2 for an error of the user's, on one line of standard error; 130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import functools
import importlib
import os
import pkgutil
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from guerdon._version import __version__
from guerdon.cli import commands
from guerdon.cli.exit_codes import INTERRUPTED, USER_ERROR
from guerdon.cli.options import HELP_WIDTH, Invocation, debug_option
from guerdon.errors import RewardError

if TYPE_CHECKING:
    from guerdon.cli.configuration import ConfigFile

FIRST = ("examples", "preview", "score", "rewards", "test", "serve", "adapt", "train", "evaluate")
"""The commands that a list of them begins with; the others follow by name."""

WITHOUT_CONFIG = ("completion", "config", "examples")
"""The commands that run, and may help, where the configuration file is wrong."""

_REWARDS_SHOWN = 5

_MACHINE_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@functools.cache
def find_commands() -> Mapping[str, str]:
    """Name of each command and where it is: each module or folder of ``commands`` has the one of its name.

    >>> find_commands()["train"], find_commands()["benchmark-verifiers"]
    ('guerdon.cli.commands.train.train:train', 'guerdon.cli.commands.benchmark_verifiers:benchmark_verifiers')
    """
    found = {}
    for module in pkgutil.iter_modules(commands.__path__):
        name = module.name
        path = f"{name}.{name}" if module.ispkg else name
        found[name.replace("_", "-")] = f"{commands.__name__}.{path}:{name}"
    return {name: found[name] for name in (*FIRST, *sorted(found.keys() - set(FIRST)))}


class App(click.Group):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(find_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in find_commands():
            return None
        module, _, name = find_commands()[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = find_commands()
        if name not in known and not name.startswith("-"):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise click.UsageError(f"no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run a command line, by default that of this process, and leave with its exit status."""
        sys.exit(self._status(list(sys.argv[1:] if args is None else args)))

    def _status(self, args: list[str]) -> int:
        invocation = Invocation(tuple(args))
        try:
            status = super().main(args, "guerdon", standalone_mode=False, obj=invocation)
            sys.stdout.flush()
        except click.Abort:
            click.echo("Interrupted", err=True)
            return INTERRUPTED
        except click.ClickException as error:
            return _say(_usage(error), USER_ERROR)
        except RewardError as error:
            if invocation.debug:
                traceback.print_exc()
            # Malformed rows are listed; what else a message quotes, an exception's text, goes on one line.
            text = str(error) if "rejected" in error.about else " ".join(_message_of(error, args).split())
            return _say(text, USER_ERROR)
        except OSError as error:
            if error.errno == errno.EPIPE:
                _forget_stdout()
                return 1
            if error.errno not in _MACHINE_FULL:
                raise
            _forget_stdout()
            return _say(f"cannot write: {error.strerror}", USER_ERROR)
        return status if isinstance(status, int) else 0


def _say(message: str, status: int) -> int:
    from guerdon.cli.output import printable

    click.echo(f"Error: {printable(message)}", err=True)
    return status


def _usage(error: click.ClickException) -> str:
    """What is wrong with the command line, on one line, and where it says how it is right."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.BadParameter) and context is not None and error.param is not None:
        source = context.get_parameter_source(str(error.param.name))
        if source is click.core.ParameterSource.ENVIRONMENT:  # no flag was given that could be wrong
            message = f"{error.param.envvar}: {' '.join(error.message.split()).rstrip('.')}"
    if context is None:
        return message
    return f"{message}{' See' if message.endswith('?') else '; see'}: {context.command_path} --help"


def _message_of(error: RewardError, args: Sequence[str]) -> str:
    """The message; for a file with several rewards, the commands that name one of them."""
    file, rewards = error.about.get("path"), error.about.get("rewards", ())
    position = next((i for i, arg in enumerate(args) if arg == file or arg.endswith(f"={file}")), None)
    if not rewards or position is None:
        return str(error)
    lines = []
    for name in rewards[:_REWARDS_SHOWN]:
        words = [*args[:position], f"{args[position]}::{name}", *args[position + 1 :]]
        lines.append(f"guerdon {shlex.join(words)}")
    more = ", …" if len(rewards) > len(lines) else ""
    return f"{file} defines {', '.join(rewards)}; name one of them: {', or '.join(lines)}{more}"


def _forget_stdout() -> None:
    # It cannot be written any more; the interpreter would complain when it flushes what is left at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=App,
    name="guerdon",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
)
@click.version_option(__version__, message="guerdon %(version)s")
@debug_option
@click.pass_context
def app(context: click.Context) -> None:
    """\b
    guerdon preview my_rewards.py --samples answers.jsonl
    guerdon score math answers.jsonl -o scores.jsonl

    The reward layer for training language models by reinforcement.

    A REWARD is a registered name (see: guerdon rewards), a file that defines one (file.py), a function in a file
    (file.py::name) or in a module (pkg.mod:name or pkg.mod.name), a folder whose main.py defines evaluate, or the
    address of a server.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    elif context.invoked_subcommand not in WITHOUT_CONFIG and not {"-h", "--help"} & {
        *context.ensure_object(Invocation).args
    }:
        _configure(context, context.invoked_subcommand)


def _configure(context: click.Context, name: str) -> None:
    """Let the configuration file, if there is one, set the defaults of the command that follows."""
    from guerdon.cli.configuration import check_tables, find_config, server_variable, shared_values

    with contextlib.suppress(FileNotFoundError):  # the working directory was removed
        file = find_config(Path.cwd())
        command = app.get_command(context, name)
        if file is None or command is None:
            return
        check_tables(file, list(find_commands()))
        context.ensure_object(Invocation).shared = shared_values(file)
        variables = server_variable(file)
        context.default_map = {name: _default_map(file, command, name, variables)}
        _set_variables(context, variables)


def _default_map(
    file: ConfigFile, command: click.Command, name: str, variables: dict[str, str]
) -> dict[str, Any]:
    """The defaults of a command and of those below it, as click wants them; adds to the variables."""
    from guerdon.cli.configuration import defaults_of

    found = defaults_of(file, command, name)
    variables.update(found.variables)
    below = command.commands if isinstance(command, click.Group) else {}
    inner = {sub: _default_map(file, one, f"{name}.{sub}", variables) for sub, one in below.items()}
    return {**found.values, **inner}


def _set_variables(context: click.Context, variables: Mapping[str, str]) -> None:
    """Set environment variables that are not set, until the command ends: worker processes read them, too."""
    for variable, value in variables.items():
        if not os.environ.get(variable, "").strip():
            before = os.environ.get(variable)
            os.environ[variable] = value
            context.call_on_close(functools.partial(_restore, variable, before))


def _restore(variable: str, before: str | None) -> None:
    if before is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = before


def main(args: Sequence[str] | None = None) -> NoReturn:
    """The command line as a function: runs ``args``, by default those of this process, and exits."""
    # As under `python -m`: a console script has its own folder there, and a user's rewards are here.
    with contextlib.suppress(FileNotFoundError):  # the working directory was removed
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.insert(0, os.getcwd())
    app.main(args)
