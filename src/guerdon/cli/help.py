"""The help page, made of what the commands say of themselves.

``python -m guerdon.cli.help`` writes docs/cli.md, ``--check`` exits with status 1 where that is not what
it would write.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from guerdon.cli.app import app
from guerdon.cli.options import HELP_WIDTH
from guerdon.cli.variables import VariableInfo, variables

PAGE = Path("docs", "cli.md")

_COMMANDS_NAMED = 3

_INTRODUCTION = """\
# The command line

A mistake in the command line, the data or a file ends with one line on standard
error and exit status 2; `--debug` adds the traceback. Results go to standard
output, everything else to standard error. Defaults come from the
[environment](#environment-variables) and from a
[configuration file](configuration.md); `guerdon completion --install` sets up
completion in your shell.

This page is generated: `python -m guerdon.cli.help`.
"""

_VARIABLES = """\
## Environment variables

A flag comes before its variable, and that before the configuration file. A
repeatable flag has one value per line in its variable. `guerdon config` shows
which are set; `guerdon config --variables` prints this list.

"""


def page() -> str:
    """The help page as Markdown."""
    sections = [f"## `{name}`\n\n```text\n{text}\n```\n" for name, text in _helps(app, "guerdon", None)]
    return "\n".join([_INTRODUCTION, *sections, _variables()])


def _variables() -> str:
    """The list of the environment variables."""
    return _VARIABLES + "".join(
        click.wrap_text(_variable_line(one), HELP_WIDTH, "- ", "  ") + "\n"
        for one in variables(click.Context(app, info_name="guerdon"))
    )


def _variable_line(one: VariableInfo) -> str:
    if one.flag is None:
        return f"`{one.name}`: {one.help}"
    if len(one.commands) > _COMMANDS_NAMED:
        return f"`{one.name}`: `{one.flag}`"
    return f"`{one.name}`: `{one.flag}` of {', '.join(f'`{name}`' for name in one.commands)}"


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """The name and the help of a command and of all below it."""
    context = click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=HELP_WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield context.command_path, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if (child := command.get_command(context, below)) is not None:
                yield from _helps(child, below, context)


def main() -> int:
    """Write the page, or check the one that is there."""
    parser = argparse.ArgumentParser(prog="python -m guerdon.cli.help", description=page.__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=PAGE)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page differs")
    given = parser.parse_args()
    new = page()
    if not given.check:
        given.path.parent.mkdir(parents=True, exist_ok=True)
        given.path.write_text(new, encoding="utf-8")
        return 0
    if given.path.is_file() and given.path.read_text(encoding="utf-8") == new:
        return 0
    print(f"{given.path} is out of date; write it again: python -m guerdon.cli.help", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
