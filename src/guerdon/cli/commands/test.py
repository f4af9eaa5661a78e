"""``guerdon test``: a reward against cases with expected scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_files
from guerdon.cli.options import ParsedValue, check_variables, option
from guerdon.cli.reward_options import find_reward, refuse_swapped, reward_argument, reward_options
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction
    from guerdon.testing import CaseOutcome


def parse_tolerance(value: str | float) -> float:
    """A number of 0 or more, also from text.

    >>> parse_tolerance("1e-6")
    1e-06
    """
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InputError(f"{value!r} is not a tolerance; give a number of 0 or more")
    return number


@click.command(short_help="Compare a reward's scores with expected ones.")
@reward_argument
@click.argument("cases", shell_complete=complete_files)
@option(
    "--tolerance",
    type=ParsedValue(parse_tolerance, "number"),
    default="1e-6",
    show_default=True,
    help="How far a score may differ.",
)
@option(
    "--contract",
    is_flag=True,
    help="Also check the contract of a reward: every way to call it gives the same verdict, within its scale "
    "and its time limit, and adversarial responses break nothing.",
)
@reward_options
def test(
    reward: str,
    cases: str,
    tolerance: float,
    contract: bool,
    parameters: dict[str, Any],
    timeout: float | None,
    workers: int | None,
) -> None:
    """\b
    guerdon test my_rewards.py cases.jsonl
    guerdon test my_rewards.py::brief cases.jsonl --contract

    Score the samples of CASES with REWARD, and compare each score with the expected one.

    CASES is a JSON Lines file with one sample per line and the score that is expected of it. The command shows
    each difference. Exits with status 1 if a score differs, or if --contract is given and the contract is broken.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.console.working import Working
    from guerdon.testing import run_cases

    check_variables()
    refuse_swapped(reward, cases)
    with prints_to_stderr():
        found = find_reward(reward, parameters)
        with Working(f"scoring the cases of {cases}"):
            outcomes = run_cases(found, cases, tolerance=tolerance, timeout=timeout, workers=workers)
    if not outcomes:
        raise InputError(f"{cases} holds no cases")
    _show(outcomes)
    kept = _keeps_contract(found, cases, timeout) if contract else True
    if not kept or not all(outcome.ok for outcome in outcomes):
        raise SystemExit(1)


def _keeps_contract(reward: RewardFunction, cases: str, timeout: float | None) -> bool:
    """Whether nothing is broken; shows what is, or what was tried."""
    from rich.text import Text

    from guerdon.cli.output import output, prints_to_stderr
    from guerdon.console import clean, duration
    from guerdon.console.working import Working
    from guerdon.testing import check_reward

    console = output()
    try:
        with prints_to_stderr(), Working("checking the contract"):
            report = check_reward(reward, cases, timeout=timeout)
    except AssertionError as broken:
        console.print(Text(clean(str(broken), console)), soft_wrap=True)
        return False
    counts = f"{report.rows:,} rows and {report.adversarial:,} adversarial ones"
    tried = f"contract kept: {counts}, in the modes {', '.join(report.modes)}"
    for mode, reason in report.left_out.items():
        tried += f"\nleft out: {mode}; {reason}"
    took = duration(report.slowest_seconds, ascii_only=console.options.ascii_only)
    console.print(Text(clean(f"{tried}\nslowest: {took}, {report.slowest}", console)), soft_wrap=True)
    if report.scale is None:
        console.print(
            Text("the reward declares no scale, so none was checked: @reward_function(scale=(0, 1))")
        )
    return True


def _show(outcomes: Sequence[CaseOutcome]) -> None:
    from rich.text import Text

    from guerdon.cli.output import output
    from guerdon.console import clean

    console = output()
    off = [outcome for outcome in outcomes if not outcome.ok]
    for outcome in off:
        head = f"case {outcome.id}, line {outcome.line}"
        console.print(Text(clean(head, console), style="bold red"), soft_wrap=True)
        for line in outcome.diff.splitlines():
            console.print(Text(clean(f"  {line}", console)), soft_wrap=True)
    count = f"{len(outcomes):,} {'case' if len(outcomes) == 1 else 'cases'}"
    good = len(outcomes) - len(off)
    console.print(Text(f"{count}: {good:,} as expected, {len(off):,} off"))
