"""``guerdon judge``: how far a judge agrees with people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.commands.score import Counted, ScoringRequest, check_flags, check_output, say_interrupted
from guerdon.cli.options import (
    POSITIVE,
    DataFlags,
    ParsedValue,
    data_options,
    debug_option,
    find_reward,
    limit_options,
    option,
    parameter_option,
)
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.accuracy.calibration import Calibration, Labels
    from guerdon.cli.output import ProgressBar
    from guerdon.data.dataset import Dataset
    from guerdon.reward.function import RewardFunction
    from guerdon.scoring.results import Progress, Scores


def parse_threshold(value: str | float) -> float:
    """A finite number, also from text.

    >>> parse_threshold("0.75")
    0.75
    """
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InputError(f"{value!r} is no threshold; give a number such as 0.5")
    return number


@click.group(invoke_without_command=True, short_help="See how far a judge agrees with people.")
@debug_option
@click.pass_context
def judge(context: click.Context) -> None:
    """See how far a judge, or any other reward, agrees with people's labels."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@judge.command(short_help="Compare a judge's scores with labels.")
@click.argument("reward")
@click.argument("data")
@option(
    "--label", metavar="COLUMN", default="label", show_default=True, help="The column that holds the labels."
)
@option(
    "--threshold",
    type=ParsedValue(parse_threshold, "number"),
    default="0.5",
    show_default=True,
    help="The score from which on an answer counts as right.",
)
@option("--report", metavar="FILE", help="Write the report to a JSON file.")
@option("-o", "--output", metavar="FILE", help="Write a row a sample to a .jsonl or .parquet file.")
@option("--resume", is_flag=True, help="Complete the file of scores that an interrupted run left.")
@option("--overwrite", is_flag=True, help="Replace the files.")
@parameter_option
@option("--limit", type=POSITIVE, help="Read that many rows at most.")
@option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@data_options
@limit_options
@debug_option
@click.pass_context
def calibrate(context: click.Context, /, **given: Any) -> None:
    """Score the rows of DATA with REWARD and compare with the labels that they carry.

    A label says right or wrong (true, false, 1, 0, pass, fail): then accuracy, precision and recall at the
    threshold are shown, Cohen's kappa, and the threshold that fits best. Or it is a number: then Spearman's
    rank correlation. Rows with the columns response_a and response_b are pairs, whose label says A, B or tie:
    a pairwise judge (--param kind=pairwise) compares them in both orders, any other reward scores each.

    Exits with status 1 if every sample failed, 2 if something was wrong before the first was scored, and
    130 after Ctrl-C; what was scored until then stays in the output file.
    """
    label, threshold, report = given.pop("label"), given.pop("threshold"), given.pop("report")
    asked = ScoringRequest(**given, group_by=None)
    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.report.calibration import print_calibration

    with prints_to_stderr():
        run = _prepared(asked, label, report)
        scores = run.score()
    if run.interrupted:
        raise SystemExit(say_interrupted(context, asked, len(scores), run.count))
    found = run.calibration(scores, threshold)
    payload = {
        "reward": scores.reward,
        "version": scores.version,
        "parameters": dict(scores.provenance.parameters),
        "data": run.data.name,
        "label": label,
        **found.to_dict(),
    }
    if report is not None:
        Path(report).write_text(json.dumps(payload, indent=2, default=str) + "\n", encoding="utf-8")
    if asked.as_json:
        click.echo(json.dumps(payload, default=str, allow_nan=False))
    else:
        print_calibration(payload, output(), f"{scores.reward} {scores.version} on {run.data.name}")
    if found.failures and found.failures.total() == found.rows:
        raise SystemExit(1)


@dataclass(slots=True)
class CalibrationRun:
    """A calibration whose reward, data and labels are there and fit together."""

    request: ScoringRequest
    reward: RewardFunction
    data: Dataset
    column: str
    labels: Labels
    compares: bool
    interrupted: bool = False

    @property
    def pairs(self) -> bool:
        return self.labels.shape == "pairs"

    @property
    def each(self) -> int:
        """How many rows are scored for a label."""
        return 2 if self.pairs and not self.compares else 1

    @property
    def count(self) -> int:
        return self.each * len(self.labels.values)

    def score(self) -> Scores:
        """Score what there is; Ctrl-C ends it early, and the scores are those until then."""
        from guerdon.cli.output import ProgressBar
        from guerdon.scoring.run import Interrupted
        from guerdon.scoring.run import score as score_all

        request = self.request
        with ProgressBar("judging", patience=0.0) as bar:
            bar.count(0, self.count)
            try:
                return score_all(
                    self.reward,
                    Counted(self.count, self._rows),
                    **request.limits.options(),
                    on_error="result",
                    output=request.output,
                    resume=request.resume,
                    overwrite=request.overwrite,
                    progress=partial(self._show, bar),
                )
            except Interrupted as interrupt:
                self.interrupted = True
                return interrupt.scores

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        from guerdon.accuracy.calibration import pair_rows, without_label

        for row in self.data.rows():
            plain = without_label(row, self.column)
            yield from pair_rows(plain, compares=self.compares) if self.pairs else (plain,)

    def _show(self, bar: ProgressBar, progress: Progress) -> None:
        notes = f"{progress.failed:,} failed" if progress.failed else ""
        bar.count(progress.done, self.count, notes, before=progress.resumed)

    def calibration(self, scores: Scores, threshold: float) -> Calibration:
        """The scores beside the labels."""
        from guerdon.accuracy.calibration import Calibration, pair_score

        found = Calibration(self.labels.shape, threshold)
        results = iter(scores)
        for label in self.labels.values:
            mine = [next(results) for _ in range(self.each)]
            found.add(label, pair_score(mine) if self.pairs else mine[0].score, mine)
        return found


def _prepared(request: ScoringRequest, column: str, report: str | None) -> CalibrationRun:
    """Everything that can be wrong with a request, the quickest to find first."""
    from guerdon.accuracy.calibration import pair_rows, read_labels

    check_flags(request)
    if request.flags.skip_bad_rows:
        raise InputError("a calibration leaves no rows out; give it rows that can all be read")
    reward = find_reward(request.reward, request.parameters)
    _check_report(report, request)
    flags, pairs = _flags(request)
    data = flags.open(request.data, request.limit)
    if request.output is not None:
        check_output(Path(request.output), request, data)
    flags.check(data)
    labels = read_labels(data.rows(), column, pairs=pairs)
    compares = reward.parameters.get("kind") == "pairwise"
    if pairs:
        for row in data.rows():
            pair_rows(row, compares=compares)
    return CalibrationRun(request, reward, data, column, labels, compares)


def _check_report(report: str | None, request: ScoringRequest) -> None:
    if report is None:
        return
    path = Path(report)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"--report {report} is no file that can be written")
    if request.output is not None and path.resolve() == Path(request.output).resolve():
        raise InputError("--report and --output name the same file; give each its own")
    if path.exists() and not (request.overwrite or request.resume):
        raise InputError(f"{report} exists already; replace it with --overwrite")


def _flags(request: ScoringRequest) -> tuple[DataFlags, bool]:
    """The flags to read the data by, and whether it holds pairs: a prompt, response_a and response_b."""
    flags = request.flags
    if flags.response_column is not None:
        return flags, False
    paired = replace(flags, prompt_column=flags.prompt_column or "prompt", response_column="response_a")
    try:
        row = next(iter(paired.open(request.data, 1).rows()))
    except InputError:  # no such columns: whatever is wrong is said of the rows as they are
        return flags, False
    nested = row.get("metadata")
    names = {*row, *(nested if isinstance(nested, Mapping) else ())}
    return (paired, True) if "response_b" in names else (flags, False)
