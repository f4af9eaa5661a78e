"""``guerdon benchmark-verifiers``: how often rewards agree with labels that are known to be right."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_rewards
from guerdon.cli.data_options import DataFlags, data_options, say_columns
from guerdon.cli.options import POSITIVE, check_variables, option
from guerdon.cli.reward_options import find_reward, reward_options
from guerdon.cli.scoring_run import threshold_option
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.accuracy.benchmark import SuiteReport
    from guerdon.accuracy.folder import Folder
    from guerdon.accuracy.suite import Suite
    from guerdon.cli.output import ProgressBar
    from guerdon.scoring.progress import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkRequest:
    """What the command line asks for."""

    suites: tuple[str, ...]
    data: str | None
    out: str | None
    overwrite: bool
    external: bool
    limit: int | None
    kinds: bool
    list_only: bool
    as_json: bool
    rewards: tuple[str, ...]
    rows: str | None
    label: str
    kind_column: str | None
    threshold: float
    parameters: Mapping[str, Any]
    workers: int | None
    timeout: float | None
    flags: DataFlags


@click.command("benchmark-verifiers", short_help="Measure rewards on labelled answers.")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@option("--data", metavar="DIR", help="The labelled data; by default $GUERDON_DATA, else ../shared/data.")
@option("-o", "--out", metavar="DIR", help="Write results, disagreements and the table to a folder.")
@option("--overwrite", is_flag=True, help="Repeat what the folder already holds.")
@option(
    "--external/--no-external",
    default=True,
    show_default=True,
    envvar="GUERDON_EXTERNAL",
    help="Also run other projects' verifiers, if they are installed.",
)
@option(
    "--limit",
    type=POSITIVE,
    help="Run at most this many cases of a suite: always the same ones, spread over it.",
)
@option("--kinds", is_flag=True, help="Break each table down by kind of case.")
@option("--list", "list_only", is_flag=True, help="List the suites and run nothing.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the tables.")
@option(
    "--reward",
    "rewards",
    multiple=True,
    shell_complete=complete_rewards,
    help="A reward to measure on --rows. Repeatable.",
)
@option("--rows", metavar="DATA", help="Your labelled rows: as DATA of guerdon score.")
@option(
    "--label",
    metavar="COLUMN",
    default="label",
    show_default=True,
    help="The column that says which rows are right.",
)
@option("--kind-column", metavar="COLUMN", help="Break the table down by this column of --rows.")
@threshold_option("The score from which a --reward counts as saying right.")
@data_options
@reward_options
def benchmark_verifiers(**given: Any) -> None:
    """\b
    guerdon benchmark-verifiers gsm8k --out results
    guerdon benchmark-verifiers --reward math --rows labelled.jsonl

    Compare the verdicts of rewards with labels: precision, recall, accuracy and F1 of "right".

    Each SUITE is a labelled set of answers (see --list; by default all of them). It measures rewards of the
    catalogue and, if they are installed, other projects' verifiers on the same cases.

    An interrupted run keeps its results in --out, and the same command continues it. Exits with status 1 if a
    reward of the catalogue gave no verdict at all, and with 130 after Ctrl-C.
    """
    request = BenchmarkRequest(**given)
    _check_flags(request)
    if request.list_only:
        _list(request)
        return
    from guerdon.accuracy.folder import Folder

    suites, data = _chosen(request)
    folder = None if request.out is None else Folder(request.out)
    _run(request, suites, data, folder)


def _check_flags(request: BenchmarkRequest) -> None:
    check_variables()
    if (request.rows is None) != (not request.rewards):
        raise InputError("--reward and --rows go together: the reward to measure, and labelled rows for it")
    if request.rows is not None and request.suites:
        raise InputError("give either suites, or --reward and --rows")
    if request.parameters and not request.rewards:
        raise InputError("--param sets a parameter of --reward; the suites have parameters of their own")
    if request.overwrite and request.out is None:
        raise InputError("--overwrite needs the folder: --out DIR")


def _chosen(request: BenchmarkRequest) -> tuple[list[Suite], Path | None]:
    """The suites to run, and the folder of their data."""
    from guerdon.accuracy.discovery import choose, data_folder, find_suites

    if request.rows is not None:
        return [_own_rows(request, request.rows)], None
    suites = choose(request.suites, find_suites())
    if not suites:
        raise InputError(
            "there are no suites; measure a reward on rows of your own: --reward NAME --rows DATA"
        )
    return suites, data_folder(request.data)


def _own_rows(request: BenchmarkRequest, source: str) -> Suite:
    from guerdon.accuracy.labelled import labelled, suite_name
    from guerdon.accuracy.suite import CatalogueVerifier
    from guerdon.cli.output import prints_to_stderr
    from guerdon.data.source import REJECTED

    with prints_to_stderr():
        rewards = [find_reward(reward, request.parameters) for reward in request.rewards]
    data = request.flags.open(source, None, rewards, [request.label, request.kind_column])
    survey = request.flags.check(data)
    rejected = Path(suite_name(source) + REJECTED)
    rows = data.good_rows(rejected=rejected) if request.flags.skip_bad_rows else data.rows()
    if survey.bad:
        click.echo(f"{survey.bad:,} malformed rows left out, see {rejected}", err=True)
    measured = [
        CatalogueVerifier(reward, reward, request.parameters, request.threshold) for reward in request.rewards
    ]
    suite = labelled(
        rows, measured, label=request.label, kind=request.kind_column, name=suite_name(source), title=source
    )
    say_columns(data)
    return suite


def _list(request: BenchmarkRequest) -> None:
    from guerdon.accuracy.discovery import choose, find_suites

    suites = choose(request.suites, find_suites())
    if request.as_json:
        payload = [
            {
                "suite": suite.name,
                "title": suite.title,
                "files": list(suite.files),
                "rewards": [given.label for given in suite.catalogue],
                "external": [given.label for given in suite.external],
                "aim": suite.aim,
            }
            for suite in suites
        ]
        click.echo(json.dumps({"suites": payload}))
        return
    for suite in suites:
        click.echo(f"{suite.name}: {suite.title}")
        click.echo(f"  measures {', '.join(given.label for given in suite.catalogue)}")
        if suite.external:
            click.echo(f"  beside {', '.join(given.label for given in suite.external)}")


def _run(
    request: BenchmarkRequest, suites: Sequence[Suite], data: Path | None, folder: Folder | None
) -> None:
    from guerdon.accuracy.benchmark import BenchmarkOptions, SuiteReport, run_suite
    from guerdon.cli.exit_codes import INTERRUPTED
    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.report.accuracy import EXPLANATION, print_report

    options = BenchmarkOptions(
        external=request.external,
        limit=request.limit,
        workers=request.workers,
        timeout=request.timeout,
        overwrite=request.overwrite,
    )
    reports: list[SuiteReport] = []
    interrupted = False
    for suite in suites:
        report = SuiteReport(suite)
        try:
            with prints_to_stderr(), _VerifierProgress() as shown:
                run_suite(suite, data, options, folder=folder, show=shown, report=report)
        except KeyboardInterrupt:
            interrupted = True
        if report.measurements or report.left_out:
            reports.append(report)
            if not request.as_json:
                print_report(report, output(), kinds=request.kinds)
        if folder is not None:
            _write(folder, reports)
        if interrupted:
            break
    if request.as_json:
        payload = {"complete": not interrupted, "suites": [report.to_dict() for report in reports]}
        click.echo(json.dumps(payload, allow_nan=False))
    elif any(report.cases for report in reports):
        click.echo(click.wrap_text(f"{EXPLANATION}."), err=True)
    if interrupted:
        _say_interrupted(request)
        raise SystemExit(INTERRUPTED)
    if not all(report.ok for report in reports):
        raise SystemExit(1)


def _write(folder: Folder, reports: Sequence[SuiteReport]) -> None:
    from guerdon.report.accuracy import markdown

    folder.write_table({"suites": [report.to_dict() for report in reports]}, markdown(reports))


def _say_interrupted(request: BenchmarkRequest) -> None:
    how = "run the command again to continue" if request.out else "with --out DIR they are kept"
    click.echo(f"Interrupted: the finished verifiers are shown; {how}", err=True)


class _VerifierProgress:
    """How far the verifier that runs is, each with a bar of its own."""

    def __init__(self) -> None:
        self._bar: ProgressBar | None = None
        self._of: tuple[str, str] | None = None

    def __enter__(self) -> _VerifierProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)

    def __call__(self, suite: str, verifier: str, progress: Progress) -> None:
        from guerdon.cli.output import ProgressBar

        if self._bar is None or self._of != (suite, verifier):
            self._close()
            self._bar, self._of = ProgressBar(f"{suite}, {verifier}"), (suite, verifier)
        note = f"{progress.failed:,} failed" if progress.failed else ""
        self._bar.count(progress.done, progress.total or progress.done, note)
