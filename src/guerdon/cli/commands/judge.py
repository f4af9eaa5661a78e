"""``guerdon judge``: how far a judge agrees with people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_files
from guerdon.cli.data_options import DataFlags, say_columns
from guerdon.cli.options import debug_option, option
from guerdon.cli.reward_options import find_reward, reward_argument
from guerdon.cli.scoring_run import (
    CountedRows,
    ScoringJob,
    ScoringRequest,
    say_all_failed,
    scoring_options,
    threshold_option,
)
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.accuracy.calibration import Calibration, Labels
    from guerdon.data.dataset import Dataset
    from guerdon.scoring.results import Scores


@click.group(invoke_without_command=True, short_help="Measure how far a judge agrees with people.")
@debug_option
@click.pass_context
def judge(context: click.Context) -> None:
    """\b
    guerdon judge calibrate judge pairs.jsonl --param model=qwen3-8b
    guerdon judge calibrate my_rewards.py labelled.csv --label correct

    Measure how far a judge, or any other reward, agrees with people's labels."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@judge.command(short_help="Compare a judge's scores with labels.")
@reward_argument
@click.argument("data", shell_complete=complete_files)
@option(
    "--label", metavar="COLUMN", default="label", show_default=True, help="The column that holds the labels."
)
@threshold_option("The score from which an answer counts as right.")
@option("--report", metavar="FILE", help="Write the report to a JSON file.")
@scoring_options
@click.pass_context
def calibrate(
    context: click.Context, /, request: ScoringRequest, label: str, threshold: float, report: str | None
) -> None:
    """\b
    guerdon judge calibrate my_rewards.py labelled.csv --label correct
    guerdon judge calibrate judge pairs.jsonl --param kind=pairwise

    Score the rows of DATA with REWARD, and compare the scores with the labels of the rows.

    For labels that say right or wrong (true, false, 1, 0, pass, fail) the report has accuracy, precision and recall
    at the threshold, Cohen's kappa, and the best threshold; for labels that are numbers, Spearman's rank
    correlation. Rows with the columns response_a and response_b are pairs with the labels A, B or tie: a pairwise
    judge (--param kind=pairwise) compares them in both orders, any other reward scores each response.

    Exits with status 1 if every sample failed, with 2 after an error before the first sample was scored, and with
    130 after Ctrl-C; the output file keeps what was scored until then.
    """
    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.report.calibration import print_calibration

    with prints_to_stderr():
        run = _prepare(request, label, report)
        scores = run.job.score()
    if run.job.interrupted:
        raise SystemExit(run.job.say_interrupted(context, len(scores)))
    found = run.calibration(scores, threshold)
    payload = {
        "reward": scores.reward,
        "version": scores.version,
        "parameters": dict(scores.provenance.parameters),
        "data": run.data.name,
        "label": label,
        "all_failed": scores.all_failed,
        **found.to_dict(),
    }
    say_all_failed(scores.all_failed)
    if report is not None:
        Path(report).write_text(json.dumps(payload, indent=2, default=str) + "\n", encoding="utf-8")
    if request.as_json:
        click.echo(json.dumps(payload, default=str, allow_nan=False))
    else:
        print_calibration(payload, output(), f"{scores.reward} {scores.version} on {run.data.name}")
    if found.failures and found.failures.total() == found.rows:
        raise SystemExit(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationRun:
    """A scoring job with the labels that its scores are compared with."""

    job: ScoringJob
    data: Dataset
    labels: Labels
    rows_per_label: int

    def calibration(self, scores: Scores, threshold: float) -> Calibration:
        """The scores beside the labels."""
        from guerdon.accuracy.calibration import Calibration, pair_score

        found = Calibration(self.labels.shape, threshold)
        results, pairs = iter(scores), self.labels.shape == "pairs"
        for label in self.labels.values:
            mine = [next(results) for _ in range(self.rows_per_label)]
            found.add(label, pair_score(mine) if pairs else mine[0].score, mine)
        return found


def _prepare(request: ScoringRequest, column: str, report: str | None) -> CalibrationRun:
    """Check the request, the quickest checks first."""
    from guerdon.accuracy.calibration import pair_rows, read_labels

    request.check()
    if request.flags.skip_bad_rows:
        raise InputError("--skip-bad-rows: a calibration leaves no rows out; fix the malformed rows")
    reward = find_reward(request.reward, request.parameters)
    _check_report(report, request)
    reward.check_ready()
    flags, pairs = _flags(request, column)
    data = flags.open(request.data, request.limit, [reward], [column])
    request.check_output(data)
    flags.check(data)
    labels = read_labels(data.rows(), column, pairs=pairs)
    compares = reward.parameters.get("kind") == "pairwise"
    if pairs:
        for row in data.rows():
            pair_rows(row, compares=compares)
    per_label = 2 if pairs and not compares else 1
    rows = CountedRows(
        per_label * len(labels.values), lambda: _rows(data, column, pairs=pairs, compares=compares)
    )
    say_columns(data)
    job = ScoringJob(request=request, reward=reward, rows=rows, title="judging", on_error="result")
    return CalibrationRun(job=job, data=data, labels=labels, rows_per_label=per_label)


def _rows(data: Dataset, column: str, *, pairs: bool, compares: bool) -> Iterator[Mapping[str, Any]]:
    """The rows as they are scored: without their labels, a pair as its comparisons or its two answers."""
    from guerdon.accuracy.calibration import pair_rows, without_label

    for row in data.rows():
        plain = without_label(row, column)
        yield from pair_rows(plain, compares=compares) if pairs else (plain,)


def _check_report(report: str | None, request: ScoringRequest) -> None:
    if report is None:
        return
    path = Path(report)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"--report {report} is not a file that can be written")
    if request.output is not None and path.resolve() == Path(request.output).resolve():
        raise InputError("--report and --output name the same file; give each its own")
    if path.exists() and not (request.overwrite or request.resume):
        raise InputError(f"{report} exists already; replace it with --overwrite")


def _flags(request: ScoringRequest, label: str) -> tuple[DataFlags, bool]:
    """The flags to read the data by, and whether it holds pairs: a prompt, response_a and response_b."""
    flags = request.flags
    if flags.response_column is not None:
        return flags, False
    paired = replace(flags, response_column="response_a")
    try:
        row = next(iter(paired.open(request.data, 1, [], [label]).rows()))
    except InputError:  # no such columns: whatever is wrong is said of the rows as they are
        return flags, False
    nested = row.get("metadata")
    names = {*row, *(nested if isinstance(nested, Mapping) else ())}
    return (paired, True) if "response_b" in names else (flags, False)
