"""Options that name a reward's parameters, and how a command line's REWARD is found."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from guerdon.cli.completion import complete_rewards
from guerdon.cli.options import (
    Invocation,
    ParamType,
    combined,
    debug_option,
    option,
    timeout_option,
    workers_option,
)
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction


class NameValueType(ParamType):
    """``name=value``; the value is JSON where it reads as JSON, else text."""

    name = "name=value"
    envvar_list_splitter = "\n"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        name, equals, text = value.partition("=")
        if not equals or not self._is_name(name.strip()):
            self.fail(f"{value!r} is not of the form name=value, such as tolerance=0.01", param, ctx)
        return name.strip(), parse_value(text)

    def _is_name(self, name: str) -> bool:
        return name.isidentifier()


class ScopedNameValueType(NameValueType):
    """``name=value`` for every reward, or ``reward.name=value`` for one of them."""

    name = "[reward.]name=value"

    def _is_name(self, name: str) -> bool:
        return name.rpartition(".")[2].isidentifier()


def parse_value(text: str) -> Any:
    """A value given on the command line: JSON where it reads as JSON, else the text.

    >>> [parse_value(text) for text in ("0.5", "true", "yes", '["a", 1]', "NaN")]
    [0.5, True, 'yes', ['a', 1], 'NaN']
    """
    try:
        return json.loads(text, parse_constant=_not_a_number)
    except (ValueError, RecursionError):
        return text


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(name)


def unique(
    context: click.Context, parameter: click.Parameter, pairs: Sequence[tuple[str, Any]]
) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.BadParameter(f"{twice!r} is given twice", context, parameter)
    return dict(pairs)


parameter_option = option(
    "--param",
    "parameters",
    type=NameValueType(),
    multiple=True,
    callback=unique,
    help="A parameter of the reward; the value is read as JSON if possible, else as text. Repeatable.",
)


class RewardArgument(click.Argument):
    """A reward, or several, on the command line, else that of the configuration file.

    If there is one in the file, the only word on the command line may be the data.
    """

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, shell_complete=complete_rewards, **attributes)

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, click.core.ParameterSource]:
        given = opts.get(str(self.name))
        default = (ctx.default_map or {}).get(str(self.name))
        is_given = bool(given) if isinstance(given, tuple | list) else isinstance(given, str)
        following = _following(ctx, self)
        alone = isinstance(given, str) and following is not None and not isinstance(opts.get(following), str)
        if default and alone and is_data(str(given)):
            opts[str(following)], is_given = given, False  # type: ignore[index]
        if default and not is_given:
            return default, click.core.ParameterSource.DEFAULT_MAP
        return super().consume_value(ctx, opts)


def _following(context: click.Context, reward: click.Argument) -> str | None:
    """The name of the argument after the reward, which is data or cases."""
    names = [param.name for param in context.command.params if isinstance(param, click.Argument)]
    return next(iter(names[names.index(reward.name) + 1 :]), None)


reward_argument = click.argument("reward", cls=RewardArgument)


def find_reward(spec: str, parameters: Mapping[str, Any]) -> RewardFunction:
    """The reward that a word of the command line means.

    Raises ResolutionError where it leads nowhere, BindingError for a parameter that the reward lacks.
    """
    from guerdon.console.working import Working

    path = reward_path(spec)
    with Working(f"loading {path}"):
        from guerdon.reward.registry import get_reward_function

        check_parameters(spec, parameters)
        return get_reward_function(path, **parameters)


def reward_path(spec: str) -> str:
    """A word for a reward with the function's name in it; says which one, if the word names only a file.

    Raises ResolutionError for a file that defines no reward or several.
    """
    from guerdon.console.working import Working
    from guerdon.reward.discovery import full_path
    from guerdon.reward.names import is_registered

    if is_registered(spec):
        return spec
    with Working(f"loading {spec}"):
        path = full_path(spec)
    if spec.endswith(".py") and path != spec:
        click.echo(f"reward: {path}", err=True)
    return path


def refuse_swapped(reward: str, data: str) -> None:
    """Raises InputError where a file of rows stands in the place of the reward, with the line that works."""
    if not is_data(reward):
        return
    context = click.get_current_context()
    args = list(context.ensure_object(Invocation).args)
    if _is_reward(data) and reward in args and data in args:
        first, second = args.index(reward), args.index(data)
        args[first], args[second] = data, reward
        raise InputError(f"{reward} is data and {data} is a reward; write: guerdon {shlex.join(args)}")
    if not any(param.name in ("data", "cases") for param in context.command.params):
        return  # that it is no reward is said when it is looked for
    raise InputError(
        f"{reward} is data, not a reward; the reward comes first: {context.command_path} REWARD {reward}"
    )


def is_data(word: str) -> bool:
    """Whether a word names data rather than a reward."""
    return word == "-" or (Path(word).suffix not in ("", ".py") and "::" not in word and Path(word).is_file())


def _is_reward(word: str) -> bool:
    from guerdon.reward.names import is_registered

    return word.endswith(".py") or ".py:" in word or is_registered(word)


def check_parameters(spec: str, parameters: Mapping[str, Any]) -> None:
    """Raises InputError for a parameter whose name is an argument of guerdon's own.

    Of a reward on a server these are the arguments that say how it is called.
    """
    import inspect

    from guerdon.reward.function import RewardFunction

    taken = {"name_or_path"}
    if spec.startswith(("http://", "https://")):
        taken |= {*inspect.signature(RewardFunction).parameters} - {"fixed_arguments"}
    if clash := sorted(taken & set(parameters)):
        raise InputError(
            f"--param cannot set {clash[0]!r}, a name that Guerdon uses itself; "
            "set it in a function that calls the reward"
        )


reward_options = combined(parameter_option, timeout_option, workers_option, debug_option)
"""``parameters``, ``timeout`` and ``workers``: what a command takes that scores with a reward."""
