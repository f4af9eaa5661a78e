"""Scores as a terminal shows them: the report of a run, and samples of it."""

from __future__ import annotations

from typing import Any

import pytest
import rich.console
from rich.cells import cell_len

import guerdon
from guerdon.console.scores import SHOWN


def graded(response: str, ground_truth: str) -> Any:
    if response == "boom":
        raise ValueError("no \x1b[31m colour")
    return guerdon.EvaluateResult(float(response == ground_truth), reason=f"is {response}")


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "messages": [
                {"role": "user", "content": f"2 + {i}?"},
                {"role": "assistant", "content": "boom" if i == 3 else "x" * (i % 2)},
            ],
            "ground_truth": "x",
        }
        for i in range(count)
    ]


def test_scores_are_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    lines = repr(guerdon.score(graded, rows(30), workers=0)).splitlines()
    assert lines[0].startswith("graded ")
    assert max(map(cell_len, lines)) <= 72
    text = "\n".join(lines)
    for piece in (
        "samples    30   29 scored   1 failed (3.3%)",
        "levels     2 distinct scores; 51.7% are 0",
        "longer responses score higher: rank correlation 1",
        "warning    1 of 30 samples failed",
        "failed     q3  exception: ValueError: no \\x1b[31m colour",
        "30 samples in",
    ):
        assert piece in text
    assert "\x1b" not in text


def test_a_report_says_first_that_every_sample_failed() -> None:
    def fussy(response: str) -> Any:
        if response == "n/a":
            return None
        raise ValueError("odd\nlines" if response == "x" else "why " * 200)

    def first(*responses: str) -> str:
        return repr(guerdon.score(fussy, [*responses], workers=0)).split("\n")[0]

    assert first("x", "y", "x").startswith(
        "All 3 samples failed, 2 of them with exception: ValueError: odd lines (test_scores.py"
    )
    assert first("x", "n/a").startswith("The only sample that the reward applies to failed with exception")
    assert first("y", "y").endswith("why w ...")
    assert first("n/a").startswith("fussy ")
    assert "All 2 samples failed with" in guerdon.score(fussy, ["x", "x"], workers=0)._repr_html_()


def test_samples_show_their_text() -> None:
    scores = guerdon.score(graded, rows(50), workers=0)
    assert repr(scores.worst(1)).splitlines() == [
        "sample     q0   score 0",
        "prompt     2 + 0?",
        "response   (empty)",
        "expected   x",
        "reason     is",
    ]
    assert "failed, exception: ValueError" in repr(scores.failed())
    assert repr(scores.by_id("q1")).startswith("sample     q1   score 1")
    assert repr(scores.best(50)).endswith(f"and {49 - SHOWN} more")
    assert repr(scores.worst(0)) == "no samples"
    bare = guerdon.score(graded, rows(2), workers=0, text=False)
    assert repr(bare.worst(1)).splitlines() == ["sample     q0   score 0", "reason     is"]


def test_a_run_without_samples_is_a_report_too() -> None:
    assert "There are no samples." in repr(guerdon.score(graded, [], workers=0))


def test_a_notebook_shows_the_text_of_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class ZMQInteractiveShell:  # by this name rich knows the shell of a notebook
        """A shell that shows nothing."""

    monkeypatch.setattr("builtins.get_ipython", ZMQInteractiveShell, raising=False)
    assert rich.console.Console().is_jupyter
    assert "samples    30" in repr(guerdon.score(graded, rows(30), workers=0))
