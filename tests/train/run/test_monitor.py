"""RunMonitor: what a run leaves in its folder, and that a resumed run leaves the same."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError, ResumeError
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader
from guerdon.train.run.monitor import RunMonitor
from guerdon.train.sinks.base import StepReport
from support.made_runs import Course, Verdict, batch, line, observations, sigmoid


class Heard:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.reports: list[StepReport] = []
        self.calls: list[str] = []

    def step(self, report: StepReport) -> None:
        self.reports.append(report)

    def resume(self, step: int) -> None:
        self.calls.append(f"resume {step}")

    def flush(self) -> None:
        self.calls.append("flush")

    def close(self) -> None:
        self.calls.append("close")


def monitor_in(path: Path, **options: Any) -> tuple[RunMonitor, Heard]:
    heard = Heard()
    return RunMonitor(RunFolder(path), [heard], **options), heard


def test_the_figures_of_a_step(tmp_path: Path) -> None:
    monitor, heard = monitor_in(tmp_path)
    verdicts = [
        Verdict("=4.", 1.0, parts={"accuracy": 1.0, "format": 1.0}),
        Verdict("four", 0.0, parts={"accuracy": 0.0, "format": 0.0}),
        Verdict("=6.", 1.0, parts={"accuracy": 1.0, "format": 1.0}, prompt="3 + 3?"),
        Verdict("=6.", 1.0, parts={"accuracy": 1.0, "format": 1.0}, prompt="3 + 3?"),
        Verdict("=7.", None, kind="timeout", prompt="3 + 4?"),
        Verdict("=8.", None, prompt="4 + 4?"),
    ]
    monitor.scored(batch(verdicts[:3], seconds=0.5))
    monitor.scored(batch(verdicts[3:], seconds=0.25))
    monitor.tokens(30)
    monitor.step(1, 3.0, {"loss": 0.5, "kl": float("nan")})
    monitor.close()
    step = RunReader.of(tmp_path).steps[0]
    assert step.scalars == heard.reports[0].scalars
    expected = {
        "samples": 6.0, "scored": 4.0, "failed": 1.0, "not_applicable": 1.0, "failures/timeout": 1.0,
        "reward/mean": 0.75, "reward/var": 0.1875, "reward/min": 0.0, "reward/max": 1.0,
        "reward/accuracy/mean": 0.75, "reward/format/max": 1.0,
        "groups/count": 2.0, "groups/zero_variance": 0.5, "groups/all_high": 0.5, "groups/all_low": 0.0,
        "length/mean": 19 / 6, "length/max": 4.0, "length/correlation": -1.0,
        "time/step": 3.0, "time/reward": 0.75, "time/reward_share": 0.25,
        "tokens": 30.0, "tokens_per_second": 10.0, "length/tokens": 5.0, "train/loss": 0.5,
    }  # fmt: skip
    assert {name: step.scalars[name] for name in expected} == pytest.approx(expected)
    assert "train/kl" not in step.scalars
    assert step.histograms["reward/histogram"].levels == (0.0, 1.0)
    assert step.histograms["reward/histogram"].counts == (1, 3)


def test_held_out_batches_have_figures_of_their_own(tmp_path: Path) -> None:
    monitor, _ = monitor_in(tmp_path)
    monitor.scored(batch([Verdict(score=0.0)]))
    monitor.scored(batch([Verdict(score=1.0)] * 3, mode="eval"))
    monitor.step(1, 1.0, {})
    monitor.step(2, 1.0, {})
    monitor.close()
    first, second = RunReader.of(tmp_path).steps
    assert (first.scalars["reward/mean"], first.scalars["eval/reward/mean"]) == (0.0, 1.0)
    assert first.scalars["time/reward"] == 0.25
    assert set(second.scalars) == {"time/step"}
    assert [s.mode for s in RunReader.of(tmp_path).samples(None)] == ["train", "eval", "eval", "eval"]


def test_what_is_scored_ahead_belongs_to_its_own_step(tmp_path: Path) -> None:
    monitor, _ = monitor_in(tmp_path)
    monitor.scored(batch([Verdict(score=0.25)], step=1))
    monitor.scored(batch([Verdict(score=0.75)], step=2))
    monitor.step(1, 1.0, {})
    monitor.step(2, 1.0, {})
    monitor.close()
    assert RunReader.of(tmp_path).series("reward/mean") == ([1, 2], [0.25, 0.75])


def test_batches_may_come_from_threads(tmp_path: Path) -> None:
    monitor, _ = monitor_in(tmp_path)
    made = batch([Verdict(score=0.5)] * 4)
    threads = [threading.Thread(target=monitor.scored, args=(made,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitor.step(1, 1.0, {})
    monitor.close()
    assert RunReader.of(tmp_path).steps[0].scalars["samples"] == 64
    assert [one.position for one in RunReader.of(tmp_path).samples()] == list(range(64))


def test_the_first_samples_are_traced_where_asked(tmp_path: Path) -> None:
    monitor, heard = monitor_in(tmp_path, traced=2)
    monitor.scored(batch([Verdict("a"), Verdict("b"), Verdict("c")]))
    monitor.step(1, 1.0, {})
    assert [sample.response for sample, _ in heard.reports[0].first] == ["a", "b"]
    monitor.close()
    monitor.close()
    assert heard.calls == ["flush", "close"]


COURSE = Course(
    accuracy=sigmoid(0.1, 0.6, 0.2),
    format=lambda at: 0.5,
    length=line(50, 900, 0.4),
    failing=line(0.0, 0.4, 0.7),
)
STEPS = 60


def run_steps(monitor: RunMonitor, steps: Sequence[int]) -> None:
    """The same step is the same whenever it is done."""
    for step in steps:
        verdicts = [
            Verdict(
                "x" * seen.length,
                seen.score,
                seen.kind,
                {n: v for n, (v, _) in seen.metrics.items()},
                seen.group,
            )
            for seen in observations(COURSE, step / STEPS, random.Random(step))[::2]
        ]
        monitor.scored(batch(verdicts))
        monitor.step(step, 0.5, {"loss": 1 / step})


def left_in(path: Path) -> tuple[list[Any], list[Any], list[Any]]:
    record = RunReader.of(path)
    metrics = [(step.step, step.scalars, step.histograms) for step in record.steps]
    return metrics, record.warnings(), list(record.samples(None))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    path = tmp_path_factory.mktemp("whole")
    monitor, _ = monitor_in(path)
    run_steps(monitor, range(1, STEPS + 1))
    monitor.close()
    return path


def test_the_whole_run_is_warned_of_what_goes_wrong(whole: Path) -> None:
    found = {alarm.code for _, alarm in RunReader.of(whole).warnings()}
    assert {"length_grows", "failures_grow"} <= found


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize(
    ("ended_at", "from_step", "closed"), [(37, 30, False), (60, 45, True), (25, 25, False), (12, 0, True)]
)
def test_a_resumed_run_leaves_what_a_whole_one_does(
    whole: Path, tmp_path: Path, ended_at: int, from_step: int, closed: bool
) -> None:
    first, path = tmp_path / "first", tmp_path / "second"
    monitor, _ = monitor_in(first)
    run_steps(monitor, range(1, ended_at + 1))
    if closed:
        monitor.close()
    shutil.copytree(first, path)
    monitor.close()
    if not closed:
        # What a killed process leaves: the files as they were, and half a line.
        for name in ("metrics.jsonl", "samples.partial.jsonl"):
            with (path / name).open("ab") as file:
                file.write(b'{"step": 99, "sco')
    again, heard = monitor_in(path)
    again.resume(from_step)
    run_steps(again, range(from_step + 1, STEPS + 1))
    again.close()
    assert heard.calls[0] == f"resume {from_step}"
    assert left_in(path) == left_in(whole)
    assert not (path / "samples.partial.jsonl").exists()


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from train.run.test_monitor import monitor_in, run_steps
monitor, _ = monitor_in(Path(sys.argv[1]))
run_steps(monitor, range(1, 26))
monitor.checkpoint(25, Path(sys.argv[1]))
run_steps(monitor, range(26, 31))
print("ready", flush=True)
time.sleep(60)
"""


def test_nothing_up_to_the_checkpoint_is_lost_when_the_process_is_killed(whole: Path, tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[2])
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), tests], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [one.step for one in RunReader.of(tmp_path).steps][-1] == 30
    assert max(one.step for one in RunReader.of(tmp_path).samples()) == 30
    again, _ = monitor_in(tmp_path)
    again.resume(25)
    run_steps(again, range(26, STEPS + 1))
    again.close()
    assert left_in(tmp_path) == left_in(whole)


def test_a_run_is_not_written_into_another_one(whole: Path) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    monitor, _ = monitor_in(whole, keep_samples=False)
    with pytest.raises(InputError, match="already holds a run; resume it or choose another folder"):
        run_steps(monitor, [1])
    assert (whole / "metrics.jsonl").read_bytes() == before


def test_two_processes_do_not_write_one_run(tmp_path: Path) -> None:
    one, _ = monitor_in(tmp_path, keep_samples=False)
    run_steps(one, [1])
    other, _ = monitor_in(tmp_path, keep_samples=False)
    with pytest.raises(InputError, match="is being written by another run"):
        other.resume(1)
    other.close()
    one.close()


@pytest.mark.parametrize("text", ["no json\n", "[1]\n", '{"loss": 1}\n'])
def test_a_strange_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(text)
    monitor, _ = monitor_in(tmp_path, keep_samples=False)
    with pytest.raises(ResumeError, match=r"metrics\.jsonl, line 1 is not a line of a training run"):
        monitor.resume(1)
    monitor.close()


def test_the_configuration_says_what_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config()
    config.training.keep_samples = False
    config.training.tensorboard = False
    config.training.log_level = "debug"
    monitor = RunMonitor.of(config, RunFolder(tmp_path), 1)
    monitor.scored(batch([Verdict("=4.", 0.5, parts={"accuracy": 0.5}, reason="half right")]))
    monitor.step(1, 1.0, {})
    monitor.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl"]
    shown = capsys.readouterr().err
    for part in ("2 + 2?", "=4.", "half right", "accuracy is 0.5", "step 1/1, reward 0.500"):
        assert part in shown


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of a training run"):
        RunReader.of(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        RunReader.of(tmp_path / "none")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.json").write_text(json.dumps({"seed": 1}))
    with pytest.raises(InputError, match=r"there are runs in it, such as .*/a"):
        RunReader.of(tmp_path)
    assert RunReader.of(tmp_path / "a").manifest == {"seed": 1}
    with pytest.raises(InputError, match="holds no samples"):
        RunReader.of(tmp_path / "a").samples()


def test_a_checkpoint_leads_to_its_run(whole: Path) -> None:
    checkpoint = whole / "checkpoints" / "step-000010"
    checkpoint.mkdir(parents=True)
    assert RunReader.of(checkpoint).folder.path == whole
