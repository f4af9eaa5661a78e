"""What inspecting a run finds, and how the command shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from guerdon.cli.commands.train.inspect import inspect as command
from guerdon.errors import InputError
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader
from guerdon.train.run.monitor import RunMonitor
from guerdon.train.views.inspect import Inspection, inspect
from support.made_runs import Verdict, batch


def v(prompt: str, completion: str, accuracy: float, form: float) -> Verdict:
    return Verdict(
        completion, 0.5 * accuracy + 0.5 * form, parts={"accuracy": accuracy, "format": form}, prompt=prompt
    )


RUN: Sequence[Sequence[Verdict]] = [
    [v("1 + 1?", "no idea", 0.0, 0.0), v("1 + 1?", "two", 1.0, 0.0), v("2 + 2?", "=4.", 1.0, 1.0)],
    [v("3 + 3?", "=7.", 0.0, 1.0), v("3 + 3?", "seven", 0.0, 0.0), Verdict("x" * 900, None, "timeout")],
    [v("1 + 1?", "=2.", 1.0, 1.0), v("1 + 1?", "=2.\x1b[2J", 1.0, 1.0), v("2 + 2?", "4", 1.0, 0.0)],
    [v("3 + 3?", "=8.", 0.0, 1.0), v("3 + 3?", "=6.", 1.0, 1.0), Verdict("y", None, "timeout")],
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "tiny"
    monitor = RunMonitor(RunFolder(path))
    for step, verdicts in enumerate(RUN, 1):
        monitor.scored(batch(verdicts))
        if step == 2:
            monitor.scored(batch([v("1 + 1?", "held out", 1.0, 1.0)], mode="eval"))
        monitor.step(step, 1.0, {})
    monitor.close()
    return path


@pytest.fixture(scope="module")
def found(run: Path) -> Inspection:
    return inspect(RunReader.of(run), 2)


def test_the_counts(found: Inspection) -> None:
    assert (found.samples, found.failed, found.steps) == (12, 2, 4)


def test_of_equal_samples_the_later_and_each_prompt_once(found: Inspection) -> None:
    assert [(one.step, one.sample.response) for one in found.best] == [(4, "=6."), (3, "=2.\x1b[2J")]
    assert [(one.step, one.sample.response) for one in found.worst] == [(2, "seven"), (1, "no idea")]


def test_the_prompts_that_changed_most(found: Inspection) -> None:
    one, two = found.changed
    assert (one.first.sample.prompt, one.before, one.after, one.by) == ("1 + 1?", 0.25, 1.0, 0.75)
    assert (one.first.sample.response, one.last.sample.response) == ("no idea", "=2.")
    assert {one.first.sample.prompt, two.first.sample.prompt} <= {"1 + 1?", "2 + 2?", "3 + 3?"}
    assert abs(two.by) == 0.5


def test_the_components_that_disagree(found: Inspection) -> None:
    one, two = found.disagreeing
    assert (one.sample.sample.response, one.high, one.low, one.gap) == ("=8.", "format", "accuracy", 1.0)
    assert (two.sample.sample.response, two.high, two.low) == ("4", "accuracy", "format")


def test_the_last_failure_of_each_kind(found: Inspection) -> None:
    assert [(one.step, one.error_kind) for one in found.failures] == [(4, "timeout")]


def test_a_growing_run_is_read_as_well(tmp_path: Path, found: Inspection) -> None:
    monitor = RunMonitor(RunFolder(tmp_path))
    for step, verdicts in enumerate(RUN, 1):
        monitor.scored(batch(verdicts))
        monitor.step(step, 1.0, {})
    assert inspect(RunReader.of(tmp_path), 2) == found
    monitor.close()


@pytest.mark.parametrize("columns", [80, 50])
def test_the_command_shows_it(run: Path, columns: int) -> None:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(command, [str(run), "-n", "2"])
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert max(map(len, text.splitlines())) <= columns
    for part in (
        "4 steps, 12 samples, 2 failed", "Best", "Worst", "Most changed", "Components that disagree", "Failed",
        "mean score 0.25 in step 1, 1", "=2.\\x1b[2J", "format is high and accuracy is low", "timeout: it broke",
    ):  # fmt: skip
        assert part in text.replace("\n           ", " ")
    assert "\x1b[2J" not in text


def test_the_command_gives_json(run: Path) -> None:
    done = CliRunner().invoke(command, [str(run), "--json", "-n", "1"])
    said = json.loads(done.stdout)
    assert said["best"][0]["components"] == {"accuracy": 1.0, "format": 1.0}
    assert said["changed"][0]["before"] == 0.25
    assert (said["samples"], said["warnings"]) == (12, [])


def test_a_run_without_components_or_samples(tmp_path: Path) -> None:
    monitor = RunMonitor(RunFolder(tmp_path / "a"))
    monitor.scored(batch([Verdict(score=1.0)]))
    monitor.step(1, 1.0, {})
    monitor.close()
    one = inspect(RunReader.of(tmp_path / "a"))
    assert (len(one.best), one.changed, one.disagreeing, one.failures) == (1, [], [], [])
    bare = RunMonitor(RunFolder(tmp_path / "b"), keep_samples=False)
    bare.step(1, 1.0, {})
    bare.close()
    with pytest.raises(InputError, match="holds no samples"):
        inspect(RunReader.of(tmp_path / "b"))
