"""``guerdon score``: what it writes, prints and exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli_work import Run, row, write_rows

SCORE = ("score", "my_rewards.py::exact", "samples.jsonl")
LENGTH = ("score", "my_rewards.py::length", "samples.jsonl")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_it_writes_a_row_a_sample_and_shows_statistics(guerdon: Run, work: Path) -> None:
    result = guerdon(*SCORE, "-o", "s.jsonl")
    assert result.exit_code == 0
    rows = rows_of(work / "s.jsonl")
    assert [(r["id"], r["score"], r["reward"]) for r in rows] == [
        ("s-a", 1.0, "exact"),
        ("s-b", 0.0, "exact"),
        ("s-c", 0.0, "exact"),
    ]
    assert "mean 0.333" in result.stdout
    assert "samples    3" in result.stdout
    assert "3 samples in" in result.stderr
    assert "scores in s.jsonl" in result.stderr


def test_parquet_and_json_lines_say_the_same(guerdon: Run, work: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="an extra is absent: pyarrow")
    assert guerdon(*SCORE, "-o", "s.jsonl", "--workers", "0").exit_code == 0
    assert guerdon(*SCORE, "-o", "s.parquet", "--workers", "0").exit_code == 0
    table = parquet.read_table(work / "s.parquet").to_pylist()
    assert [(r["id"], r["score"]) for r in table] == [
        (r["id"], r["score"]) for r in rows_of(work / "s.jsonl")
    ]
    assert not (work / "s.parquet.partial.jsonl").exists()


def test_without_an_output_nothing_is_written(guerdon: Run, work: Path) -> None:
    before = sorted(work.iterdir())
    assert guerdon(*SCORE, "--workers", "0").exit_code == 0
    assert [path for path in sorted(work.iterdir()) if path.name != "__pycache__"] == before


def test_a_parameter_may_have_a_name_that_we_use(guerdon: Run, work: Path) -> None:
    (work / "moody.py").write_text(
        "def moody(response, *, mode='calm', name='it'):\n    return mode == name\n"
    )
    flags = ("--param", "mode=wild", "--param", "name=wild")
    assert guerdon("score", "moody.py::moody", "samples.jsonl", *flags, "-o", "s.jsonl").exit_code == 0
    assert [r["score"] for r in rows_of(work / "s.jsonl")] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("parameters", "scores"),
    [
        ([], [0.1, 0.1, 0.1]),
        (["most=2"], [0.5, 0.5, 0.5]),
        (["most=4", "unit=characters"], [0.25, 0.25, 0.25]),
        (["unit="], [0.1, 0.1, 0.1]),
    ],
)
@pytest.mark.parametrize("workers", ["0", "1"])
def test_parameters_reach_the_reward(
    guerdon: Run, work: Path, parameters: list[str], scores: list[float], workers: str
) -> None:
    flags = [word for text in parameters for word in ("--param", text)]
    assert guerdon(*LENGTH, *flags, "-o", "s.jsonl", "--workers", workers).exit_code == 0
    assert [r["score"] for r in rows_of(work / "s.jsonl")] == scores
    if "most=4" in parameters:
        assert rows_of(work / "s.jsonl")[0]["parameters"] == {"most": 4, "unit": "characters"}


@pytest.mark.parametrize(
    ("environment", "count", "mean"),
    [
        ({"GUERDON_LIMIT": "2"}, 2, 0.1),
        ({"GUERDON_PARAM": "most=5\nunit=a b"}, 3, 0.2),
        ({"GUERDON_WORKERS": "1", "GUERDON_TIMEOUT": "5"}, 3, 0.1),
    ],
)
def test_a_variable_is_a_flag(guerdon: Run, environment: dict[str, str], count: int, mean: float) -> None:
    result = guerdon(*LENGTH, "--json", **{"GUERDON_WORKERS": "0", **environment})
    statistics = json.loads(result.stdout)["statistics"]
    assert (statistics["count"], statistics["mean"]) == (count, pytest.approx(mean))


def test_a_flag_comes_before_its_variable(guerdon: Run) -> None:
    result = guerdon(*LENGTH, "--json", "--workers", "0", "--limit", "1", GUERDON_LIMIT="2")
    assert json.loads(result.stdout)["statistics"]["count"] == 1


def test_columns_are_mapped(guerdon: Run, work: Path) -> None:
    flat = [{"q": "2 + 2?", "reply": r, "gold": "4", "level": 1} for r in ("4", "5")]
    write_rows(work / "flat.jsonl", flat)
    columns = ["--prompt-column", "q", "--response-column", "reply"]
    for gold in (["--answer-column", "gold"], ["--map", "answer=gold"]):
        result = guerdon(
            "score", "my_rewards.py::exact", "flat.jsonl", *columns, *gold, "--json", "--workers", "0"
        )
        assert json.loads(result.stdout)["statistics"]["mean"] == 0.5


def test_groups_are_compared(guerdon: Run, work: Path) -> None:
    pairs = [("a", 1), ("b", 1), ("b", 2), ("b", 2)]
    write_rows(work / "groups.jsonl", [row(r, answer="a", prompt_id=p) for r, p in pairs])
    result = guerdon(
        *("score", "my_rewards.py::exact", "groups.jsonl", "--group-by", "prompt_id"),
        *("--workers", "0", "--json"),
    )
    groups = json.loads(result.stdout)["statistics"]["groups"]
    assert (groups["count"], groups["zero_variance"]) == (2, 0.5)


def test_json_is_all_there_is_on_standard_output(guerdon: Run, work: Path) -> None:
    (work / "loud.py").write_text(
        "print('imported')\ndef loud(response):\n    print('called')\n    return 1.0\n", encoding="utf-8"
    )
    result = guerdon("score", "loud.py::loud", "samples.jsonl", "--json", "--workers", "0", "-o", "s.jsonl")
    summary = json.loads(result.stdout)
    assert {key: summary[key] for key in ("reward", "parameters", "output", "complete", "failures")} == {
        "reward": "loud",
        "parameters": {},
        "output": "s.jsonl",
        "complete": True,
        "failures": [],
    }
    assert len(summary["version"]) >= 8
    assert [finding["code"] for finding in summary["findings"]]
    assert summary["statistics"]["mean"] == 1.0
    assert "imported" in result.stderr
    assert "called" in result.stderr


def test_some_failures_are_shown_and_are_no_failure_of_the_run(guerdon: Run) -> None:
    result = guerdon("score", "my_rewards.py::fails_on_b", "samples.jsonl", "--workers", "0")
    assert result.exit_code == 0
    assert "2 scored   1 failed (33.3%)" in result.stdout
    assert "s-b  exception: ValueError: b is not for me (my_rewards.py, line" in result.stdout


def test_all_failures_are_a_failure_of_the_run_and_said_first(guerdon: Run, work: Path) -> None:
    result = guerdon("score", "my_rewards.py::fails", "samples.jsonl", "--workers", "0")
    assert result.exit_code == 1
    first, rest = result.stdout.split("\n", 1)
    assert first.startswith("All 3 samples failed with exception: ValueError: no \\x1b[31mway here")
    assert rest.startswith("\nfails ")
    assert "0 scored   3 failed (100%)" in result.stdout
    assert "ValueError: no \\x1b[31mway here" in result.stdout
    assert "\x1b" not in result.stdout
    told = guerdon(
        "score", "my_rewards.py::fails", "samples.jsonl", "--workers", "0", "--json", "-o", "s.jsonl"
    )
    assert told.exit_code == 1
    assert "Error: all 3 samples failed with exception: ValueError: no \\x1b" in told.stderr
    summary = json.loads(told.stdout)
    assert summary["all_failed"].startswith("all 3 samples failed with exception: ValueError: no ")
    assert [r["error_kind"] for r in rows_of(work / "s.jsonl")] == ["exception"] * 3
    assert [f["id"] for f in summary["failures"]] == ["s-a", "s-b", "s-c"]
    assert summary["failures"][0]["kind"] == "exception"


@pytest.mark.parametrize("output", [None, "s.jsonl"])
def test_bad_rows_are_left_out_and_kept(guerdon: Run, work: Path, output: str | None) -> None:
    write_rows(work / "mixed.jsonl", [row("abcde"), {"no": "messages"}, row("abc")])
    flags = ["--skip-bad-rows", "--workers", "0", *(["-o", output] if output else [])]
    result = guerdon("score", "my_rewards.py::length", "mixed.jsonl", *flags)
    assert result.exit_code == 0
    kept = work / ("s.rejected.jsonl" if output else "mixed.rejected.jsonl")
    assert [(r["line"], r["row"]) for r in rows_of(kept)] == [(2, {"no": "messages"})]
    assert "mean 0.4" in result.stdout
    assert f"1 malformed row left out, see {kept.name}" in result.stderr


def test_an_output_is_replaced_when_told(guerdon: Run, work: Path) -> None:
    (work / "s.jsonl").write_text("something\n" * 9, encoding="utf-8")
    assert guerdon(*SCORE, "-o", "s.jsonl", "--overwrite", "--workers", "0").exit_code == 0
    assert [r["id"] for r in rows_of(work / "s.jsonl")] == ["s-a", "s-b", "s-c"]


def test_a_complete_run_is_resumed_to_itself(guerdon: Run, work: Path) -> None:
    assert guerdon(*SCORE, "-o", "s.jsonl", "--workers", "0").exit_code == 0
    before = (work / "s.jsonl").read_bytes()
    result = guerdon(*SCORE, "-o", "s.jsonl", "--workers", "0", "--resume")
    assert result.exit_code == 0
    assert (work / "s.jsonl").read_bytes() == before
    assert "mean 0.333" in result.stdout
    assert "3 were scored before" in result.stderr


@pytest.mark.parametrize("spec", ["custom_rewards:my_reward", "custom_rewards.my_reward"])
def test_a_package_of_the_working_directory_scores_what_comes_through_a_pipe(work: Path, spec: str) -> None:
    package = work / "custom_rewards"
    package.mkdir()
    (package / "__init__.py").write_text("def my_reward(response): return 0.5\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "guerdon", "score", spec, "-", "--json"],
        input=(work / "samples.jsonl").read_text(encoding="utf-8"),
        capture_output=True,
        text=True,
        cwd=work,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["statistics"]["count"], summary["statistics"]["mean"]) == (3, 0.5)


def test_real_solutions(guerdon: Run, work: Path, data_dir: Path) -> None:
    """1,600 solutions to GSM8K; the reward reads the gold answer at the end of the solution."""
    source = data_dir / "gsm8k_model_solutions_dev.jsonl"
    (work / "gold.py").write_text(
        "def ends_in_gold(response, gold):\n    return response.strip().endswith(gold)\n", encoding="utf-8"
    )
    result = guerdon(
        *("score", "gold.py::ends_in_gold", str(source), "-o", "s.jsonl", "--json"),
        *("--prompt-column", "question", "--response-column", "response"),
        *("--map", "gold=gold", "--map", "question=question", "--group-by", "question"),
    )
    assert result.exit_code == 0, result.stderr
    samples = [json.loads(line) for line in source.read_text(encoding="utf-8").split("\n") if line]
    expected = [(s["id"], float(s["response"].strip().endswith(s["gold"]))) for s in samples]
    assert [(r["id"], r["score"]) for r in rows_of(work / "s.jsonl")] == expected
    statistics = json.loads(result.stdout)["statistics"]
    assert (statistics["count"], statistics["failed"], statistics["groups"]["count"]) == (1600, 0, 400)
    assert statistics["mean"] == pytest.approx(sum(score for _, score in expected) / 1600)


def test_rows_hold_prompt_and_response_unless_told(guerdon: Run, work: Path) -> None:
    assert guerdon(*SCORE, "-o", "s.jsonl", "--workers", "0").exit_code == 0
    given = rows_of(work / "samples.jsonl")
    assert [(r["prompt"], r["response"]) for r in rows_of(work / "s.jsonl")] == [
        (r["messages"][0]["content"], r["messages"][-1]["content"]) for r in given
    ]
    assert guerdon(*SCORE, "-o", "n.jsonl", "--workers", "0", "--no-text").exit_code == 0
    assert not {"prompt", "response", "ground_truth"} & set(rows_of(work / "n.jsonl")[0])


def test_rows_go_to_standard_output(guerdon: Run, work: Path) -> None:
    result = guerdon(*SCORE, "-o", "-", "--workers", "0")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["s-a", "s-b", "s-c"]
    assert "samples    3" in result.stderr
    assert "3 samples in" in result.stderr
    assert not (work / "-").exists()


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_for_a_spreadsheet(guerdon: Run, work: Path, suffix: str) -> None:
    assert guerdon(*SCORE, "-o", f"s.{suffix}", "--workers", "0").exit_code == 0
    head, first, *_ = (work / f"s.{suffix}").read_text(encoding="utf-8").splitlines()
    separator = "," if suffix == "csv" else "\t"
    assert head.split(separator)[:3] == ["id", "score", "error"]
    assert first.split(separator)[:3] == ["s-a", "1.0", ""]
    again = guerdon(*SCORE, "-o", f"s.{suffix}", "--resume")
    assert again.exit_code == 2
    assert f"s.{suffix} is complete; start again with --overwrite" in again.stderr
