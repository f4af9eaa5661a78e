"""The table of a benchmark: what the terminal shows within 80 columns, and the Markdown."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from guerdon.accuracy.benchmark import SuiteReport
from guerdon.accuracy.confusion import ConfusionCounts
from guerdon.accuracy.measurement import Measurement
from guerdon.accuracy.suite import Suite
from guerdon.report.accuracy import markdown, percent, print_report


def measurement(verifier: str, catalogue: bool = True, failures: int = 0) -> Measurement:
    """90 of 100 right ones accepted, 1 of 50 wrong ones; the rewriting "fold" is the worst kind."""
    counts = ConfusionCounts(
        true_positives=90,
        false_negatives=10 - failures,
        failed_positives=failures,
        false_positives=1,
        true_negatives=49,
    )
    kinds = {
        "plain": ConfusionCounts(true_positives=80, true_negatives=49, false_positives=1),
        "fold|case": ConfusionCounts(
            true_positives=10, false_negatives=10 - failures, failed_positives=failures
        ),
    }
    return Measurement(
        "words",
        verifier,
        catalogue,
        counts=counts,
        kinds=kinds,
        failures={"timeout": failures} if failures else {},
        first_failure="case 7: timeout: \x1b[31mtoo\nslow" if failures else "",
        p50_ms=0.1234,
        p99_ms=1234.5,
    )


def report(*measurements: Measurement, of: int = 150, left_out: str = "") -> SuiteReport:
    suite = Suite("words", "Words that people judged", (), lambda folder: (), (), aim="all of them")
    return SuiteReport(suite, list(measurements), 0 if left_out else 150, of, left_out)


def shown(made: SuiteReport, width: int = 80, encoding: str = "utf-8", *, kinds: bool = False) -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    print_report(made, Console(file=stream, width=width, highlight=False), kinds=kinds)
    stream.seek(0)
    return [line.rstrip() for line in stream.read().split("\n")]


def test_the_terminal() -> None:
    lines = shown(report(measurement("words (strict)")))
    assert lines[:2] == ["words: Words that people judged", "150 cases, 100 right and 50 wrong"]
    # 90 of 91, 90 of 100, 139 of 150; 180 of 191, and by 90 of 101 its interval.
    assert [re.split(r" {2,}", line.strip()) for line in lines[2:5]] == [
        ["verifier", "decided", "precision", "recall", "accuracy", "F1", "ms"],
        ["words (strict)", "100", "98.9", "90.0", "92.7", "94.2", "0.123"],
        ["94–99.9", "82.5–94.5", "87.3–95.9", "89.8–96.9"],
    ]
    assert lines[5:] == ["aim: all of them", "", ""]


def test_failures_and_who_was_left_out_are_said() -> None:
    absent = Measurement("words", "theirs", False, left_out="theirs is not installed")
    text = " ".join(shown(report(measurement("exact", failures=4), absent)))
    assert "97.3" in text  # 146 of 150 decided
    assert "exact failed: 4 timeout; first: case 7: timeout: \\x1b[31mtoo slow" in text
    assert "theirs left out: theirs is not installed" in text


def test_where_all_are_wrong_it_is_said_how_many_are_accepted() -> None:
    found = Measurement("words", "exact", True, counts=ConfusionCounts(true_negatives=300))
    assert "exact accepts 0 of 300 wrong answers: 0 % (0–1.3)" in shown(report(found))


def test_kinds_the_worst_first() -> None:
    lines = shown(report(measurement("exact", failures=4)), kinds=True)
    at = lines.index("exact by kind")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["kind", "right", "accepted", "wrong", "accepted", "no", "verdict", "agrees"],
        ["fold|case", "20", "10", "0", "0", "4", "62.5"],
        ["plain", "80", "80", "50", "1", "0", "99.23"],
    ]


def test_many_kinds_are_shown_where_they_are_at_fault() -> None:
    found = measurement("exact")
    found.kinds |= {f"kind {i}": ConfusionCounts(true_positives=3, true_negatives=2) for i in range(29)}
    lines = shown(report(found), kinds=True)
    at = lines.index("exact by kind")
    assert [line.split()[0] for line in lines[at + 2 : at + 4]] == ["fold|case", "plain"]
    assert lines[at + 4] == "29 kinds without a fault"


def test_a_sample_and_a_suite_without_its_data() -> None:
    assert shown(report(measurement("exact"), of=9_000))[1] == (
        "a fixed sample of 150 of 9,000 cases, 100 right and 50 wrong"
    )
    assert shown(report(of=0, left_out="no rows.jsonl"))[:2] == [
        "words: Words that people judged",
        "left out: no rows.jsonl",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_fits(encoding: str) -> None:
    made = report(measurement("math (tolerant, with units)"), measurement("math-verify 0.9", catalogue=False))
    lines = shown(made, encoding=encoding, kinds=True)
    assert max(map(cell_len, lines)) <= 80
    assert any("98.9" in line for line in lines)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (1.0, "100"),
        (0.999999, "99.99"),
        (0.99951, "99.95"),
        (0.5, "50.0"),
        (0.00001, "0.01"),
        (0.02, "2.0"),
    ],
)
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_markdown(tmp_path: Path) -> None:
    text = markdown([report(measurement("exact_1"))])
    assert "## words\n\nWords that people judged\n\n150 cases, 100 right and 50 wrong.\n" in text
    assert "| exact\\_1 | 100 | 98.9 [94–99.9] | 90.0 [82.5–94.5] |" in text
    assert "### exact\\_1 by kind" in text
    assert "| fold\\|case | 20 | 10 | 0 | 0 | 0 | 50.0 |" in text
    assert "- aim: all of them" in text
