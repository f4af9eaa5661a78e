"""The samples of a training run as Scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader
from guerdon.train.run.monitor import RunMonitor
from guerdon.train.views.run_scores import scores_of
from support.made_runs import Verdict, batch


def test_a_run_reads_as_scores(tmp_path: Path) -> None:
    monitor = RunMonitor(RunFolder(tmp_path / "run"))
    for step, verdicts in enumerate(
        [
            [Verdict("two", 0.5, parts={"form": 1.0}, prompt="1 + 1?"), Verdict("2", 1.0, prompt="1 + 1?")],
            [Verdict("x", None, "timeout")],
        ],
        1,
    ):
        monitor.scored(batch(verdicts))
        monitor.step(step, 1.0, {})
    monitor.close()
    scores = scores_of(RunReader.of(tmp_path / "run"))
    assert scores.ids == ["1/0", "1/1", "2/0"]
    assert scores.scores == [0.5, 1.0, None]
    assert [(one.prompt, one.response) for one in scores.worst(1)] == [("1 + 1?", "two")]
    assert scores[0].metrics["form"].score == 1.0
    assert scores.failed().ids == ["2/0"]
    assert [group.samples.ids for group in scores.disputed()] == [["1/0", "1/1"]]


def test_a_run_without_samples_is_said(tmp_path: Path) -> None:
    monitor = RunMonitor(RunFolder(tmp_path / "run"), keep_samples=False)
    monitor.scored(batch([Verdict("2", 1.0)]))
    monitor.step(1, 1.0, {})
    monitor.close()
    with pytest.raises(InputError, match="holds no samples"):
        scores_of(RunReader.of(tmp_path / "run"))
