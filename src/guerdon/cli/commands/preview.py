"""``guerdon preview``: a few samples with the verdicts of one reward or several, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.data_options import DataFlags, LimitFlags, say_columns
from guerdon.cli.options import POSITIVE, LineSeparated, check_variables, option
from guerdon.cli.reward_options import RewardArgument, find_reward, is_data, refuse_swapped
from guerdon.cli.scoring_run import sample_options
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction
    from guerdon.scoring.results import Scores
    from guerdon.types import Sample


@click.command(short_help="Show a few samples with their scores and reasons.")
@click.argument("rewards", cls=RewardArgument, nargs=-1, metavar="[REWARD]...")
@option(
    "--metrics-folders",
    "folders",
    metavar="NAME=FOLDER",
    type=LineSeparated(),
    multiple=True,
    help="A name and a folder whose main.py defines evaluate. Repeatable; several may follow one flag.",
)
@option("--samples", "source", metavar="DATA", help="The samples: as DATA of guerdon score.")
@option(
    "--max-samples",
    type=POSITIVE,
    default=5,
    show_default=True,
    help="Show at most this many samples.",
)
@sample_options
def preview(
    rewards: tuple[str, ...],
    folders: tuple[str, ...],
    source: str | None,
    max_samples: int,
    parameters: dict[str, Any],
    flags: DataFlags,
    limits: LimitFlags,
) -> None:
    """\b
    guerdon preview my_rewards.py --samples answers.jsonl
    guerdon preview math my_rewards.py::brief --samples answers.csv

    Score the first samples with each REWARD and show prompt, response, scores, metrics and reasons.

    \b
    guerdon preview --metrics-folders "relevance=./metrics/relevance" \\
                    --samples samples.jsonl

    Exits with status 1 if a reward failed on every sample.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.console.working import Working
    from guerdon.scoring.run import score

    check_variables()
    if source is None:
        raise InputError(_without_samples(rewards))
    for word in rewards:
        refuse_swapped(word, source)
    with prints_to_stderr():
        found = _rewards(rewards, folders, parameters)
        for reward in found.values():
            reward.check_ready()
        data = flags.open(source, max_samples, list(found.values()))
        flags.check(data)
        say_columns(data)
        samples = list(data.samples() if flags.skip_bad_rows else data)
        scores = {}
        for name, reward in found.items():
            with Working(f"scoring with {name}"):
                scores[name] = score(reward, samples, **limits.options(), on_error="result")
    _show(samples, scores)
    if any(run.all_failed for run in scores.values()):
        raise SystemExit(1)


def _without_samples(rewards: Sequence[str]) -> str:
    """The sentence for a command line without --samples, with the line that works where the data is named."""
    data = [word for word in rewards if is_data(word)]
    if len(data) != 1:
        return "name the data: --samples answers.jsonl"
    named = [word for word in rewards if word not in data] or ["REWARD"]
    return (
        f"{data[0]} is data, not a reward; write: guerdon preview {shlex.join([*named, '--samples', *data])}"
    )


def _rewards(
    rewards: Sequence[str], folders: Sequence[str], parameters: dict[str, Any]
) -> dict[str, RewardFunction]:
    """The rewards by the name under which each is shown, folders first."""
    # Words with an equals sign stand after one --metrics-folders, as with a parser that takes several.
    further = [word for word in rewards if folders and "=" in word]
    found: dict[str, RewardFunction] = {}
    for text in (*folders, *further):
        name, equals, folder = text.partition("=")
        if not (equals and name.strip() and folder.strip()):
            raise InputError(
                f"--metrics-folders {text!r} is not of the form name=folder, such as "
                "relevance=./metrics/relevance"
            )
        if name.strip() in found:
            raise InputError(f"--metrics-folders gives the name {name.strip()!r} twice")
        found[name.strip()] = find_reward(folder.strip(), parameters).with_name(name.strip())
    plain = [word for word in rewards if word not in further]
    for position, text in enumerate(plain):
        if text in plain[:position]:
            raise InputError(f"{text} is given twice")
        reward = find_reward(text, parameters)
        name = reward.name if reward.name not in found else text
        found[name] = reward.with_name(name)
    if not found:
        raise InputError('nothing to preview; name a reward, or --metrics-folders "name=folder"')
    return found


def _show(samples: Sequence[Sample], scores: dict[str, Scores]) -> None:
    from guerdon.cli.output import output
    from guerdon.console import print_sample, print_statistics
    from guerdon.console.sample import print_all_failed

    console = output()
    for name, run in scores.items():
        print_all_failed(run.all_failed, console, name)
    for index, sample in enumerate(samples):
        print_sample(index, sample, {name: run[index] for name, run in scores.items()}, console)
    for number, (name, run) in enumerate(scores.items()):
        if number:
            console.print()
        print_statistics(run.statistics(), console, f"{name} {run.version}")
