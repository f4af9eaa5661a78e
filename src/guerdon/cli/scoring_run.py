"""A scoring job of a command: its options, its checks, the run with its progress, and how an interrupted one ends."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from guerdon.cli.data_options import DataFlags, LimitFlags, data_options, limit_options
from guerdon.cli.exit_codes import INTERRUPTED
from guerdon.cli.options import (
    POSITIVE,
    Decorator,
    Invocation,
    ParsedValue,
    check_variables,
    combined,
    debug_option,
    option,
    option_group,
)
from guerdon.cli.reward_options import parameter_option, refuse_swapped
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.cli.output import ProgressBar
    from guerdon.data.dataset import Dataset
    from guerdon.reward.function import RewardFunction
    from guerdon.scoring.progress import Progress
    from guerdon.scoring.results import Scores


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoringRequest:
    """What the command line asks for."""

    reward: str
    data: str
    output: str | None
    resume: bool
    overwrite: bool
    limit: int | None
    parameters: Mapping[str, Any]
    no_text: bool
    as_json: bool
    flags: DataFlags
    limits: LimitFlags

    def check(self) -> None:
        """Raises InputError for flags that contradict each other."""
        check_variables()
        refuse_swapped(self.reward, self.data)
        if self.resume and self.overwrite:
            raise InputError("--resume completes a file and --overwrite replaces it; give one of them")
        if (self.resume or self.overwrite) and self.output is None:
            flag = "--resume" if self.resume else "--overwrite"
            raise InputError(f"{flag} needs the file: -o scores.jsonl")
        if self.to_stdout and (self.as_json or self.resume or self.overwrite):
            flag = "--json" if self.as_json else "--resume" if self.resume else "--overwrite"
            raise InputError(f"-o - writes rows to standard output; {flag} needs a file: -o scores.jsonl")

    @property
    def to_stdout(self) -> bool:
        """Whether the rows go to standard output."""
        return self.output == "-"

    def check_output(self, data: Dataset) -> None:
        """Raises InputError for an output file that would be refused once the data, perhaps much, are read."""
        from guerdon.scoring.files import check_suffix

        if self.output is None or self.to_stdout:
            return
        path, source = Path(self.output), Path(self.data)
        check_suffix(path)
        if data.reads(path):
            raise InputError(f"{path} is read from; write the scores to another file")
        if source.is_dir() and source.resolve() in path.resolve().parents:
            raise InputError(f"{path} lies in {source}, all of which is read; write the scores elsewhere")
        if path.is_dir():
            raise InputError(
                f"{path} is a folder; scores are written to a file such as {path / 'scores.jsonl'}"
            )
        exists = path.exists() and path.stat().st_size
        if exists and not (self.resume or self.overwrite):
            raise InputError(
                f"{path} exists already; complete it with --resume or start again with --overwrite"
            )


sample_options = combined(parameter_option, data_options, limit_options, debug_option)
"""``parameters``, ``flags`` and ``limits``: what a command takes that scores the rows of a data set."""

scoring_options = combined(
    option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write one row per sample to a .jsonl, .csv, .tsv or .parquet file; - writes JSON Lines to standard "
        "output, and the summary to standard error.",
    ),
    option("--no-text", is_flag=True, help="Leave prompts, responses and ground truths out of the rows."),
    option("--resume", is_flag=True, help="Complete the file of scores that an interrupted run left."),
    option("--overwrite", is_flag=True, help="Replace files that exist."),
    option("--limit", type=POSITIVE, help="Read at most this many rows."),
    option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary."),
    sample_options,
    option_group(ScoringRequest, "request", []),
)
"""All options of a ScoringRequest, which the command gets as ``request``."""


def parse_number(value: str | float) -> float:
    """A finite number, also from text.

    >>> parse_number("0.5")
    0.5
    """
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InputError(f"{value!r} is not a number such as 0.5")
    return number


def threshold_option(help: str) -> Decorator:
    """``threshold``: the score from which on an answer counts as right."""
    return option(
        "--threshold", type=ParsedValue(parse_number, "number"), default="0.5", show_default=True, help=help
    )


def say_all_failed(line: str | None) -> None:
    """On standard error, that every sample failed; for output whose head is not the place for it."""
    from guerdon.cli.output import printable

    if line is not None:
        click.echo(f"Error: {printable(line)}", err=True)


class CountedRows:
    """Rows that are read anew each time and whose number is known."""

    def __init__(self, count: int, read: Callable[[], Iterator[Mapping[str, Any]]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._read()


@dataclass(kw_only=True, slots=True)
class ScoringJob:
    """A request whose reward and rows are there and fit together."""

    request: ScoringRequest
    reward: RewardFunction
    rows: CountedRows
    title: str = "scoring"
    group_by: str | None = None
    on_error: str | None = None
    """As ``guerdon.score`` has it."""
    stdout: IO[str] | None = None
    """Standard output, where the rows go there."""
    resumed: int = 0
    """Samples that an earlier run had scored."""
    interrupted: bool = False
    """Whether Ctrl-C ended the run."""

    def score(self) -> Scores:
        """Score all rows and show the progress; after Ctrl-C, the scores until then."""
        from guerdon.cli.output import ProgressBar
        from guerdon.scoring.run import Interrupted
        from guerdon.scoring.run import score as score_all

        request = self.request
        # Shown from the start: the workers may take a while to load the reward.
        with ProgressBar(self.title, patience=0.0) as bar:
            bar.count(0, len(self.rows), "" if request.limits.workers == 0 else "starting workers")
            try:
                return score_all(
                    self.reward,
                    self.rows,
                    **request.limits.options(),
                    group_by=self.group_by,
                    on_error=self.on_error,
                    output=request.output if self.stdout is None else self.stdout,
                    text=not request.no_text,
                    resume=request.resume,
                    overwrite=request.overwrite,
                    progress=partial(self._show, bar),
                )
            except Interrupted as interrupt:
                self.interrupted = True
                return interrupt.scores

    def _show(self, bar: ProgressBar, progress: Progress) -> None:
        from guerdon.console.job_progress import show_scoring

        self.resumed = progress.resumed
        show_scoring(bar, progress)

    def say_interrupted(self, context: click.Context, done: int) -> int:
        """Say how many samples are scored and how to continue; gives the exit status."""
        said = f"Interrupted: {done:,} of {len(self.rows):,} samples are scored"
        if self.request.output is None or self.request.to_stdout:
            said += "; with -o FILE they are kept, and --resume continues from there"
        else:
            args = context.ensure_object(Invocation).args
            again = [arg for arg in args if arg not in ("--overwrite", "--resume")]
            said += f" and kept; continue with: guerdon {shlex.join([*again, '--resume'])}"
        click.echo(said, err=True)
        return INTERRUPTED
