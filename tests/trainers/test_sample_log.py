"""Tables of samples for trackio; those for Weights & Biases are in tests/interop/test_wandb_peer.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from guerdon import EvaluateResult, MetricResult, Sample
from guerdon.errors import InputError
from guerdon.trainers import SampleLog
from guerdon.trainers.sample_log import sample_table
from support.made_runs import Verdict, batch

ADAPTED = """
import trackio
from guerdon.trainers import SampleLog

def exact(response, answer):
    if response == "x":
        raise ValueError("half a pair: \\ud83d")
    return float(response == answer)

if __name__ == "__main__":
    from guerdon import RewardFunction
    run = trackio.init(project="tables", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    adapter = RewardFunction(exact).to_trl(observe=SampleLog(run, rows=3), on_failure=0.0, workers=0)
    adapter(prompts=["2 + 2?"] * 5, completions=["4", "5", "x", "44", "four"], answer=["4"] * 5)
    trackio.log({"loss": 0.5})
    trackio.finish()
"""
READ = """
import json
from trackio.sqlite_storage import SQLiteStorage as S
print(json.dumps([log for run in S.get_runs("tables") for log in S.get_logs("tables", run)]))
"""


def pair(response: str, score: float | None, **more: Any) -> tuple[Sample, EvaluateResult]:
    talk = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": response}]
    return Sample(talk, ground_truth=[4]), EvaluateResult(score, **more)


def test_a_table_goes_from_failures_to_the_best() -> None:
    pairs = [pair(str(i), i / 10) for i in range(10)]
    pairs.append(pair("broken", None, error="it broke", error_kind="crash"))
    columns, data = sample_table(pairs, 4)
    rows = [dict(zip(columns, row, strict=True)) for row in data]
    assert [row["response"] for row in rows] == ["broken", "2", "6", "9"]
    assert rows[0]["score"] is None
    assert (rows[0]["error"], rows[1]["error"]) == ("crash: it broke", None)
    assert {row["prompt"] for row in rows} == {"2 + 2?"}
    assert {row["ground_truth"] for row in rows} == {"[4]"}
    assert len(sample_table(pairs, 1)[1]) == 1
    assert sample_table([], 4)[1] == []


def test_metrics_are_columns_and_texts_are_cut() -> None:
    both = [
        pair("a" * 20_000, 1.0, metrics={"right": MetricResult(1.0)}),
        pair("half a pair: \ud83d", 0.5, metrics={"brief": MetricResult(0.25)}),
    ]
    columns, (low, high) = sample_table(both, 4)
    assert columns[-2:] == ["metrics/brief", "metrics/right"]
    assert (low[-2:], high[-2:]) == ([0.25, None], [None, 1.0])
    assert len(high[1]) == 10_001
    low[1].encode()


@pytest.mark.parametrize("given", [{"rows": 0}, {"every": 0}, {"rows": True}, {"every": "2"}])
def test_what_is_no_number_of_rows(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="whole number of 1 or more"):
        SampleLog(ModuleType("trackio"), **given)


def test_what_is_no_run() -> None:
    with pytest.raises(InputError, match="a run of wandb or trackio, not dict"):
        SampleLog({})


def test_a_tracker_that_breaks_does_not_end_the_training(caplog: pytest.LogCaptureFixture) -> None:
    log = SampleLog(ModuleType("trackio"))  # no run of it is going on
    for _ in range(3):
        log(batch([Verdict(score=0.5), Verdict(score=1.0)]))
    (record,) = caplog.records
    assert "takes no more tables of samples" in record.getMessage()


def test_trackio_has_the_table(tmp_path: Path) -> None:
    (tmp_path / "adapted.py").write_text(ADAPTED, encoding="utf-8")
    env = {**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio")}
    for command in (["adapted.py"], ["-c", READ]):
        done = subprocess.run(
            [sys.executable, *command], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    table, scalars = json.loads(done.stdout.splitlines()[-1])
    rows = table["tables/samples"]["_value"]
    assert [row["response"] for row in rows] == ["x", "44", "4"]
    assert [row["score"] for row in rows] == [None, 0.0, 1.0]
    assert rows[0]["error"].startswith("exception: ValueError: half a pair: ?")
    assert scalars["loss"] == 0.5
