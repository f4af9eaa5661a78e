"""``guerdon train``: a model is trained with a reward, as a composed configuration says."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.commands.train.inspect import inspect
from guerdon.cli.commands.train.plot import plot
from guerdon.cli.commands.train.shared import OverridesArgument, asks_trust, with_shared
from guerdon.cli.completion import complete_overrides
from guerdon.cli.options import Invocation, check_variables, debug_option, option, option_group
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.train.config.project import Project
    from guerdon.train.run.prepare import PreparedRun
    from guerdon.train.run.runner import AllFailedError

CONF = Path(__file__).resolve().parents[3] / "train" / "config" / "conf"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainFlags:
    """What is said of a run beside its configuration."""

    multirun: bool
    cfg: str | None
    config_dir: Path | None
    config_name: str | None
    resume: Path | None
    accept_changes: bool
    trust: bool
    dry_run: bool

    def project(self) -> Project:
        """Where the project's own configuration is."""
        from guerdon.train.config.project import Project

        return Project(folder=self.config_dir, name=self.config_name)


class _RunCommand(click.Command):
    """Its help says the groups and what each option of them is."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Groups"):
            formatter.write_dl(group_options(CONF))


def group_options(folder: Path) -> list[tuple[str, str]]:
    """``model=tiny`` with the first line that its file says of it, for every option in a folder."""
    found = []
    for path in sorted(folder.rglob("*.yaml")):
        said = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
        first = next((line[2:] for line in said if not line.startswith("# @package")), "")
        found.append((f"{path.parent.name}={path.stem}", first))
    return found


class _Train(click.Group):
    """A run, unless the first word is one of the commands on runs that there are."""

    @property
    def alone(self) -> click.Command:
        """The command that it is without one of these."""
        return run

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.commands:
            return super().make_context(info_name, args, parent, **extra)
        if args and (close := difflib.get_close_matches(args[0], self.commands, n=1)):
            raise click.UsageError(f"there is no command {args[0]!r}; did you mean {close[0]}?", parent)
        return run.make_context(info_name, args, parent, **extra)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return run.collect_usage_pieces(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run.format_help_text(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def _flag(*names: str, **attributes: Any) -> Any:
    """An option whose environment variable says that it is of training: GUERDON_TRAIN_RESUME."""
    flag = next(name for name in names if name.startswith("--"))
    variable = f"GUERDON_TRAIN_{flag.lstrip('-').replace('-', '_').upper()}"
    return option(*names, envvar=variable, **attributes)


_flags = option_group(
    TrainFlags,
    "flags",
    [
        _flag(
            "--multirun",
            "-m",
            is_flag=True,
            help="Do a run for each combination of values, such as seed=1,2,3 model=a,b, one after the other.",
        ),
        _flag(
            "--cfg",
            "-c",
            type=click.Choice(["job"]),
            help="Print the configuration without secrets, and stop.",
        ),
        _flag(
            "--config-dir",
            "--config-path",
            type=click.Path(path_type=Path),
            help="The project's own configuration; by default conf/, if it exists.",
        ),
        _flag(
            "--config-name",
            metavar="NAME",
            help="Its main file, composed over the defaults; by default config, if it exists.",
        ),
        _flag(
            "--resume",
            metavar="RUN",
            type=click.Path(path_type=Path),
            help="Continue the run in this folder from its last checkpoint, with its own configuration.",
        ),
        _flag(
            "--accept-changes",
            is_flag=True,
            help="Continue although the reward or the data have changed.",
        ),
        _flag(
            "--trust",
            is_flag=True,
            help="Continue a run that another user or machine has made, with the code that it names.",
        ),
        _flag("--dry-run", is_flag=True, help="Check everything, show the plan, and stop."),
    ],
)


@click.command(cls=_RunCommand, name="train")
@click.argument("overrides", cls=OverridesArgument, nargs=-1, shell_complete=complete_overrides)
@_flags
@debug_option
@click.pass_obj
def run(invocation: Invocation, /, overrides: tuple[str, ...], flags: TrainFlags) -> int:
    """\b
    guerdon train +experiment=arithmetic
    guerdon train training.reward_function=my_rewards.py \\
        training.train_data_dir=problems.jsonl model=huggingface model.path=ID

    Train a language model with a reward.

    OVERRIDES are in Hydra's grammar: key=value, group=option, +experiment=preset. --cfg job shows all keys with
    their values. A project's own conf/ is composed over the groups below: its files add options or replace those
    of the same name.

    \b
    guerdon train 'training.reward_function=[{name: math, weight: 0.8}, format]'
    guerdon train +experiment=quick_test --multirun seed=1,2,3

    The run's folder, runs/DATE by default (run_dir=FOLDER), holds its configuration, metrics, samples and
    checkpoints. Ctrl-C saves a checkpoint; --resume continues from the last one. A run whose reward fails on every
    sample of its first three steps stops. Exits with status 1 after that, or if one of several runs failed; with 2
    after an error before a run starts; and with 130 after Ctrl-C.
    """
    check_variables()
    _refuse_contradictions(flags, overrides)
    if flags.cfg is not None:
        from guerdon.train.config.compose import compose, to_yaml

        complete = with_shared(overrides, invocation.shared, flags.project())
        click.echo(to_yaml(compose(complete, flags.project()), redacted=True), nl=False)
        return 0
    if flags.multirun:
        from guerdon.cli.commands.train.sweep import sweep

        return sweep(overrides, flags.project())
    return _train(overrides, flags, invocation.shared)


@click.group(cls=_Train, short_help="Train a language model with a reward.")
def train() -> None:
    """Train a language model with a reward."""


train.add_command(inspect)
train.add_command(plot)


def _refuse_contradictions(flags: TrainFlags, overrides: Sequence[str]) -> None:
    alone = {"--multirun": flags.multirun, "--cfg": flags.cfg is not None, "--dry-run": flags.dry_run}
    given = [name for name, is_given in alone.items() if is_given]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} exclude each other; give one of them")
    if flags.resume is not None:
        if overrides:
            raise InputError(
                f"--resume continues a run with its own configuration; leave out {overrides[0]}, or start a new run"
            )
        if given and given[0] != "--dry-run":
            raise InputError(f"--resume continues one run; leave out {given[0]}")
    elif flags.accept_changes or flags.trust:
        raise InputError(f"{'--trust' if flags.trust else '--accept-changes'} needs --resume RUN")


def _train(overrides: Sequence[str], flags: TrainFlags, shared: Mapping[str, Any]) -> int:
    """Prepare, show and carry out one run; gives the exit status."""
    from guerdon.cli.exit_codes import INTERRUPTED
    from guerdon.cli.output import prints_to_stderr
    from guerdon.console.working import Working
    from guerdon.train.backend import TrainingInterrupted
    from guerdon.train.config.compose import compose
    from guerdon.train.run.prepare import prepare, prepare_resume
    from guerdon.train.run.runner import AllFailedError, execute

    with prints_to_stderr():
        if flags.resume is not None:
            with Working(f"checking {flags.resume}"):
                trust = flags.trust or asks_trust
                prepared = prepare_resume(flags.resume, accept_changes=flags.accept_changes, trust=trust)
        else:
            with Working("checking the configuration, the reward and the data"):
                complete = with_shared(overrides, shared, flags.project())
                prepared = prepare(compose(complete, flags.project()))
        _show(prepared)
        if flags.dry_run:
            prepared.discard()
            return 0
        folder = prepared.folder.path
        try:
            execute(prepared)
        except TrainingInterrupted as interrupt:
            _say_interrupted(folder, f"after step {interrupt.step:,}; it is saved")
            return INTERRUPTED
        except AllFailedError as error:
            _say_all_failed(prepared, error)
            return 1
        except KeyboardInterrupt:
            saved = prepared.folder.saved()
            kept = (
                f"the last checkpoint is that of step {saved[-1][0]:,}"
                if saved
                else "there is no checkpoint yet"
            )
            _say_interrupted(folder, f"before a checkpoint was saved; {kept}")
            return INTERRUPTED
    click.echo(f"finished: {folder}", err=True)
    return 0


def _show(prepared: PreparedRun) -> None:
    lines = prepared.summary()
    width = max(len(name) for name, _ in lines)
    for name, what in lines:
        click.echo(f"{name:<{width}}  {what}", err=True)


def _say_all_failed(prepared: PreparedRun, error: AllFailedError) -> None:
    from guerdon.cli.output import printable

    # A reward that was mended is another one, which matters once there is a checkpoint.
    accept = ["--accept-changes"] if prepared.folder.saved() else []
    again = shlex.join(["guerdon", "train", "--resume", str(prepared.folder.path), *accept])
    click.echo(f"Error: {printable(str(error))}", err=True)
    click.echo(f"The run is stopped and kept; once the reward works, continue with: {again}", err=True)


def _say_interrupted(folder: Path, how: str) -> None:
    again = shlex.join(["guerdon", "train", "--resume", str(folder)])
    click.echo(f"Interrupted {how}; continue with: {again}", err=True)
