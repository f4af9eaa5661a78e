"""``guerdon benchmark-verifiers``: labelled rows of a user's own, the folder, Ctrl-C and what is wrong with a call."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from guerdon.accuracy.discovery import find_suites
from support.cli_work import Run, row, start, write_rows

EXACT = ("--reward", "my_rewards.py::exact", "--rows", "labelled.jsonl", "--workers", "1")


@pytest.fixture
def rows(work: Path) -> Path:
    """labelled.jsonl: of 2 right ones 1 is accepted, of 3 wrong ones 1."""
    labels = [("a", 1, "x"), ("b", 1, "y"), ("a", 0, "x"), ("c", 0, "y"), ("d", 0, "y")]
    table = [
        row(text, id=f"r{i}", answer="a", label=label, sort=sort)
        for i, (text, label, sort) in enumerate(labels)
    ]
    write_rows(work / "labelled.jsonl", table)
    return work


def told(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_table(guerdon: Run, rows: Path) -> None:
    result = guerdon("benchmark-verifiers", *EXACT, COLUMNS="80")
    assert result.exit_code == 0, result.stderr
    lines = [line.rstrip() for line in result.stdout.split("\n")]
    assert lines[:2] == ["labelled: labelled.jsonl", "5 cases, 2 right and 3 wrong"]
    # precision 1 of 2, recall 1 of 2, accuracy 3 of 5, F1 1/2.
    assert lines[3].split()[:6] == ["my_rewards.py::exact", "100", "50.0", "50.0", "60.0", "50.0"]
    assert max(map(len, lines)) <= 80
    assert "Wilson interval" in result.stderr


def test_json(guerdon: Run, rows: Path) -> None:
    found = told(guerdon("benchmark-verifiers", *EXACT, "--json", "--kind-column", "sort"))
    assert found["complete"] is True
    ((suite,),) = (found["suites"],)
    (verifier,) = suite["verifiers"]
    assert verifier["counts"]["true_positives"] == verifier["counts"]["false_positives"] == 1
    share = verifier["precision"]
    assert (share["value"], share["n"]) == (0.5, 2)
    assert (share["low"], share["high"]) == (pytest.approx(0.0945, abs=1e-4), pytest.approx(0.9055, abs=1e-4))
    assert verifier["kinds"]["x"]["cases"] == 2


@pytest.mark.parametrize(
    ("flags", "accepted"),
    [
        (("--param", "most=1"), 5),
        (("--param", "most=4"), 0),
        (("--param", "most=4", "--threshold", "0.25"), 5),
        (("--limit", "2"), 0),
    ],
)
def test_flags_reach_the_reward(guerdon: Run, rows: Path, flags: tuple[str, ...], accepted: int) -> None:
    given = ("--reward", "my_rewards.py::length", "--rows", "labelled.jsonl", "--workers", "1")
    found = told(guerdon("benchmark-verifiers", *given, "--json", *flags))
    counts = found["suites"][0]["verifiers"][0]["counts"]
    assert counts["true_positives"] + counts["false_positives"] == accepted
    assert sum(counts.values()) == (2 if "--limit" in flags else 5)


def test_columns_are_mapped(guerdon: Run, work: Path) -> None:
    write_rows(work / "flat.jsonl", [{"said": "a", "gold": "a", "good": "yes"}])
    result = guerdon(
        *(
            "benchmark-verifiers",
            "--reward",
            "my_rewards.py::exact",
            "--rows",
            "flat.jsonl",
            "--label",
            "good",
        ),
        *("--response-column", "said", "--answer-column", "gold", "--workers", "1", "--json"),
    )
    assert result.exit_code == 0, result.stderr
    assert told(result)["suites"][0]["verifiers"][0]["accuracy"]["value"] == 1.0


def test_the_folder(guerdon: Run, rows: Path) -> None:
    first = guerdon("benchmark-verifiers", *EXACT, "--out", "results")
    assert first.exit_code == 0, first.stderr
    written = {str(path.relative_to("results")) for path in Path("results").rglob("*") if path.is_file()}
    name = "labelled/my-rewards-py-exact"
    assert written == {"table.json", "table.md", f"{name}.json", f"{name}.disagreements.jsonl"}
    lines = Path("results", f"{name}.disagreements.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line)["id"] for line in lines if line] == ["r1", "r2"]
    assert told_table()["suites"][0]["verifiers"][0]["disagreements"] == 2
    again = guerdon("benchmark-verifiers", *EXACT, "--out", "results", "--timeout", "3")
    assert again.stdout == first.stdout  # the times too: nothing was run


def told_table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("results", "table.json").read_text("utf-8"))
    return found


def test_nothing_but_failures_is_status_1(guerdon: Run, rows: Path) -> None:
    given = ("--reward", "my_rewards.py::fails", "--rows", "labelled.jsonl", "--workers", "1")
    result = guerdon("benchmark-verifiers", *given)
    assert result.exit_code == 1
    assert "failed: 5 exception; first: r0: exception: " in " ".join(result.stdout.split())


def test_ctrl_c_keeps_what_is_finished(work: Path) -> None:
    write_rows(work / "many.jsonl", [row("a", id=f"s{i}", answer="a", label=1) for i in range(400)])
    process = start(
        *("benchmark-verifiers", "--reward", "my_rewards.py::exact", "--reward", "my_rewards.py::noted"),
        *("--rows", "many.jsonl", "--out", "results", "--workers", "1"),
        folder=work,
        environment={"NOTES": str(work / "notes")},
    )
    end = time.monotonic() + 60
    while not (work / "notes").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "400 cases, 400 right and 0 wrong" in out
    assert "call it again to go on" in err
    assert "Traceback" not in err
    kept = {path.name for path in (work / "results" / "many").glob("*.json")}
    assert kept == {"my-rewards-py-exact.json"}
    suites = json.loads((work / "results" / "table.json").read_text("utf-8"))["suites"]
    assert [found["verifier"] for found in suites[0]["verifiers"]] == ["my_rewards.py::exact"]


def test_the_list(guerdon: Run, work: Path) -> None:
    result = guerdon("benchmark-verifiers", "--list")
    assert result.exit_code == 0
    for suite in find_suites():
        assert f"{suite.name}: {suite.title}" in result.stdout
    names = [suite["suite"] for suite in told(guerdon("benchmark-verifiers", "--list", "--json"))["suites"]]
    assert names == [suite.name for suite in find_suites()]


def test_suites_without_their_data_are_left_out(guerdon: Run, work: Path) -> None:
    name = next(suite.name for suite in find_suites() if suite.files)
    result = guerdon("benchmark-verifiers", name, "--data", ".")
    assert result.exit_code == 0
    assert "left out: the folder . does not have" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("no-such-suite",), "there is no suite 'no-such-suite'"),
        (("--data", "gone"), "there is no folder of labelled data at gone: set GUERDON_DATA"),
        (("--reward", "math"), "--reward and --rows belong together"),
        (("--rows", "labelled.jsonl"), "--reward and --rows belong together"),
        (("gsm8k", *EXACT), "give either suites, or --reward and --rows"),
        (("--param", "x=1"), "--param sets a parameter of --reward"),
        (("--overwrite",), "--overwrite needs the folder: --out DIR"),
        ((*EXACT, "--label", "good"), 'row 1 has no column "good"; its columns: '),
        ((*EXACT, "--label", "answer"), 'row 1: the column "answer" must say right or wrong'),
        ((*EXACT, "--threshold", "high"), "'high' is no threshold"),
        ((*EXACT, "--param", "most=1"), "most"),
        ((*EXACT, "--out", "labelled.jsonl"), "labelled.jsonl cannot be made a folder of results"),
        (("--reward", "exxact", "--rows", "labelled.jsonl"), "there is no reward 'exxact'"),
        (("--reward", "math", "--rows", "gone.jsonl"), "gone.jsonl"),
    ],
)
def test_mistakes(guerdon: Run, rows: Path, args: tuple[str, ...], says: str) -> None:
    result = guerdon("benchmark-verifiers", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
