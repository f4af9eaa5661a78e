"""What the configuration file says for all commands, as overrides of a training configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from guerdon.train.config.project import Project
    from guerdon.train.config.schema import TrainingConfig


class OverridesArgument(click.Argument):
    """The overrides: those of the configuration file, then those of the command line, which win."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, click.core.ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        first = (ctx.default_map or {}).get(str(self.name))
        if not first or source is click.core.ParameterSource.DEFAULT_MAP:
            return value, source
        given = value if isinstance(value, tuple | list) else ()
        return (*first, *given), source


def with_shared(overrides: Sequence[str], shared: Mapping[str, Any], project: Project) -> list[str]:
    """The overrides with what the file says of reward, data and columns, as far as nothing else says it.

    A preset or the project's own ``conf/`` that names a reward or a source of data comes before the file.
    """
    if not shared.keys() & {"reward", "data", "columns"}:
        return [*overrides]
    from guerdon.train.config.compose import compose

    config = compose(overrides, project)
    # A quick test is of one's own reward and data, where there are any.
    takes_data = config.training.data_source == "file" or config.experiment_name == "quick_test"
    return [*_additions(config.training, overrides, shared, takes_data), *overrides]


def _additions(
    training: TrainingConfig, overrides: Sequence[str], shared: Mapping[str, Any], takes_data: bool
) -> Iterator[str]:
    from guerdon.train.config.schema import TrainingConfig

    default = TrainingConfig()
    said = {override.partition("=")[0].lstrip("+~") for override in overrides}

    def is_open(key: str) -> bool:
        return f"training.{key}" not in said and getattr(training, key) == getattr(default, key)

    values = {"reward_function": shared.get("reward")}
    columns = dict(shared.get("columns", {}))
    if takes_data:
        values["train_data_dir"] = shared.get("data") if "training.data_source" not in said else None
        values["prompt_column"] = columns.pop("prompt", None)
        values["answer_column"] = columns.pop("answer", None)
        columns.pop("response", None)  # the model writes it
        if is_open("mapping"):
            yield from (f"training.mapping.{name}={_quoted(column)}" for name, column in columns.items())
    yield from (f"training.{k}={_quoted(v)}" for k, v in values.items() if v is not None and is_open(k))


def _quoted(text: str) -> str:
    """Text in Hydra's grammar.

    >>> _quoted("it's")
    "'it\\\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def asks_trust(what: str) -> bool:
    """Ask the user, on a terminal, whether a run from elsewhere may load what it names; without one, no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from guerdon.cli.output import printable

    click.echo(printable(what), err=True)
    return click.confirm("Load it?", err=True)
