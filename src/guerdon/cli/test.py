"""``guerdon test``: a reward against cases with expected scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.options import (
    Parsed,
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
    type=Parsed(parse_tolerance, "number"),
    default="1e-6",
    show_default=True,
    help="How far a score may be off.",
)
@parameter_option
@timeout_option
@workers_option
@debug_option
def test(
    reward: str,
    cases: str,
    tolerance: float,
    parameters: dict[str, Any],
    timeout: float | None,
    workers: int | None,
) -> None:
    """Score the samples of CASES with REWARD and compare each with the score that the case expects.

    CASES is a JSON Lines file: a sample a line, with what is expected of it. For each case that is off
    the difference is shown, and the exit status is 1.
    """
    from guerdon.cli.display import prints_to_stderr
    from guerdon.testing import run_cases

    check_variables()
    with prints_to_stderr():
        outcomes = run_cases(
            find_reward(reward, parameters),
            cases,
            tolerance=tolerance,
            timeout=timeout,
            workers=workers,
        )
    if not outcomes:
        raise InputError(f"{cases} holds no cases")
    _show(outcomes)
    if not all(outcome.ok for outcome in outcomes):
        raise SystemExit(1)


def _show(outcomes: Sequence[CaseOutcome]) -> None:
    from rich.text import Text

    from guerdon.cli.display import output
    from guerdon.report.text import clean

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
