"""The environment variables of Guerdon, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from guerdon.settings import SETTINGS

OTHERS = {
    "GUERDON_DATA": "The labelled data of guerdon benchmark-verifiers.",
    "GUERDON_JUDGE_API_KEY": "The key of the model that the reward judge asks.",
    "GUERDON_JUDGE_BASE_URL": "The address of the model that the reward judge asks.",
    "GUERDON_JUDGE_CACHE": "A file in which the reward judge keeps the model's replies.",
    "GUERDON_JUDGE_MODEL": "The model that the reward judge asks.",
    "GUERDON_REWARD_MODEL_API_KEY": "The key of the server that the reward reward_model asks.",
}
"""The variables that neither an option nor a setting has."""


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """An environment variable, the options that it stands for, and what it sets."""

    name: str
    flag: str | None
    """None for a variable without an option."""
    commands: tuple[str, ...]
    help: str


def variables(context: click.Context) -> list[VariableInfo]:
    """Every environment variable that Guerdon reads, by name; ``context`` is that of the program."""
    flags: dict[str, str] = {}
    helps: dict[str, str] = {}
    commands: dict[str, list[str]] = {}
    for name, option in _options(context.command, context):
        variable = str(option.envvar)
        flags[variable] = next(flag for flag in option.opts if flag.startswith("--"))
        helps.setdefault(variable, option.help or "")
        commands.setdefault(variable, []).append(name)
    for setting in SETTINGS.values():
        helps.setdefault(setting.variable, setting.help)
    helps.update({name: text for name, text in OTHERS.items() if name not in helps})
    return [
        VariableInfo(name, flags.get(name), tuple(dict.fromkeys(commands.get(name, ()))), helps[name])
        for name in sorted(helps)
    ]


def _options(
    command: click.Command, context: click.Context, name: str = ""
) -> Iterator[tuple[str, click.Option]]:
    """Each option with a variable, with the command that has it."""
    alone: click.Command = getattr(command, "alone", command)
    yield from ((name, p) for p in alone.params if isinstance(p, click.Option) and p.envvar is not None)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if (child := command.get_command(context, below)) is not None:
                yield from _options(child, context, f"{name} {below}".strip())
