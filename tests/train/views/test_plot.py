"""The picture of a run: that it is one, what it shows, and what is said where it cannot be drawn."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from guerdon.cli.commands.train.plot import plot as command
from guerdon.errors import InputError, MissingExtraError
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.run_reader import RunReader
from guerdon.train.run.monitor import RunMonitor
from guerdon.train.views.plot import plot
from support.made_runs import Course, Verdict, batch, line, observations, sigmoid

COURSE = Course(accuracy=sigmoid(0.05, 0.9), format=sigmoid(0.1, 1.0, 0.2), failing=line(0.0, 0.1))


def make_run(path: Path, steps: int) -> Path:
    monitor, luck = RunMonitor(RunFolder(path), keep_samples=False), random.Random(0)
    for step in range(1, steps + 1):
        seen = observations(COURSE, step / steps, luck)[:16]
        parts = [{name: value for name, (value, _) in one.metrics.items()} for one in seen]
        verdicts = [
            Verdict("x" * one.length, one.score, one.kind, part, one.group)
            for one, part in zip(seen, parts, strict=True)
        ]
        monitor.scored(batch(verdicts))
        if step % 10 == 0:
            monitor.scored(batch([Verdict(score=step / steps)], mode="eval"))
        monitor.step(step, 1.0, {"loss": 1 / step, "kl": 0.1})
    monitor.close()
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_run(tmp_path_factory.mktemp("run"), 40)
    (path / "run.json").write_text(json.dumps({"reward": {"name": "math $x"}, "backend": "trl"}))
    share = {"value": 0.25, "low": 0.2, "high": 0.3, "of": 40}
    (path / "evaluations").mkdir()
    (path / "evaluations" / "step-000040-greedy.json").write_text(
        json.dumps(
            {
                "inference": "greedy",
                "before": {"step": 0, "accuracy": share},
                "after": {"step": 40, "accuracy": {**share, "value": 0.9}},
            }
        )
    )
    (path / "evaluations" / "broken.json").write_text("{")
    return path


def panels(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Title and legend of each panel as it is drawn."""
    from matplotlib.axes import Axes

    drawn: dict[str, list[str]] = {}
    title = Axes.set_title

    def noted(self: Axes, label: str, **options: object) -> object:
        drawn[label] = [str(text) for text in self.get_legend_handles_labels()[1]]
        return title(self, label, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Axes, "set_title", noted)
    plot(RunReader.of(path), path / "again.png")
    return drawn


def test_every_curve_is_there(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert panels(run, monkeypatch) == {
        "reward: mean ± standard deviation": ["training", "held-out"],
        "components: mean": ["accuracy", "format"],
        "groups": ["zero-variance", "all at the lowest score", "all at the highest score"],
        "completion length: mean": ["characters"],
        "length against score": ["rank correlation of length and score"],
        "failed samples": ["timeout"],
        "time in rewards": ["share of the step"],
        "trainer": ["loss", "kl"],
        "held-out accuracy, 95 % interval": ["greedy"],
    }


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize(
    ("output", "begins"),
    [(None, b"\x89PNG\r\n"), ("a.png", b"\x89PNG\r\n"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")],
)
def test_the_command_draws_a_file(run: Path, tmp_path: Path, output: str | None, begins: bytes) -> None:
    target = run / "plot.png" if output is None else tmp_path / output
    done = CliRunner().invoke(command, [str(run), *([] if output is None else ["-o", str(target)])])
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{target}\n"
    assert target.read_bytes().startswith(begins)


def test_a_picture_is_not_blank(run: Path) -> None:
    import matplotlib.image

    pixels = matplotlib.image.imread(plot(RunReader.of(run)))
    assert pixels.shape[0] > 800
    assert pixels.shape[1] > 1200
    assert 0.005 < (pixels[..., :3].min(axis=2) < 0.9).mean() < 0.5


def test_a_short_run_can_be_drawn(tmp_path: Path) -> None:
    assert plot(RunReader.of(make_run(tmp_path, 1))).stat().st_size > 10_000


def test_odd_characters_in_a_damaged_run_are_drawn_as_escapes(tmp_path: Path) -> None:
    run = make_run(tmp_path, 5)
    warning = {"step": 2, "code": "a$\ud800\x07", "severity": "critical", "text": "x", "remedy": "y"}
    (run / "warnings.jsonl").write_text(json.dumps(warning) + "\n")
    (run / "run.json").write_text(json.dumps({"reward": {"name": "m$\ud800"}}))
    assert RunReader.of(run).warnings()
    assert plot(RunReader.of(run)).stat().st_size > 10_000


@pytest.mark.parametrize("steps", [1, 3, 6, 40])
def test_ticks_are_whole_steps_and_the_band_is_within_the_scores(
    tmp_path: Path, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig

    def noted(self: Figure, *args: object, **options: object) -> None:
        drawn.append(self)
        save(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", noted)
    plot(RunReader.of(make_run(tmp_path, steps)))
    (figure,) = drawn
    for axes in figure.axes:
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick == int(tick) for tick in ticks)
    (band,) = figure.axes[0].collections[:1]
    heights = band.get_paths()[0].vertices[:, 1]
    # Scores lie between 0 and 1, and the mean of 40 steps comes within a deviation of both.
    assert heights.min() >= 0
    assert heights.max() <= 1


def test_no_steps_and_other_files_are_said(run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="has no steps to draw yet"):
        plot(RunReader.of(tmp_path))
    with pytest.raises(InputError, match=r"ends in \.png, \.pdf, \.svg"):
        plot(RunReader.of(run), "a.txt")
    with pytest.raises(InputError, match="cannot write"):
        plot(RunReader.of(run), tmp_path / "none" / "a.png")


def test_without_matplotlib(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r'pip install "guerdon\[train\]"'):
        plot(RunReader.of(run))
