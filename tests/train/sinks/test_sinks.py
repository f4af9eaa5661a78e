"""The places that a run's numbers go to, each read back with its own means."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from guerdon.errors import MissingExtraError
from guerdon.scoring.statistics.summary import Histogram
from guerdon.train.config.schema import Config
from guerdon.train.diagnostics.step_statistics import Observation
from guerdon.train.diagnostics.trends import Alarm, WarningChange
from guerdon.train.records.folder import RunFolder
from guerdon.train.run.monitor import RunMonitor
from guerdon.train.sinks.base import StepReport
from guerdon.train.sinks.tensorboard import TensorBoardSink
from guerdon.train.sinks.terminal import TerminalOptions, TerminalSink, sparkline
from guerdon.train.sinks.tracker import TrackedRun
from guerdon.train.sinks.trackio import trackio_sink
from guerdon.train.sinks.wandb import wandb_sink
from support.made_runs import Verdict, batch


def report(step: int, mean: float = 0.5, **more: Any) -> StepReport:
    scalars = {
        "reward/mean": mean, "reward/var": 0.04, "groups/zero_variance": 0.125, "failed": 2.0, "length/mean": 41.7,
        "tokens_per_second": 12345.0, "time/step": 0.5, "time/reward_share": 0.07,
    }  # fmt: skip
    bars = {"reward/histogram": Histogram(edges=(0.0, 0.5, 1.0), counts=(3, 5), levels=(0.0, 1.0))}
    return StepReport(step=step, scalars=scalars, histograms=bars, **more)


def console(width: int = 80, *, terminal: bool = False) -> Console:
    return Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, highlight=False
    )


def shown(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


# TensorBoard.


def accumulated(folder: Path) -> Any:
    accumulators = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    found = accumulators.EventAccumulator(str(folder))
    found.Reload()
    return found


def test_tensorboard_has_scalars_and_histograms(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path)
    for step in (1, 2):
        sink.step(report(step, mean=step / 4))
    sink.flush()
    sink.close()
    found = accumulated(tmp_path)
    assert [(event.step, event.value) for event in found.Scalars("reward/mean")] == [(1, 0.25), (2, 0.5)]
    tensor = found.Tensors("reward/histogram")[0].tensor_proto
    arrays = importlib.import_module("tensorboard.util.tensor_util")
    assert arrays.make_ndarray(tensor).tolist() == [[0.0, 0.5, 3.0], [0.5, 1.0, 5.0]]


def test_tensorboard_hides_what_a_resumed_run_does_again(tmp_path: Path) -> None:
    first = TensorBoardSink(tmp_path)
    for step in (1, 2, 3, 4):
        first.step(report(step, mean=0.0))
    first.close()
    again = TensorBoardSink(tmp_path)
    again.resume(2)
    again.step(report(3, mean=1.0))
    again.close()
    found = [(event.step, event.value) for event in accumulated(tmp_path).Scalars("reward/mean")]
    assert found == [(1, 0.0), (2, 0.0), (3, 1.0)]


# The terminal.


def test_a_run_without_a_terminal_makes_few_lines() -> None:
    screen = console(200)
    sink = TerminalSink(TerminalOptions(total=1000), screen, clock=lambda: 0.0)
    for step in range(1, 1001):
        sink.step(report(step, mean=step / 1000))
    sink.close()
    lines = shown(screen).splitlines()
    assert len(lines) == 11
    assert lines[0].startswith(
        "step 1/1,000, reward 0.001 ± 0.200, 12.5% zero-variance groups, 2 failed, 41.7 characters"
    )
    assert lines[-1].startswith("step 1,000/1,000, reward 1.000")


def test_a_run_of_unknown_length_makes_a_line_a_minute() -> None:
    screen, now = console(200), [0.0]
    sink = TerminalSink(TerminalOptions(), screen, clock=lambda: now[0])
    for step in range(1, 181):
        now[0] += 1.0
        sink.step(report(step))
    sink.close()
    assert [line.split(",")[0] for line in shown(screen).splitlines()] == [
        "step 1", "step 61", "step 121", "step 180",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [80, 40, 100])
def test_what_is_drawn_fits_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen, now = console(width, terminal=True), [0.0]
    sink = TerminalSink(TerminalOptions(total=100, title="grpo on trl"), screen, clock=lambda: now[0])
    for step in range(1, 101):
        now[0] += 0.2
        sink.step(report(step, mean=step / 100))
    sink.close()
    plain = shown(screen)
    for piece in ("grpo on trl", "99/100", "reward 0.990 ± 0.200", "█"):
        assert piece in plain
    drawn = [line for part in plain.split("\r") for line in part.replace("\x1b[1A", "").split("\n")]
    cells = [line.replace("\x1b[2K", "").replace("\x1b[?25l", "").replace("\x1b[?25h", "") for line in drawn]
    assert max(len(line) for line in cells if "step 100/100" not in line) <= width


def test_warnings_are_said_above_the_bar() -> None:
    screen = console(200)
    sink = TerminalSink(TerminalOptions(total=10), screen)
    alarm = Alarm("collapse", "critical", "The reward collapses: \x1b[31m0.1.", "Go back.")
    sink.step(report(3, warning_change=WarningChange((alarm,))))
    assert "critical at step 3: The reward collapses: \\x1b[31m0.1. Go back." in shown(screen)


def test_statistics_come_every_ten_steps() -> None:
    screen = console(80)
    sink = TerminalSink(TerminalOptions(total=40, statistics=True), screen)
    seen = [Observation(i / 4, None, {"format": (1.0, None)}, str(i // 4), 5) for i in range(8)]
    for step in range(1, 26):
        sink.step(report(step, seen=seen))
    text = shown(screen)
    assert [line.split(" ─")[0] for line in text.splitlines() if "Rewards of" in line] == [
        "Rewards of steps 1 to 10", "Rewards of steps 11 to 20",
    ]  # fmt: skip
    sink.close()
    assert "Rewards of steps 21 to 25" in shown(screen)
    for piece in (
        "samples    80",
        "mean 0.875",
        "min 0",
        "max 1.75",
        "format",
        "groups     20 of 4 on average",
    ):
        assert piece in text


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [
        ([], 10, ""),
        ([0.0], 10, "▁"),
        ([0.7], 10, "█"),
        ([0.0, 0.5, 1.0], 10, "▁▅█"),
        ([-1.0, 0.0, 1.0], 10, "▁▅█"),
        ([0.0] * 10 + [1.0] * 10, 4, "▁▁██"),
        ([0.5, 0.5], 0, ""),
    ],
)
def test_the_course_in_one_line(values: list[float], width: int, line: str) -> None:
    assert sparkline(values, width) == line


# Trackers.

WORK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from train.sinks.test_sinks import trackers_run
trackers_run(Path(sys.argv[1]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
"""


def trackers_run(folder: Path, tracker: str, first: int, last: int) -> None:
    """Steps of a run in a process of its own, since trackers hold state of the process."""
    config = Config()
    config.training.tensorboard = config.training.keep_samples = False
    setattr(config.training, f"{tracker}_project", "guerdon-tests")
    monitor = RunMonitor.of(config, RunFolder(folder), last)
    if first > 1:
        monitor.resume(first - 1)
    for step in range(first, last + 1):
        monitor.scored(batch([Verdict(score=step / 10, parts={"format": 1.0})] * 2))
        monitor.step(step, 1.0, {})
    monitor.close()


def in_process(tmp_path: Path, tracker: str, first: int, last: int, **variables: str) -> str:
    tests = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(tmp_path / "run"), tests, tracker, str(first), str(last)],
        env={**os.environ, **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "is lost for this run" not in done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.slow(seconds=7)
def test_trackio_has_the_run_in_its_database(tmp_path: Path) -> None:
    folder = str(tmp_path / "trackio")
    in_process(tmp_path, "trackio", 1, 3, TRACKIO_DIR=folder)
    in_process(tmp_path, "trackio", 4, 5, TRACKIO_DIR=folder)
    read = (
        "import json; from trackio.sqlite_storage import SQLiteStorage as S; p = 'guerdon-tests'; "
        "logs = [S.get_logs(p, run) for run in S.get_runs(p)]; "
        "print(json.dumps([[[m['step'], m['reward/mean'], len(m.get('tables/samples', {}).get('_value', []))] "
        "for m in log] for log in logs]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", read],
        env={**os.environ, "TRACKIO_DIR": folder},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [
        [[1, 0.1, 2], [2, 0.2, 0], [3, 0.3, 0], [4, 0.4, 0], [5, 0.5, 0]]
    ]


@pytest.mark.parametrize(("key", "make"), [("wandb", wandb_sink), ("trackio", trackio_sink)])
def test_a_tracker_that_is_not_installed_is_named(
    key: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, key, None)
    with pytest.raises(
        MissingExtraError, match=f"training.{key}_project needs the package: pip install {key}"
    ):
        make(TrackedRun(project="p", folder=tmp_path))


def test_tensorboard_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'pip install "guerdon\[train\]"'):
        TensorBoardSink(tmp_path)


def test_a_tracker_that_breaks_does_not_end_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken = trackio_sink(TrackedRun(project="registry-none", folder=tmp_path))
    for step in (1, 2):
        broken.step(report(step))
    broken.close()
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "trackio is lost for this run; the run continues"
    ]
