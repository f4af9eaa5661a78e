"""What the commands' options share: environment twins, groups of flags, and how values are read."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from guerdon.errors import InputError
from guerdon.settings import SETTINGS, parse_positive, setting

if TYPE_CHECKING:
    from guerdon.data.columns import Columns
    from guerdon.data.dataset import Dataset, Survey
    from guerdon.reward.function import RewardFunction

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


def option(*names: str, **attributes: Any) -> Decorator:
    """An option with an environment variable that is named after it: GUERDON_SKIP_BAD_ROWS."""
    flag = next(name for name in names if name.startswith("--"))
    attributes.setdefault("envvar", variable_of(flag))
    return click.option(*names, show_envvar=True, **attributes)


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


class _SettingOption(click.Option):
    """An option of the table of settings.

    Its environment variable is shown, and left for guerdon.settings to read: a reward's own time limit
    comes before the variable and after the flag, also where there is no command line.
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


POSITIVE = ParsedValue(parse_positive, "count")


def setting_option(name: str, metavar: str, default: str, help: str | None = None) -> Decorator:
    """An option of the table of settings; ``help`` where it means something else to a command."""
    row = SETTINGS[name]
    return click.option(
        f"--{name.replace('_', '-')}",
        cls=_SettingOption,
        type=ParsedValue(row.parse, metavar),
        envvar=row.variable,
        show_envvar=True,
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


# Parameters of the reward.


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
    help="A parameter of the reward; the value is JSON or else text. Repeatable; "
    "in the variable, one a line.",
)


def find_reward(spec: str, parameters: Mapping[str, Any]) -> RewardFunction:
    """The reward that a word of the command line means.

    Raises ResolutionError where it leads nowhere, BindingError for a parameter that the reward lacks.
    """
    from guerdon.reward.registry import get_reward_function

    check_parameters(spec, parameters)
    return get_reward_function(spec, **parameters)


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
            f"--param cannot set {clash[0]!r}, which is a word of guerdon's own; "
            "set it in a function that calls the reward"
        )


# Where the samples come from.


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFlags:
    """Which rows are read and which of their columns make the sample."""

    prompt_column: str | None
    response_column: str | None
    answer_column: str | None
    mapping: tuple[str, ...]
    split: str | None
    skip_bad_rows: bool

    def columns(self) -> Columns:
        """Raises InputError where flags contradict each other."""
        from guerdon.data.columns import Columns, parse_mappings

        return Columns(
            prompt=self.prompt_column,
            response=self.response_column,
            answer=self.answer_column,
            rename=parse_mappings(self.mapping),
        )

    def open(self, source: str, limit: int | None) -> Dataset:
        """Raises InputError where there is nothing to read."""
        from guerdon.data.dataset import open_dataset

        return open_dataset(source, columns=self.columns(), split=self.split, limit=limit)

    def check(self, data: Dataset) -> Survey:
        """What a pass over all rows finds, shown while it lasts.

        Raises BadRowsError for malformed rows unless they are to be skipped and there are others.
        """
        from guerdon.cli.output import ProgressBar
        from guerdon.data.rows import BadRowsError

        with ProgressBar("checking") as bar:
            survey = data.survey(
                lambda p: bar.share(p.rows, p.share, f"{p.bad:,} malformed" if p.bad else "")
            )
        if survey.bad and not (self.skip_bad_rows and survey.good):
            raise BadRowsError.of(survey.rejected, survey.bad, survey.rows)
        return survey


class LineSeparated(ParamType):
    """Text; several in an environment variable stand on a line each."""

    name = "text"
    envvar_list_splitter = "\n"


data_options = option_group(
    DataFlags,
    "flags",
    [
        option("--prompt-column", metavar="COLUMN", help="The column that holds the prompt."),
        option("--response-column", metavar="COLUMN", help="The column that holds the response."),
        option("--answer-column", metavar="COLUMN", help="The column that holds the right answer."),
        option(
            "--map",
            "mapping",
            metavar="NAME=COLUMN",
            type=LineSeparated(),
            multiple=True,
            help="Give a column the name that the reward reads. Repeatable; in the variable, one a line.",
        ),
        option("--split", metavar="NAME", help="The split of a folder or of a Hugging Face dataset."),
        option(
            "--skip-bad-rows",
            is_flag=True,
            help="Leave malformed rows out, and write them to a file that ends in .rejected.jsonl.",
        ),
    ],
)


# What holds while samples are scored.


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitFlags:
    """The limits of a run; None leaves one to the environment, the reward and the default."""

    timeout: float | None
    workers: int | None
    concurrency: int | None
    max_memory: int | None
    batch_size: int

    def options(self) -> dict[str, Any]:
        """As arguments of ``guerdon.score``."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def check_variables() -> None:
    """Raises InputError where an environment variable of a limit holds what is none."""
    for name in SETTINGS:
        setting(name)


timeout_option = setting_option("timeout", "seconds", f"the reward's own, or {SETTINGS['timeout'].default:g}")
workers_option = setting_option("workers", "count", "one a processor")
limit_options = option_group(
    LimitFlags,
    "limits",
    [
        timeout_option,
        workers_option,
        setting_option("concurrency", "count", f"the reward's own, or {SETTINGS['concurrency'].default}"),
        setting_option("max_memory", "bytes", f"{SETTINGS['max_memory'].default >> 30}GiB"),
        option(
            "--batch-size",
            type=POSITIVE,
            default=32,
            show_default=True,
            help="Samples that a batched reward gets at once.",
        ),
    ],
)
