"""Folders of training runs as data."""

from __future__ import annotations

from pathlib import Path

import pytest

import guerdon
from guerdon.data import open_dataset
from guerdon.errors import InputError
from guerdon.train.records.folder import RunFolder
from guerdon.train.run.monitor import RunMonitor
from support.made_runs import Verdict, batch


def exact(response: str, ground_truth: str, level: int) -> bool:
    assert level in (1, 2)
    return response == ground_truth


def run_in(folder: Path) -> RunMonitor:
    monitor = RunMonitor(RunFolder(folder))
    for step in (1, 2):
        verdicts = [
            Verdict(prompt=f"{n} + {n}?", completion=said, truth="4", score=0.5, columns={"level": n})
            for n in (1, 2)
            for said in ("4", "5")
        ]
        monitor.scored(batch(verdicts))
        monitor.step(step, 1.0, {})
    return monitor


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "going on"])
def test_a_run_is_scored_again(tmp_path: Path, ended: bool) -> None:
    monitor = run_in(tmp_path / "run")
    if ended:
        monitor.close()
    samples = list(open_dataset(tmp_path / "run"))
    assert [sample.metadata["run.step"] for sample in samples] == [1] * 4 + [2] * 4
    assert len({sample.metadata["run.group"] for sample in samples}) == 4
    scores = guerdon.score(exact, open_dataset(tmp_path / "run"), group_by="run.group", workers=0)
    assert [result.score for result in scores] == [1.0, 0.0] * 4
    assert scores.statistics().groups is not None
    assert scores.statistics().groups.count == 4
    monitor.close()  # further calls do nothing


def test_a_run_without_samples_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="training run without samples"):
        list(open_dataset(tmp_path))


def test_a_folder_of_data_is_none(tmp_path: Path) -> None:
    row = '{"messages": [{"role": "assistant", "content": "4"}], "ground_truth": "4", "level": 1}\n'
    (tmp_path / "metrics.jsonl").write_text(row, encoding="utf-8")
    assert len(list(open_dataset(tmp_path))) == 1


def test_a_line_that_is_none_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "samples.partial.jsonl").write_text('{"step": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="it has no sample"):
        list(open_dataset(tmp_path))
