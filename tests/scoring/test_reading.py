"""Scores read back from every form of file, and files that hold none refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError


def graded(response: str, ground_truth: str) -> Any:
    if response == "boom":
        raise ValueError("no, thanks")
    metrics = {"length": guerdon.MetricResult(len(response), reason="a, b\tc")}
    return guerdon.EvaluateResult(float(response == ground_truth), reason='says "so"\n', metrics=metrics)


ROWS = [
    {
        "id": f"q{i}",
        "messages": [
            {"role": "user", "content": f"prompt {i // 3}"},
            {"role": "assistant", "content": ("x", "y, z\n", "", "boom")[i % 4]},
        ],
        "ground_truth": "x",
    }
    for i in range(12)
]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("text", [True, False])
def test_what_was_written_is_read(tmp_path: Path, suffix: str, text: bool) -> None:
    path = tmp_path / f"scores{suffix}"
    scores = guerdon.score(graded, ROWS, output=path, workers=0, text=text)
    again = guerdon.read_scores(path)
    assert (again.reward, again.version, again.has_text) == (scores.reward, scores.version, text)
    assert list(again) == list(scores)
    assert [one.text[:3] for one in again.best(12)] == [one.text[:3] for one in scores.best(12)]
    assert again.ids == scores.ids
    for one in (again, scores):
        assert [g.samples.ids for g in one.groups()] == [
            [f"q{i}" for i in range(n, n + 3)] for n in (0, 3, 6, 9)
        ]


def test_an_unfinished_run_is_read(tmp_path: Path) -> None:
    path = guerdon.score(graded, ROWS, workers=0).write(tmp_path / "scores.jsonl")
    lines = path.read_bytes()
    path.write_bytes(lines[:-10])
    assert len(guerdon.read_scores(path)) == 11
    path.rename(tmp_path / "scores.csv.partial.jsonl")
    assert len(guerdon.read_scores(tmp_path / "scores.csv")) == 11


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.jsonl", json.dumps({"messages": [], "id": 1}), r"s.jsonl, row 1 is not a row of scores \(it has: m"),
        ("s.jsonl", "[1]", r"row 1 is not a row of scores \(it has: list\)"),
        ("s.jsonl", "{", "cannot read"),
        ("s.csv", "a,b\n1,2", r"row 1 is not a row of scores \(it has: a, b\)"),
        ("s.csv", "reward,version,score\nr,v,high", "row 1 is not|cannot read"),
        ("s.parquet", "nothing", "cannot read"),
        ("s.jsonl", "", "has no rows"),
        ("s.txt", "x", "ends in .jsonl, .csv, .tsv or .parquet"),
    ],
)  # fmt: skip
def test_what_holds_no_scores_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    (tmp_path / name).write_text(content + "\n" if content else "")
    with pytest.raises(InputError, match=words):
        guerdon.read_scores(tmp_path / name)
    with pytest.raises(InputError, match="there is no file"):
        guerdon.read_scores(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("read", [str, Path])
def test_a_path_in_both_forms(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = guerdon.score(graded, ROWS, workers=0).write(tmp_path / "scores.jsonl")
    assert guerdon.read_scores(read(path)).path == path


def test_a_long_file_tells_how_far_it_is(tmp_path: Path) -> None:
    many = guerdon.score(graded, ROWS * 200, workers=0).write(tmp_path / "scores.jsonl")
    rows: list[int] = []
    assert len(guerdon.read_scores(many, progress=rows.append)) == 2400
    assert rows == [1000, 2000]


def test_the_answers_of_an_evaluation_are_read(tmp_path: Path) -> None:
    path = tmp_path / "step-1.samples.jsonl"
    row = {"id": "1 + 1", "prompt": "1 + 1", "response": "2", "score": 1.0, "error": None, "reason": "is 2"}
    path.write_text(json.dumps({**row, "metrics": {"form": 0.5}, "reward": "math", "version": "1"}) + "\n")
    (one,) = guerdon.read_scores(path).best()
    assert (one.id, one.prompt, one.response, one.metrics["form"].score) == ("1 + 1", "1 + 1", "2", 0.5)
