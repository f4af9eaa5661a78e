"""``guerdon inspect``: which samples it shows, of which files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli_work import Run

REWARD = """
def graded(response, ground_truth):
    if response == "boom":
        raise ValueError("no luck")
    return len(response) / 4, f"{len(response)} characters"
"""


@pytest.fixture
def scores(guerdon: Run, work: Path) -> str:
    (work / "graded.py").write_text(REWARD)
    rows = [
        {
            "id": f"q{i}",
            "messages": [
                {"role": "user", "content": f"prompt {i // 4}"},
                {"role": "assistant", "content": "boom" if i == 5 else "x" * (i % 4 if i < 8 else 1)},
            ],
            "ground_truth": f"truth {i}",
        }
        for i in range(12)
    ]
    (work / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = guerdon("score", "graded.py::graded", "data.jsonl", "-o", "s.jsonl", "--workers", "0")
    assert done.exit_code == 0, done.stderr
    return "s.jsonl"


def shown(output: str) -> list[str]:
    """The ids of the samples that are shown."""
    return [line.split()[1] for line in output.splitlines() if line.startswith("sample ")]


def test_a_sample_is_shown_with_all_that_belongs_to_it(guerdon: Run, scores: str) -> None:
    result = guerdon("inspect", scores, "--id", "q3")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-5:] == [
        "sample     q3   score 0.75",
        "prompt     prompt 0",
        "response   xxx",
        "expected   truth 3",
        "reason     3 characters",
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--worst", "2"), ["q0", "q4"]),
        (("--best", "2"), ["q3", "q7"]),
        (("--failed",), ["q5"]),
        (("--id", "q9", "--id", "q1"), ["q9", "q1"]),
        (("--disputed", "-n", "1"), ["q0", "q1", "q2", "q3"]),
        (("--disputed",), ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"]),
        (("--worst",), ["q0", "q4", "q1", "q8", "q9"]),
        ((), ["q0", "q4", "q1", "q3", "q7", "q2", "q5", "q0", "q1", "q2", "q3"]),
    ],
)
def test_which_samples_are_shown(
    guerdon: Run, scores: str, flags: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(guerdon("inspect", scores, *flags).stdout) == expected


def test_json_has_the_rows(guerdon: Run, scores: str, work: Path) -> None:
    said = json.loads(guerdon("inspect", scores, "--failed", "--json").stdout)
    (section,) = said["sections"]
    assert (section["title"], section["total"]) == ("Failed", 1)
    written = [json.loads(line) for line in (work / scores).read_text().splitlines()]
    (row,) = section["samples"]
    assert {name: row[name] for name in ("id", "error", "prompt", "response")} == {
        name: written[5][name] for name in ("id", "error", "prompt", "response")
    }


def test_texts_are_shown_whole_on_request(guerdon: Run, work: Path) -> None:
    (work / "graded.py").write_text(REWARD)
    (work / "data.jsonl").write_text(
        json.dumps({"messages": [{"role": "assistant", "content": "word " * 900}], "ground_truth": ""})
    )
    guerdon("score", "graded.py::graded", "data.jsonl", "-o", "s.jsonl", "--workers", "0")
    assert "left out" in guerdon("inspect", "s.jsonl").stdout
    whole = guerdon("inspect", "s.jsonl", "--best", "1", "--full").stdout
    assert whole.count("word") == 900


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("s.jsonl", "--id", "q33"), "has no sample with the id 'q33'; did you mean q3"),
        (("s.jsonl", "--id", "other"), "there are q0, q1, q2, q3, q4, …"),
        (("data.jsonl",), "data.jsonl, row 1 is not a row of scores"),
        (("absent.jsonl",), "there is no file absent.jsonl"),
        (("graded.py",), "ends in .jsonl, .csv, .tsv or .parquet"),
        ((".",), "is not the folder of a training run"),
    ],
)
def test_a_mistake_is_a_line_and_status_2(
    guerdon: Run, scores: str, args: tuple[str, ...], words: str
) -> None:
    result = guerdon("inspect", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
