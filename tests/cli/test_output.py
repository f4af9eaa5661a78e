"""How far a job is, on a real terminal and without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from guerdon.cli import output
from support.cli_work import row, write_rows
from support.terminal import on_a_terminal


def test_a_bar_on_a_terminal(work: Path) -> None:
    write_rows(work / "many.jsonl", [row("xxxx", id=i) for i in range(150)])
    command = [sys.executable, "-m", "guerdon", "score", "my_rewards.py::noted", "many.jsonl"]
    written = on_a_terminal([*command, "--workers", "1"], work)
    assert "scoring" in written
    assert "/150" in written
    assert "/s" in written
    assert " left" in written
    assert "mean 0.400" in written
    assert "150 samples in" in written


def test_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 5.0, 11.0, 12.0, 22.0])
    with output.ProgressBar("scoring", patience=0.0, clock=lambda: next(times)) as bar:
        for done in (100, 500, 1100, 1200, 2200):
            bar.count(done, 5000, "mean 0.5", before=100)
    assert capsys.readouterr().err.splitlines() == [
        "scoring 1,100/5,000, 100/s, 0:39 left, mean 0.5",
        "scoring 2,200/5,000, 100/s, 0:28 left, mean 0.5",
    ]


def test_a_quick_job_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with output.ProgressBar("checking") as bar:
        bar.share(10, 0.5)
        bar.share(20, 1.0)
    assert capsys.readouterr().err == ""
