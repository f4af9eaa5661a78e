"""``guerdon score``: a reward over a data set, into a file and a summary."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_files
from guerdon.cli.data_options import DataFlags, say_columns
from guerdon.cli.options import option
from guerdon.cli.reward_options import find_reward, reward_argument
from guerdon.cli.scoring_run import CountedRows, ScoringJob, ScoringRequest, say_all_failed, scoring_options
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.data.dataset import Dataset, Survey
    from guerdon.scoring.results import Scores

FAILURES_IN_JSON = 20
_PEEK = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class _ScoreRun:
    """A scoring job with the data set that it reads."""

    job: ScoringJob
    data: Dataset
    survey: Survey
    rejected: Path | None
    """Where malformed rows are written that are left out."""


@click.command(short_help="Score a data set: one row per sample, and statistics.")
@reward_argument
@click.argument("data", shell_complete=complete_files)
@scoring_options
@option(
    "--group-by",
    metavar="COLUMN",
    help="For the statistics, the column that groups samples of the same prompt; "
    "by default group_id or group, else equal prompts.",
)
@click.pass_context
def score(context: click.Context, /, request: ScoringRequest, group_by: str | None) -> None:
    """\b
    guerdon score math answers.jsonl
    guerdon score my_rewards.py::brief answers.csv -o scores.jsonl

    Score every row of DATA with REWARD, and show statistics of the scores.

    DATA is a file (JSON Lines, JSON, CSV, TSV, Parquet, Arrow or a log of Inspect), a folder of such files, the
    id of a Hugging Face dataset, or - for standard input. Its columns are found by their names, such as question,
    completion and answer, and a line says which; options name others. All rows are checked before the first is
    scored.

    Exits with status 1 if every sample failed, which the report says first; with 2 after an error before the first
    sample was scored; and with 130 after Ctrl-C; the output file keeps what was scored until then.
    """
    from guerdon.cli.output import prints_to_stderr

    stdout = sys.stdout if request.to_stdout else None
    with prints_to_stderr():
        run = _prepare(request, group_by)
        run.job.stdout = stdout
        scores = run.job.score()
    _report(run, scores)
    if run.job.interrupted:
        raise SystemExit(run.job.say_interrupted(context, len(scores)))
    if scores.all_failed is not None:
        raise SystemExit(1)


def _prepare(request: ScoringRequest, group_by: str | None) -> _ScoreRun:
    """Check the request, the quickest checks first."""
    request.check()
    reward = find_reward(request.reward, request.parameters)
    reward.check_ready()
    data = request.flags.open(request.data, request.limit, [reward])
    request.check_output(data)
    rejected = _rejected_file(request) if request.flags.skip_bad_rows else None
    survey = request.flags.check(data)
    if group_by is not None:
        _check_group(group_by, request.flags, data)
    say_columns(data)
    read = partial(data.good_rows, rejected=rejected) if rejected is not None else data.rows
    job = ScoringJob(request=request, reward=reward, rows=CountedRows(survey.good, read), group_by=group_by)
    return _ScoreRun(job=job, data=data, survey=survey, rejected=rejected)


def _rejected_file(request: ScoringRequest) -> Path:
    """Beside the scores, else in the working directory under the name of the data."""
    from guerdon.data.source import REJECTED

    if request.output is not None and not request.to_stdout:
        path = Path(request.output)
        return path.with_name(path.stem + REJECTED)
    return Path((Path(request.data).name.partition(".")[0] or "rows") + REJECTED)


def _check_group(column: str, flags: DataFlags, data: Dataset) -> None:
    from guerdon.data.paths import may_hold, unknown_column

    names: dict[str, None] = {}
    for row in itertools.islice(data.good_rows(), _PEEK):
        names.update(dict.fromkeys(map(str, row)))
        if isinstance(nested := row.get("metadata"), Mapping):
            names.update(dict.fromkeys(map(str, nested)))
    if may_hold(names, column):
        return
    columns = flags.columns()
    if column in (columns.prompt, columns.response, columns.answer, *columns.rename.values()):
        raise InputError(
            f"--group-by {column}: that column is mapped to another name; keep its own name as well: "
            f"--map {column}={column}"
        )
    if column != "prompt":
        raise InputError(f"--group-by: {unknown_column(column, names)}")


# After the run.


def _report(run: _ScoreRun, scores: Scores) -> None:
    if run.job.request.as_json:
        say_all_failed(scores.all_failed)
        click.echo(json.dumps(_summary(run, scores), default=str, allow_nan=False))
    elif not run.job.interrupted or run.job.request.output in (None, "-"):
        _print_summary(run, scores)


def _summary(run: _ScoreRun, scores: Scores) -> dict[str, Any]:
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
        "output": run.job.request.output,
        "all_failed": scores.all_failed,
        "complete": not run.job.interrupted,
        "resumed": run.job.resumed,
        "rejected": run.survey.bad,
        "rejected_file": str(run.rejected) if run.survey.bad else None,
        "run_seconds": round(scores.seconds, 6),
        "findings": statistics.pop("findings"),
        "failures": failures,
        "statistics": statistics,
    }


def _print_summary(run: _ScoreRun, scores: Scores) -> None:
    from guerdon.cli.output import output
    from guerdon.console.scores import pace, print_scores

    console = output(stderr=run.job.request.to_stdout)
    print_scores(scores, console)
    done = len(scores) - run.job.resumed
    said = f"\n{pace(done, scores.seconds, ascii_only=console.options.ascii_only)}"
    if run.job.resumed:
        said += f"; {run.job.resumed:,} were scored before"
    if run.survey.bad:
        rows = "row" if run.survey.bad == 1 else "rows"
        said += f"; {run.survey.bad:,} malformed {rows} left out, see {run.rejected}"
    if scores.path is not None:
        said += f"\nscores in {scores.path}"
    click.echo(said, err=True)
