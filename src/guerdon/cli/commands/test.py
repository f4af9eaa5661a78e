"""``guerdon test``: a reward against cases with expected scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.options import (
    ParsedValue,
    check_variables,
    debug_option,
    find_reward,
    option,
    parameter_option,
    timeout_option,
    workers_option,
)
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
        raise InputError(f"{value!r} is no tolerance; give a number of 0 or more")
    return number


@click.command(short_help="Compare a reward's scores with expected ones.")
@click.argument("reward")
@click.argument("cases")
@option(
    "--tolerance",
    type=ParsedValue(parse_tolerance, "number"),
    default="1e-6",
    show_default=True,
    help="How far a score may be off.",
)
@option(
    "--contract",
    is_flag=True,
    help="Check as well that the reward keeps the contract of one: the same verdict however it is called, in "
    "its scale, on time, and none of it broken by adversarial responses.",
)
@parameter_option
@timeout_option
@workers_option
@debug_option
def test(
    reward: str,
    cases: str,
    tolerance: float,
    contract: bool,
    parameters: dict[str, Any],
    timeout: float | None,
    workers: int | None,
) -> None:
    """Score the samples of CASES with REWARD and compare each with the score that the case expects.

    CASES is a JSON Lines file: a sample a line, with what is expected of it. For each case that is off
    the difference is shown, and the exit status is 1; also where the contract is asked for and broken.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.testing import run_cases

    check_variables()
    with prints_to_stderr():
        found = find_reward(reward, parameters)
        outcomes = run_cases(
            found,
            cases,
            tolerance=tolerance,
            timeout=timeout,
            workers=workers,
        )
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
    from guerdon.testing import check_reward

    console = output()
    try:
        with prints_to_stderr():
            report = check_reward(reward, cases, timeout=timeout)
    except AssertionError as broken:
        console.print(Text(clean(str(broken), console)), soft_wrap=True)
        return False
    counts = f"{report.rows:,} rows and {report.adversarial:,} adversarial ones"
    tried = f"contract kept: {counts}, in the modes {', '.join(report.modes)}"
    took = duration(report.slowest_seconds, ascii_only=console.options.ascii_only)
    console.print(Text(clean(f"{tried}\nslowest: {took}, {report.slowest}", console)), soft_wrap=True)
    if report.scale is None:
        console.print(
            Text("the reward declares no scale, so none was held to: @reward_function(scale=(0, 1))")
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
