"""``guerdon rewards``: what is registered, and what there is to know about one reward."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_rewards
from guerdon.cli.options import debug_option, option
from guerdon.cli.reward_options import find_reward
from guerdon.errors import RewardError

if TYPE_CHECKING:
    from rich.console import Console

    from guerdon.reward.function import RewardFunction

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_ITEM = re.compile(r"[-*] |\d+\. ")
_SETTING = re.compile(r"(?:\w+\.)*Setting\[(.+)\]")
_CEILING = re.compile(r"(?:\w+\.)*(?:Ceiling\[(.+)\]|Annotated\[(.+), (?:\w+\.)*Lowered\(\w*\)\])")
_LITERAL = re.compile(r"(?<!`)``(?!`)(.+?)(?<!`)``(?!`)", re.DOTALL)
_ROLE = re.compile(r":(?:py:)?[a-z]+:`~?([^`]+)`")
_SCALE = re.compile(r"^[ \t]*Scale:\s*(.+?)(?:\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)

json_option = option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass(frozen=True, slots=True)
class RewardListing:
    """A registered reward in a sentence, or why it cannot be loaded."""

    name: str
    summary: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A parameter that the user sets."""

    name: str
    annotation: str | None
    default: str | None
    """As Python writes it; None where there is none, so that it has to be given."""
    setting: bool = False
    """Whether it is a Setting, which no column of the data gives."""
    ceiling: bool = False
    """Whether it is a Ceiling, which a column of the data only lowers."""


@dataclass(frozen=True, slots=True)
class RewardDetails:
    """What there is to know about one reward."""

    name: str
    version: str
    summary: str
    scale: str | None
    kind: str
    """How it is called, such as ``sync, a sample at a time``."""
    binds: list[str]
    """What it takes from the sample; a question mark where it can do without."""
    parameters: list[ParameterInfo]
    components: dict[str, float | None]
    """The parts of a composition and their weights."""
    docstring: str
    example: str | None


class _RewardsGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from guerdon.reward.names import is_registered

        if args[0] not in self.commands and is_registered(args[0]):
            raise click.UsageError(f"write: {ctx.command_path} show {shlex.join(args)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_RewardsGroup,
    invoke_without_command=True,
    short_help="List the registered rewards, or show one of them.",
)
@json_option
@debug_option
@click.pass_context
def rewards(context: click.Context, as_json: bool) -> None:
    """\b
    guerdon rewards
    guerdon rewards show math

    List the registered rewards with one sentence each. The command show describes one of them."""
    if context.invoked_subcommand is not None:
        return
    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.reward.names import docstrings

    with prints_to_stderr():
        entries = [_entry(name, text) for name, text in docstrings().items()]
    if as_json:
        click.echo(json.dumps([asdict(entry) for entry in entries]))
    elif entries:
        _print_entries(entries, output())
    else:
        click.echo("no rewards are registered", err=True)


@rewards.command(short_help="Show a reward's parameters, scale and example.")
@click.argument("name", shell_complete=complete_rewards)
@json_option
@debug_option
def show(name: str, as_json: bool) -> None:
    """\b
    guerdon rewards show math
    guerdon rewards show my_rewards.py::brief --json

    Show what NAME reads of a sample, its parameters and defaults, its scale, its docstring and an example.

    NAME is a registered name or any other form of REWARD.
    """
    from guerdon.cli.output import output, prints_to_stderr

    with prints_to_stderr():
        details = details_of(find_reward(name, {}))
    if as_json:
        click.echo(json.dumps(asdict(details)))
    else:
        _print_details(details, output())


def _entry(name: str, docstring: str | None) -> RewardListing:
    try:
        text = docstring_of(find_reward(name, {})) if docstring is None else docstring
        return RewardListing(name, first_sentence(text))
    except RewardError as error:
        return RewardListing(name, "", str(error))


def docstring_of(reward: RewardFunction) -> str:
    """The docstring of the function, the class or the server behind; ``""`` where there is none."""
    target: Any = reward.func
    for inner in ("func", "server"):  # a functools.partial, a reward server as a function
        target = getattr(target, inner, target)
    return inspect.getdoc(target) or "" if target is not None else ""


def first_sentence(text: str) -> str:
    """The first sentence of a docstring on one line.

    >>> first_sentence("One point\\nfor brevity. Else none.")
    'One point for brevity.'
    """
    paragraph = text.strip().partition("\n\n")[0]
    found = _SENTENCE.match(paragraph)
    return " ".join((found[1] if found else paragraph).split())


def details_of(reward: RewardFunction) -> RewardDetails:
    """What there is to know about a reward."""
    text = docstring_of(reward)
    scale = _SCALE.search(text)
    binds, parameters = _taken(reward)
    return RewardDetails(
        name=reward.name,
        version=reward.version,
        summary=first_sentence(text),
        scale=" ".join(scale[1].split()) if scale else None,
        kind=f"{'async' if reward.is_async else 'sync'}, "
        f"{'many samples' if reward.is_batch else 'a sample'} at a time",
        binds=binds,
        parameters=parameters,
        components={component.name: component.weight for component in reward.components},
        docstring=text,
        example=_example(text),
    )


def _taken(reward: RewardFunction) -> tuple[list[str], list[ParameterInfo]]:
    """What a function takes from the sample, and what the user sets.

    Keyword-only parameters are the user's, and so are a class's for its constructor; of the others
    those with a default that no sample has a standard name for may be either, and are listed as both.
    """
    from guerdon.reward.binding.conventions import STANDARD_NAMES
    from guerdon.reward.factory import FactoryScorer
    from guerdon.reward.function import RewardFunction
    from guerdon.reward.scorers.function_scorer import FunctionScorer

    scorer = reward.scorer
    if isinstance(scorer, FactoryScorer):
        parts = [part.reward for part in scorer.components if isinstance(part.reward, RewardFunction)]
        names = [name for part in parts for name in _taken(part)[0]]
        return list(dict.fromkeys(names)), [_given(p) for p in scorer.settable if p.kind is not p.VAR_KEYWORD]
    if not isinstance(scorer, FunctionScorer):
        return [], []
    binds: list[str] = []
    mine: list[ParameterInfo] = []
    for parameter in _signature(scorer.function):
        optional = parameter.default is not parameter.empty
        if parameter.kind is parameter.KEYWORD_ONLY:
            mine.append(_given(parameter))
        elif parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            binds.append(f"{parameter.name}?" if optional else parameter.name)
            if optional and parameter.name not in STANDARD_NAMES:
                mine.append(_given(parameter))
        elif parameter.kind is parameter.VAR_KEYWORD:
            binds.append("every column")
    if inspect.isclass(scorer.target):
        mine += [_given(p) for p in _signature(scorer.target) if p.kind is not p.VAR_KEYWORD]
    return binds, mine


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _given(parameter: inspect.Parameter) -> ParameterInfo:
    empty = parameter.empty
    annotation = parameter.annotation
    # Text already where the module postpones annotations; formatting it would put quotes around it.
    shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    setting, ceiling = _SETTING.fullmatch(shown), _CEILING.fullmatch(shown)
    if found := setting or ceiling:
        shown = next(filter(None, found.groups()))
    return ParameterInfo(
        parameter.name,
        None if annotation is empty else shown,
        None if parameter.default is empty else repr(parameter.default),
        setting=setting is not None,
        ceiling=ceiling is not None,
    )


def _example(text: str) -> str | None:
    """The examples of a docstring as they would be typed, with what they print."""
    import doctest

    lines: list[str] = []
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:  # an example with faulty blanks is no reason to show nothing
        return None
    for example in examples:
        first, *rest = example.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {line}" for line in rest), *example.want.splitlines()]
    return "\n".join(lines) or None


# On the terminal.


def plain_text(docstring: str) -> str:
    """A docstring without reStructuredText's marks: code stands in single backticks.

    >>> plain_text("Calls ``f(x)``, see :func:`g`.")
    'Calls `f(x)`, see `g`.'
    """
    return _LITERAL.sub(r"`\1`", _ROLE.sub(r"`\1`", docstring))


def _print_entries(entries: list[RewardListing], console: Console) -> None:
    from rich.text import Text

    from guerdon.console import clean

    wide = min(max(len(entry.name) for entry in entries), 24) + 2
    for entry in entries:
        summary = plain_text(entry.summary) or "(no docstring)"
        shown = f"cannot be loaded: {entry.error}" if entry.error else summary
        body = Text(clean(" ".join(shown.split()), console), style="red" if entry.error else "")
        _beside(clean(entry.name, console), wide, body, console)


def _beside(label: str, wide: int, body: Any, console: Console) -> None:
    """A label, and beside it a text wrapped within its own column."""
    from rich.text import Text

    for number, line in enumerate(body.wrap(console, max(min(console.width, 100) - wide, 20)) or [Text()]):
        line.rstrip()
        head = Text(f"{label if number == 0 else '':<{wide}}", style="bold")
        console.print(head + line, soft_wrap=True)


def _print_details(details: RewardDetails, console: Console) -> None:
    from rich.text import Text

    from guerdon.console import clean

    facts: Mapping[str, str] = {
        "reward": details.name,
        "version": details.version,
        "called": details.kind,
        "scale": plain_text(details.scale or ""),
        "binds": ", ".join(details.binds),
        "parts": ", ".join(n if w is None else f"{w:g} {n}" for n, w in details.components.items()),
        "parameters": "\n".join(map(_parameter_line, details.parameters)),
    }
    for label, fact in facts.items():
        if fact:
            _beside(label, 12, Text(clean(fact, console)), console)
    for paragraph in _paragraphs(plain_text(details.docstring)):
        console.print()
        _beside("", 2, Text(clean(paragraph, console)), console)
    if details.example:
        console.print()
        for line in details.example.splitlines():  # not wrapped: it is to be copied
            console.print(Text(clean(f"  {line}", console)), soft_wrap=True)


def _parameter_line(given: ParameterInfo) -> str:
    annotation = f": {given.annotation}" if given.annotation else ""
    default = "  (required)" if given.default is None else f" = {given.default}"
    row = "  (never from a row)" if given.setting else "  (a row can only lower it)" if given.ceiling else ""
    return f"{given.name}{annotation}{default}{row}"


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring but for its examples; those without a layout of their own on one line."""
    parts = [part.strip("\n") for part in re.split(r"\n[ \t]*\n", text)]
    return [_unwrapped(part) for part in parts if not part.lstrip().startswith(">>>")]


def _unwrapped(part: str) -> str:
    """A paragraph on one line, each item of a list on one; as it is where it is laid out otherwise.

    >>> _unwrapped("One of\\n- this,\\n  or that\\n- these"), _unwrapped("A table:\\n    1 2")
    ('One of\\n- this, or that\\n- these', 'A table:\\n    1 2')
    """
    lines: list[str] = []
    for line in part.split("\n"):
        if not lines or _ITEM.match(line):
            lines.append(line)
        elif line[:1].isspace() and not _ITEM.match(lines[-1]):
            return part
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(lines)
