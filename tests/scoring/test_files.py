"""Scores on disk: rows in order, completed after an interruption, refused when they are not this run's."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import guerdon
from guerdon.errors import InputError, ResumeError
from guerdon.scoring.progress import Progress
from guerdon.scoring.rows import digest_of, sealed_line


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "messages": [{"role": "assistant", "content": str(i)}], "answer": i % 3}
        for i in range(count)
    ]


def digits(response: str, answer: int, *, factor: float = 1.0) -> dict[str, Any]:
    if response == "4":
        raise ValueError("four \u2028 \ud800")
    return {"score": int(response) * factor, "reason": f"is {response}", "metrics": {"answer": answer}}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, without the checksum that those of a run have."""
    found = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [{name: value for name, value in row.items() if name != "checksum"} for row in found]


def without_seconds(path: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in read(path)]


def test_a_row_a_sample_in_order(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    scores = guerdon.score(digits, rows(8), output=path, workers=1, factor=2)
    written = read(path)
    assert scores.path == path
    assert [row["id"] for row in written] == [f"q{i}" for i in range(8)]
    assert [row["score"] for row in written] == [0.0, 2.0, 4.0, 6.0, None, 10.0, 12.0, 14.0]
    assert written[5] == {
        "id": "q5",
        "score": 10.0,
        "error": None,
        "error_kind": None,
        "reason": "is 5",
        "metrics": {"answer": {"score": 2.0}},
        "prompt": None,
        "response": "5",
        "ground_truth": 2,
        "seconds": written[5]["seconds"],
        "reward": "digits",
        "version": guerdon.get_reward_function(digits, factor=2).version,
        "parameters": {"factor": 2},
        "sample": digest_of(rows(8)[5]),
    }
    assert written[4]["error"].startswith("ValueError: four \u2028 \ud800")
    assert written[4]["error_kind"] == "exception"


def test_written_scores_are_the_scores_themselves(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    scores = guerdon.score(digits, rows(8), output=path, workers=0)
    again = [{k: v for k, v in row.items() if k != "sample"} for row in read(path)]
    assert again == [json.loads(json.dumps(row)) for row in scores.rows()]
    copy = scores.write(tmp_path / "copy.jsonl")
    assert read(copy) == again


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    scores = guerdon.score(digits, rows(8), output=path, workers=0)
    table = pyarrow.parquet.read_table(path)
    assert table.column("id").to_pylist() == [f"q{i}" for i in range(8)]
    assert table.column("score").to_pylist() == scores.scores
    assert table.column("metrics.answer").to_pylist() == [0, 1, 2, 0, None, 2, 0, 1]
    assert json.loads(table.column("metrics")[5].as_py()) == {"answer": {"score": 2.0}}
    assert [p.name for p in tmp_path.iterdir()] == ["scores.parquet"]


def test_text_that_is_no_utf8_goes_into_parquet_too(tmp_path: Path) -> None:
    def odd(response: str) -> dict[str, Any]:
        return {"score": 1, "reason": "a \ud800", "metrics": {"m\udfff": 0.5}}

    path = tmp_path / "scores.parquet"
    guerdon.score(odd, [{**rows(1)[0], "id": "q\ud800"}], output=path, workers=1)
    (row,) = pyarrow.parquet.read_table(path).to_pylist()
    assert (row["id"], row["reason"], row["metrics.m?"]) == ("q?", "a ?", 0.5)


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.parquet"])
def test_parameters_of_any_kind_are_written(tmp_path: Path, name: str) -> None:
    def odd(response: str, *, limit: Any = None) -> float:
        return 1.0

    limit = {"high": float("inf"), "of": [float("nan"), 1.5], "set": {1}}
    path = tmp_path / name
    guerdon.score(odd, ["x"], output=path, workers=0, limit=limit)
    if name.endswith("jsonl"):
        (row,) = read(path)
        assert row["parameters"]["limit"]["high"] == "inf"
        assert row["parameters"]["limit"]["of"] == ["nan", 1.5]
    else:
        assert pyarrow.parquet.read_table(path).num_rows == 1
    guerdon.score(odd, ["x"], output=tmp_path / f"again.{name}", resume=True, workers=0, limit=limit)


def test_an_existing_file_is_kept_without_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    guerdon.score(digits, rows(3), output=path, workers=0)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"exists already; complete it with --resume or start again"):
        guerdon.score(digits, rows(3), output=path, workers=0)
    assert path.read_bytes() == before
    guerdon.score(digits, rows(2), output=path, overwrite=True, workers=0)
    assert len(read(path)) == 2


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("kept", [0, 1, 5, 8])
@pytest.mark.parametrize("torn", [b"", b'{"id": "q9", "sco', b"\xff"])
def test_resuming_scores_only_what_is_missing(tmp_path: Path, suffix: str, kept: int, torn: bytes) -> None:
    called = tmp_path / "called"

    def reward(response: str) -> float:
        with called.open("a") as file:
            file.write(response + "\n")
        return float(response)

    whole = tmp_path / "whole.jsonl"
    guerdon.score(reward, rows(8), output=whole, workers=0)
    called.unlink()
    path = tmp_path / f"scores.{suffix}"
    journal = path if suffix == "jsonl" else tmp_path / "scores.parquet.partial.jsonl"
    lines = whole.read_bytes().split(b"\n")
    journal.write_bytes(b"".join(line + b"\n" for line in lines[:kept]) + torn)

    scores = guerdon.score(reward, rows(8), output=path, resume=True, workers=0)

    assert scores.scores == [float(i) for i in range(8)]
    assert scores.statistics().mean == 3.5
    assert (called.read_text().split() if called.exists() else []) == [str(i) for i in range(kept, 8)]
    if suffix == "jsonl":
        assert without_seconds(path) == without_seconds(whole)
    else:
        assert pyarrow.parquet.read_table(path).column("score").to_pylist() == scores.scores


def test_resuming_a_complete_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    guerdon.score(digits, rows(5), output=path, workers=0)
    before = path.read_bytes()
    scores = guerdon.score(digits, rows(5), output=path, resume=True, workers=0)
    assert path.read_bytes() == before
    assert scores[4].error_kind == "exception"


def test_resuming_where_nothing_is_starts(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    guerdon.score(digits, rows(3), output=path, resume=True, workers=0)
    assert len(read(path)) == 3


def _other_parameter(path: Path) -> None:
    guerdon.score(digits, rows(5), output=path, resume=True, workers=0, factor=3)


def _other_reward(path: Path) -> None:
    guerdon.score(lambda response: 1.0, rows(5), output=path, resume=True, workers=0)


def _other_answer(path: Path) -> None:
    changed = rows(5)
    changed[1]["answer"] = 7
    guerdon.score(digits, changed, output=path, resume=True, workers=0)


def _other_order(path: Path) -> None:
    guerdon.score(digits, rows(5)[::-1], output=path, resume=True, workers=0)


def _fewer_samples(path: Path) -> None:
    guerdon.score(digits, rows(2), output=path, resume=True, workers=0)


def _foreign_line(path: Path) -> None:
    path.write_bytes(b'{"id": 1}\n' + path.read_bytes())
    guerdon.score(digits, rows(5), output=path, resume=True, workers=0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            _other_parameter,
            r"line 1 was scored by digits \w+, and the reward is now digits \w+: its source or",
        ),
        (_other_reward, r"scored by digits \w+, and the reward is now lambda"),
        (_other_answer, r"line 2: sample 'q1' is not the one that was scored, so the data changed"),
        (_other_order, r"line 1: sample 'q4' is not the one"),
        (_fewer_samples, "has more rows than there are samples"),
        (_foreign_line, "line 1 is not as guerdon wrote it: its checksum is missing or wrong"),
    ],
)
def test_a_file_of_another_run_is_refused_and_kept(
    tmp_path: Path, change: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "scores.jsonl"
    guerdon.score(digits, rows(4), output=path, workers=0)
    size = path.stat().st_size
    with pytest.raises(ResumeError, match=words):
        change(path)
    assert path.stat().st_size >= size


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scores.xlsx", "to a file that ends in .jsonl, .csv, .tsv or .parquet"),
        ("scores", "to a file that ends in .jsonl, .csv, .tsv or .parquet"),
        ("nowhere/scores.jsonl", "there is no folder"),
    ],
)
def test_an_unusable_output_is_said_at_once(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        guerdon.score(digits, rows(1), output=tmp_path / name)


def test_a_row_nested_too_deep_to_be_written_fails_alone(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    scores = guerdon.score(
        lambda response: 1.0, [*rows(1), {**rows(1)[0], "more": deep}], output=tmp_path / "scores.jsonl"
    )
    assert scores.scores == [1.0, None]


def test_a_pipe_is_no_scores_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "scores.jsonl")
    with pytest.raises(InputError, match="it is not an ordinary file"):
        guerdon.score(digits, rows(1), output=tmp_path / "scores.jsonl")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_link_is_written_through(tmp_path: Path, suffix: str) -> None:
    link, target = tmp_path / f"link{suffix}", tmp_path / f"target{suffix}"
    link.symlink_to(target)
    guerdon.score(digits, rows(1), output=link)
    assert link.is_symlink()
    assert target.stat().st_size


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"

    def samples() -> Iterator[dict[str, Any]]:
        yield rows(1)[0]
        with pytest.raises(InputError, match="being written by another run"):
            guerdon.score(digits, rows(1), output=path, resume=True, workers=0)

    # The rows that are looked at first do not hold the file yet, so more than those are needed.
    def many() -> Iterator[dict[str, Any]]:
        yield from rows(100)
        yield from samples()

    assert len(guerdon.score(digits, many(), output=path, workers=0)) == 101


def test_a_batch_that_was_cut_is_scored_whole(tmp_path: Path) -> None:
    @guerdon.reward_function(mode="batch")
    def rank(response: list[str]) -> list[float]:
        return [float(len(response))] * len(response)

    path = tmp_path / "scores.jsonl"
    guerdon.score(rank, rows(10), output=path, batch_size=4, workers=0)
    whole = without_seconds(path)
    for kept in range(11):
        path.write_bytes(b"".join(sealed_line({**row, "seconds": 0}) for row in whole[:kept]))
        scores = guerdon.score(rank, rows(10), output=path, batch_size=4, resume=True, workers=0)
        assert scores.scores == [4.0] * 8 + [2.0] * 2
        assert without_seconds(path) == whole


FULL = """
import resource, sys, guerdon

def reward(response):
    return float(response)

samples = [{"messages": [{"role": "assistant", "content": str(i)}]} for i in range(2000)]
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    print(guerdon.score(reward, samples, workers=0, output=sys.argv[1], resume=True).scores == [*range(2000)])
except guerdon.RewardError as error:
    print(error)
"""


def test_a_full_disk_is_said_and_what_was_written_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    command = [sys.executable, "-c", FULL, str(path)]
    full = subprocess.run([*command, "full"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "scores.jsonl: File too large; what was written so far stays" in full.stdout
    assert 0 < path.stat().st_size <= 100_000
    again = subprocess.run([*command, "empty"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert again.stdout == "True\n"


COUNT = 1_000_000
MILLION = """
import resource, sys, guerdon

def reward(response):
    return len(response) % 7

def samples():
    for i in range({count}):
        yield {{"id": i, "messages": [{{"role": "user", "content": "q"}},
                                    {{"role": "assistant", "content": "x" * (i % 11)}}]}}

scores = guerdon.score(reward, samples(), workers=2, output=sys.argv[1], resume=True)
own = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(len(scores), own // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_million_samples_killed_at_random_lose_and_double_nothing_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    command = [sys.executable, "-c", MILLION.format(count=COUNT), str(path)]
    moments = random.Random(20)
    for _ in range(3):
        run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        before = path.stat().st_size if path.exists() else 0
        while run.poll() is None and (not path.exists() or path.stat().st_size <= before):
            time.sleep(0.05)
        time.sleep(moments.uniform(0.5, 4.0))
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        assert path.stat().st_size > before
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == COUNT
    assert megabytes < 300
    with path.open() as lines:
        for i, line in enumerate(lines):
            row = json.loads(line)
            assert (row["id"], row["score"]) == (i, i % 11 % 7)
    assert i == COUNT - 1


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_separated_values_have_the_same_rows(tmp_path: Path, suffix: str, separator: str) -> None:
    path = tmp_path / f"scores{suffix}"
    scores = guerdon.score(digits, rows(8), output=path, workers=0)
    with path.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file, delimiter=separator))
    assert [row["id"] for row in written] == [f"q{i}" for i in range(8)]
    assert [row["score"] for row in written] == ["" if s is None else str(s) for s in scores.scores]
    assert [row["response"] for row in written] == [str(i) for i in range(8)]
    assert [row["metrics.answer"] for row in written[:4]] == ["0.0", "1.0", "2.0", "0.0"]
    assert written[4]["error"].startswith("ValueError: four")
    assert not path.with_name(path.name + ".partial.jsonl").exists()


def test_an_interrupted_table_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"

    def breaks() -> Iterator[dict[str, Any]]:
        yield from rows(80)
        raise RuntimeError("the source ends")

    with pytest.raises(RuntimeError):
        guerdon.score(digits, breaks(), output=path, workers=1)
    assert not path.exists()
    told: list[Progress] = []
    scores = guerdon.score(digits, rows(90), output=path, workers=0, resume=True, progress=told.append)
    assert told[-1].resumed == 80
    assert [one.response for one in scores.worst(2)] == ["0", "1"]
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["response"] for row in csv.DictReader(file)] == [str(i) for i in range(90)]


def test_rows_go_to_a_stream(tmp_path: Path) -> None:
    stream = io.StringIO()
    scores = guerdon.score(digits, rows(3), output=stream, workers=0)
    assert [json.loads(line)["id"] for line in stream.getvalue().splitlines()] == ["q0", "q1", "q2"]
    assert scores.path is None
    with pytest.raises(InputError, match="resume needs the path of a file"):
        guerdon.score(digits, rows(3), output=stream, workers=0, resume=True)


def test_rows_without_text(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    scores = guerdon.score(digits, rows(3), output=path, workers=0, text=False)
    assert not {"prompt", "response", "ground_truth"} & set(read(path)[0])
    assert next(iter(scores.rows())).keys() == read(path)[0].keys() - {"sample"}
    table = pyarrow.parquet.read_table(scores.write(tmp_path / "scores.parquet"))
    assert "response" not in table.column_names
    lengths = scores.statistics().lengths
    assert lengths is not None
    assert lengths.mean == 1
