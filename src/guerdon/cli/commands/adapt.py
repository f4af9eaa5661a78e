"""``guerdon adapt``: what a trainer needs to use a reward, a module and the lines of its configuration."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_trainers
from guerdon.cli.options import check_variables, option
from guerdon.cli.reward_options import RewardArgument, find_reward, parse_value, reward_options, reward_path
from guerdon.errors import InputError, MissingExtraError, RemoteError

if TYPE_CHECKING:
    from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer

_RUN_OPTIONS = ("on_failure", "timeout", "workers", "components")


@click.command(short_help="Write what a trainer needs to use a reward.")
@click.argument("reward", cls=RewardArgument, required=False)
@option(
    "--for", "trainer", metavar="TRAINER", shell_complete=complete_trainers, help="The trainer; see --list."
)
@option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the module into this folder; without it the module is printed.",
)
@option("--overwrite", is_flag=True, help="Replace a file that exists.")
@option(
    "--on-failure",
    metavar="POLICY",
    help="What becomes of a failed sample: raise, skip or a number; the default depends on the trainer.",
)
@option(
    "--components",
    metavar="NAMES",
    help="The component names, separated by commas, if the reward is not a composition and the trainer needs "
    "the same names for every sample.",
)
@option("--list", "listed", is_flag=True, help="List the trainers.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@reward_options
def adapt(
    reward: str | None,
    trainer: str | None,
    output: Path | None,
    overwrite: bool,
    listed: bool,
    as_json: bool,
    parameters: dict[str, Any],
    **given: Any,
) -> None:
    """\b
    guerdon adapt math --for verl
    guerdon adapt my_rewards.py::brief --for trl -o .

    Show how to use REWARD in a trainer: the module that the trainer imports, if it needs one, and the lines of
    its configuration.

    """
    from guerdon.trainers.registry import SetupRequest, find_trainer, trainers

    check_variables()
    if listed:
        _list(trainers(), as_json)
        return
    if reward is None or trainer is None:
        raise InputError(
            "name a reward and a trainer: guerdon adapt math --for trl (--list shows the trainers)"
        )
    found = find_trainer(trainer)
    spec = reward_path(reward)
    request = SetupRequest(
        spec=spec,
        reward=find_reward(spec, parameters),
        parameters=parameters,
        options=_options(given),
        directory=output or Path(),
    )
    _refuse_what_it_refuses(found, request)
    _show(found, found.setup_guide(request), output, overwrite, as_json)


def _refuse_what_it_refuses(trainer: Trainer, request: SetupRequest) -> None:
    """Raise what the written module would raise where it is imported, but for what another machine may have."""
    with contextlib.suppress(MissingExtraError, RemoteError):
        trainer.make(request.reward, **request.options)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The adapter's options among the flags."""
    options = {name: given[name] for name in _RUN_OPTIONS if given[name] is not None}
    if (policy := options.get("on_failure")) is not None and policy not in ("raise", "skip"):
        number = parse_value(policy)
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise InputError(f"--on-failure is raise, skip or a number, not {policy!r}")
        options["on_failure"] = float(number)
    if (names := options.get("components")) is not None:
        options["components"] = [name.strip() for name in names.split(",") if name.strip()]
    return options


def _list(found: Mapping[str, Trainer], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({name: trainer.title for name, trainer in found.items()}))
        return
    width = max(map(len, found))
    for name, trainer in found.items():
        click.echo(f"{name:<{width}}  {trainer.title}")


def _show(trainer: Trainer, guide: SetupGuide, output: Path | None, overwrite: bool, as_json: bool) -> None:
    written = [] if output is None else _write(guide.files, output, overwrite)
    if as_json:
        shown = {"files": dict(guide.files), "lines": guide.lines, "note": guide.note, "page": trainer.page}
        click.echo(json.dumps({"trainer": trainer.name, **shown, "written": [str(path) for path in written]}))
        return
    for path in written:
        click.echo(f"wrote {path}\n")
    for name, text in {} if written else guide.files.items():
        click.echo(f"# {name}\n{text.rstrip()}\n")
    click.echo(f"{guide.lines.rstrip()}\n")
    if guide.note:
        click.echo(guide.note)
    click.echo(f"Options and traps: {trainer.page}")


def _write(files: Mapping[str, str], folder: Path, overwrite: bool) -> list[Path]:
    """Write the files, all or none where one of them is there already."""
    paths = {folder / name: text for name, text in files.items()}
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise InputError(f"{there[0]} exists already; --overwrite replaces it, and -o names another folder")
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None
    return list(paths)
