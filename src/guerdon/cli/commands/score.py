"""``guerdon score``: a reward over a data set, into a file and a summary."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.options import (
    POSITIVE,
    DataFlags,
    Invocation,
    LimitFlags,
    check_variables,
    data_options,
    debug_option,
    find_reward,
    limit_options,
    option,
    parameter_option,
)
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.cli.output import ProgressBar
    from guerdon.data.dataset import Dataset, Survey
    from guerdon.reward.function import RewardFunction
    from guerdon.scoring.results import Progress, Scores

FAILURES_READ = 1000
FAILURES_IN_JSON = 20
_PEEK = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoringRequest:
    """What the command line asks for."""

    reward: str
    data: str
    output: str | None
    resume: bool
    overwrite: bool
    limit: int | None
    group_by: str | None
    parameters: Mapping[str, Any]
    as_json: bool
    flags: DataFlags
    limits: LimitFlags


@click.command(short_help="Score a data set: a row a sample, and statistics.")
@click.argument("reward")
@click.argument("data")
@option("-o", "--output", metavar="FILE", help="Write a row a sample to a .jsonl or .parquet file.")
@option("--resume", is_flag=True, help="Complete the file that an interrupted run left.")
@option("--overwrite", is_flag=True, help="Replace the file.")
@parameter_option
@option("--limit", type=POSITIVE, help="Read that many rows at most.")
@option(
    "--group-by",
    metavar="COLUMN",
    help="The column that tells which samples answer the same prompt, for the statistics; "
    "by default group_id or group.",
)
@option("--json", "as_json", is_flag=True, help="Print one JSON object in place of the summary.")
@data_options
@limit_options
@debug_option
@click.pass_context
def score(context: click.Context, /, **given: Any) -> None:
    """Score every row of DATA with REWARD, and show statistics of the scores.

    DATA is a file (JSON Lines, JSON, CSV, Parquet or Arrow), a folder of these, the id of a Hugging Face
    dataset, or - for standard input. Rows are in chat form, with a column messages, or their columns are
    mapped. All rows are checked before the first is scored.

    Exits with status 1 if every sample failed, 2 if something was wrong before the first was scored, and
    130 after Ctrl-C; what was scored until then stays in the output file.
    """
    request = ScoringRequest(**given)
    from guerdon.cli.output import prints_to_stderr

    with prints_to_stderr():
        run = _prepared(request)
        scores = run.score()
    _report(run, scores)
    if run.interrupted:
        raise SystemExit(say_interrupted(context, request, len(scores), run.survey.good))
    statistics = scores.statistics()
    if statistics.failed and not statistics.scored:
        raise SystemExit(1)


@dataclass(slots=True)
class ScoringRun:
    """A request whose reward, data and output file are there and fit together."""

    request: ScoringRequest
    reward: RewardFunction
    data: Dataset
    survey: Survey
    rejected: Path | None
    resumed: int = 0
    interrupted: bool = False

    def score(self) -> Scores:
        """Score what there is; Ctrl-C ends it early, and the scores are those until then."""
        from guerdon.cli.output import ProgressBar
        from guerdon.scoring.run import Interrupted
        from guerdon.scoring.run import score as score_all

        request = self.request
        # Shown from the start: the workers may take a while to load the reward.
        with ProgressBar("scoring", patience=0.0) as bar:
            bar.count(0, self.survey.good)
            try:
                return score_all(
                    self.reward,
                    Counted(self.survey.good, self._rows),
                    **request.limits.options(),
                    group_by=request.group_by,
                    output=request.output,
                    resume=request.resume,
                    overwrite=request.overwrite,
                    progress=partial(self._show, bar),
                )
            except Interrupted as interrupt:
                self.interrupted = True
                return interrupt.scores

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        if self.request.flags.skip_bad_rows:
            return self.data.good_rows(rejected=self.rejected)
        return self.data.rows()

    def _show(self, bar: ProgressBar, progress: Progress) -> None:
        self.resumed = progress.resumed
        notes = [] if progress.mean is None else [f"mean {progress.mean:.3f}"]
        notes += [f"{progress.failed:,} failed"] if progress.failed else []
        bar.count(progress.done, self.survey.good, "  ".join(notes), before=progress.resumed)


class Counted:
    """Rows that are read anew each time and whose number is known."""

    def __init__(self, count: int, read: Callable[[], Iterator[Mapping[str, Any]]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._read()


def _prepared(request: ScoringRequest) -> ScoringRun:
    """Everything that can be wrong with a request, the quickest to find first."""
    check_flags(request)
    reward = find_reward(request.reward, request.parameters)
    data = request.flags.open(request.data, request.limit)
    if request.output is not None:
        check_output(Path(request.output), request, data)
    rejected = _rejected_file(request) if request.flags.skip_bad_rows else None
    survey = request.flags.check(data)
    if request.group_by is not None:
        _check_group(request.group_by, request.flags, data)
    return ScoringRun(request, reward, data, survey, rejected)


def check_flags(request: ScoringRequest) -> None:
    check_variables()
    if request.resume and request.overwrite:
        raise InputError("--resume completes a file and --overwrite replaces it; give one of them")
    if (request.resume or request.overwrite) and request.output is None:
        flag = "--resume" if request.resume else "--overwrite"
        raise InputError(f"{flag} needs the file: -o scores.jsonl")


def check_output(path: Path, request: ScoringRequest, data: Dataset) -> None:
    """Before the data is read, which may take long, what would be refused after it."""
    from guerdon.scoring.files import check_suffix

    check_suffix(path)
    source = Path(request.data)
    if data.reads(path):
        raise InputError(f"{path} is read from; write the scores to another file")
    if source.is_dir() and source.resolve() in path.resolve().parents:
        raise InputError(f"{path} lies in {source}, all of which is read; write the scores elsewhere")
    if path.is_dir():
        raise InputError(f"{path} is a folder; scores are written to a .jsonl or a .parquet file")
    there = path.exists() and path.stat().st_size
    if there and not (request.resume or request.overwrite):
        raise InputError(f"{path} exists already; complete it with --resume or start anew with --overwrite")


def _rejected_file(request: ScoringRequest) -> Path:
    """Beside the scores, else in the working directory under the name of the data."""
    from guerdon.data.source import REJECTED

    if request.output is not None:
        path = Path(request.output)
        return path.with_name(path.stem + REJECTED)
    return Path((Path(request.data).name.partition(".")[0] or "rows") + REJECTED)


def _check_group(column: str, flags: DataFlags, data: Dataset) -> None:
    names: dict[str, None] = {}
    for row in itertools.islice(data.good_rows(), _PEEK):
        names.update(dict.fromkeys(map(str, row)))
        if isinstance(nested := row.get("metadata"), Mapping):
            names.update(dict.fromkeys(map(str, nested)))
    if column in names:
        return
    columns = flags.columns()
    if column in (columns.prompt, columns.response, columns.answer, *columns.rename.values()):
        raise InputError(
            f"--group-by {column}: that column was given another name; keep this one as well: "
            f"--map {column}={column}"
        )
    raise InputError(f"--group-by {column}: there is no such column; the columns are: {', '.join(names)}")


# After the run.


def _report(run: ScoringRun, scores: Scores) -> None:
    if run.request.as_json:
        click.echo(json.dumps(_summary(run, scores), default=str, allow_nan=False))
    elif not run.interrupted or run.request.output is None:
        _print_summary(run, scores)


def _summary(run: ScoringRun, scores: Scores) -> dict[str, Any]:
    """The run for machines."""
    statistics = scores.statistics().to_dict()
    failures = [
        {"id": identity, "kind": result.error_kind, "error": result.error}
        for identity, result in itertools.islice(scores.failures(), FAILURES_IN_JSON)
    ]
    return {
        "reward": scores.reward,
        "version": scores.version,
        "parameters": dict(scores.provenance.parameters),
        "data": run.data.name,
        "output": run.request.output,
        "complete": not run.interrupted,
        "resumed": run.resumed,
        "rejected": run.survey.bad,
        "rejected_file": str(run.rejected) if run.survey.bad else None,
        "run_seconds": round(scores.seconds, 6),
        "findings": statistics.pop("findings"),
        "failures": failures,
        "statistics": statistics,
    }


def _print_summary(run: ScoringRun, scores: Scores) -> None:
    from guerdon.cli.output import output
    from guerdon.console import duration, print_failures, print_statistics

    console = output()
    statistics = scores.statistics()
    print_statistics(statistics, console, f"{scores.reward} {scores.version}")
    if statistics.failed:
        console.print()
        failures = itertools.islice(scores.failures(), FAILURES_READ)
        print_failures(list(failures), statistics.failed, console)
    done = len(scores) - run.resumed
    ascii_only = console.options.ascii_only
    said = f"\n{done:,} {_samples(done)} in {duration(scores.seconds, ascii_only=ascii_only)}"
    if scores.seconds > 0 and done:
        said += f", {done / scores.seconds:,.0f}/s"
    if run.resumed:
        said += f"; {run.resumed:,} had been scored before"
    if run.survey.bad:
        rows = "row" if run.survey.bad == 1 else "rows"
        said += f"; {run.survey.bad:,} malformed {rows} left out, see {run.rejected}"
    if scores.path is not None:
        said += f"\nscores in {scores.path}"
    click.echo(said, err=True)


def _samples(count: int) -> str:
    return "sample" if count == 1 else "samples"


def say_interrupted(context: click.Context, request: ScoringRequest, done: int, of: int) -> int:
    """How many of how many were scored and how to go on; gives the exit status."""
    from guerdon.cli.app import INTERRUPTED

    said = f"Interrupted: {done:,} of {of:,} samples are scored"
    if request.output is None:
        said += "; with -o FILE they would be kept, and --resume would go on from there"
    else:
        invocation = context.ensure_object(Invocation)
        again = [arg for arg in invocation.args if arg not in ("--overwrite", "--resume")]
        said += f" and kept; go on with: guerdon {shlex.join([*again, '--resume'])}"
    click.echo(said, err=True)
    return INTERRUPTED
