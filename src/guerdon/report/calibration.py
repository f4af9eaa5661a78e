"""What a calibration came to, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guerdon.console import clean
from guerdon.report.accuracy import percent

_RATES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "agreement": "agreement",
    "agreement_without_ties": "without ties",
    "position_consistency": "same in both orders",
}
_NUMBERS = {"kappa": "Cohen's kappa", "spearman": "Spearman's rho", "position_bias": "position bias"}


def print_calibration(report: Mapping[str, Any], console: Console, title: str) -> None:
    """The report of a Calibration as a table: each share with its interval of 95 %, numbers, what it cost."""
    console.print(Text(clean(title, console), style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value, note in _lines(report):
        table.add_row(Text(name), Text(value, style="bold"), Text(clean(note, console), style="dim"))
    console.print(table)
    if report["failures"]:
        said = f"first failure: {' '.join(report['first_failure'].split())}"
        console.print(Text(clean(said, console), style="dim"))


def _lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    scored, rows = report["scored"], report["rows"]
    yield "scored", f"{scored:,} of {rows:,}", _missing(report)
    for name, label in _RATES.items():
        if report.get(name) is not None:
            yield label, *_rate(report[name])
    for place, rate in report.get("agreement_by_first_shown", {}).items():
        yield f"with {place} shown first", *_rate(rate)
    if best := report.get("best"):
        value, note = _rate(best["accuracy"])
        yield "best threshold", f"{best['threshold']:.4g}", f"accuracy {value}, {note}; on these rows"
    for name, label in _NUMBERS.items():
        if report.get(name) is not None:
            yield label, f"{report[name]:.3f}", ""
    spent = report["spent"]
    if spent:
        costs = f"cost {spent['cost']:,.4g}" if "cost" in spent else ""
        yield (
            "requests",
            f"{spent.get('requests', 0):,.0f}",
            f"{spent.get('cached', 0):,.0f} more from the cache",
        )
        if "prompt_tokens" in spent:
            tokens = f"{spent['prompt_tokens']:,.0f} + {spent['completion_tokens']:,.0f}"
            yield "tokens", tokens, costs


def _missing(report: Mapping[str, Any]) -> str:
    said = [f"{count:,} failed ({kind})" for kind, count in report["failures"].items()]
    if report["undecided"]:
        said.append(f"{report['undecided']:,} not applicable")
    return ", ".join(said)


def _rate(rate: Mapping[str, Any]) -> tuple[str, str]:
    if rate["value"] is None:
        return "-", "of none"
    return (
        f"{percent(rate['value'])} %",
        f"{percent(rate['low'])}–{percent(rate['high'])} %, of {rate['n']:,}",
    )
