"""The curves of a run as an image, drawn by matplotlib without a display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.console.text import visible
from guerdon.errors import InputError, MissingExtraError
from guerdon.scoring.rows import is_number
from guerdon.train.records.run_reader import RunReader

SUFFIXES = (".png", ".pdf", ".svg")

SMOOTHED = 20
"""Steps from which a curve is drawn faint, with a running mean over a twentieth of the run upon it."""

COMPONENTS = 8
"""Most components that are drawn; a legend of more is no help."""

_ALARMS = 6
_DPI = 120
_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#555555")


@dataclass(frozen=True, slots=True)
class _PlotCurve:
    label: str
    steps: Sequence[int]
    values: Sequence[float]
    band: Sequence[tuple[float, float]] | None = None
    """Where the band around the curve ends, below and above."""
    reaches: Sequence[tuple[float, float]] | None = None
    """How far below and above each dot its interval ends."""
    dots: bool = False
    style: str = "-"


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    curves: Sequence[_PlotCurve]
    share: bool = False
    """Whether the values are shares, from 0 to 1."""
    signed: bool = False
    """Whether the values lie between -1 and 1."""


def plot(reader: RunReader, path: str | Path | None = None) -> Path:
    """Draw a run's curves into a file, by default ``plot.png`` in its folder, and give its path.

    Panels: reward (mean and standard deviation, with the warnings), components, zero-variance groups, length,
    length against score, failures, rewards' share of the time, the trainer's loss and its like, and held-out
    accuracy; each where the
    run has such figures. Raises InputError where the run has no steps or the file cannot be written,
    MissingExtraError without matplotlib.
    """
    target = reader.folder.plot if path is None else Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(f"{target}: a plot is written to a file that ends in {', '.join(SUFFIXES)}")
    if not reader.steps:
        raise InputError(f"{reader.folder.path} has no steps to draw yet")
    figures, backend = _matplotlib()
    panels = list(_panels(reader))
    rows = (len(panels) + 1) // 2
    figure = figures.Figure(figsize=(12, 1.0 + 2.9 * rows), layout="constrained")
    backend.FigureCanvasAgg(figure)
    figure.suptitle(_title(reader), fontsize=13)
    first = None
    for place, panel in enumerate(panels, 1):
        axes = figure.add_subplot(rows, min(2, len(panels)), place, sharex=first)
        first = first or axes
        _draw(axes, panel)
        if place == 1:
            _mark(axes, reader)
    try:
        figure.savefig(target, dpi=_DPI)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def _title(reader: RunReader) -> str:
    reward = reader.manifest.get("reward")
    name = reward.get("name") if isinstance(reward, dict) else reward
    parts = [reader.folder.path.resolve().name, str(name or ""), str(reader.manifest.get("backend") or "")]
    return _plain("   ".join(part for part in parts if part)[:120])


def _plain(text: str) -> str:
    """Text of a run as matplotlib draws it: nothing in it is a formula or a character that no font can have."""
    return visible(text).replace("$", r"\$")


def _panels(reader: RunReader) -> Iterator[_Panel]:
    def curve(name: str, label: str, dots: bool = False, style: str = "-") -> list[_PlotCurve]:
        steps, values = reader.series(name)
        return [_PlotCurve(label, steps, values, dots=dots, style=style)] if steps else []

    steps, means = reader.series("reward/mean")
    if steps:
        held_out = curve("eval/reward/mean", "held-out", dots=True)
        training = _PlotCurve("training", steps, means, _deviations(reader))
        yield _Panel("reward: mean ± standard deviation", [training, *held_out])
    names = reader.components
    parts = [one for name in names[:COMPONENTS] for one in curve(f"reward/{name}/mean", name)]
    if parts:
        more = len(names) - COMPONENTS
        yield _Panel("components: mean" + (f" ({more:,} more not shown)" if more > 0 else ""), parts)
    yield from _if_any(
        "groups",
        share=True,
        curves=[
            *curve("groups/zero_variance", "zero-variance"),
            *curve("groups/all_low", "all at the lowest score", style="--"),
            *curve("groups/all_high", "all at the highest score", style=":"),
        ],
    )
    yield from _if_any(
        "completion length: mean", [*curve("length/mean", "characters"), *curve("length/tokens", "tokens")]
    )
    against = curve("length/correlation", "rank correlation of length and score")
    yield from _if_any("length against score", against, signed=True)
    yield from _if_any("failed samples", list(_failures(reader)), share=True)
    yield from _if_any("time in rewards", curve("time/reward_share", "share of the step"), share=True)
    trainer = [one for name in ("loss", "kl", "grad_norm") for one in curve(f"train/{name}", name)]
    yield from _if_any("trainer", trainer)
    yield from _if_any("held-out accuracy, 95 % interval", _accuracy(reader), share=True)


def _deviations(reader: RunReader) -> list[tuple[float, float]] | None:
    """A standard deviation below and above each mean, no farther than the scores of the step reach."""
    found = []
    for step in reader.steps:
        if "reward/mean" not in (scalars := step.scalars):
            continue
        if not all(f"reward/{name}" in scalars for name in ("var", "min", "max")):
            return None
        mean, deviation = scalars["reward/mean"], max(scalars["reward/var"], 0.0) ** 0.5
        found.append(
            (max(mean - deviation, scalars["reward/min"]), min(mean + deviation, scalars["reward/max"]))
        )
    return found


def _if_any(
    title: str, curves: Sequence[_PlotCurve], share: bool = False, signed: bool = False
) -> Iterator[_Panel]:
    if curves:
        yield _Panel(title, curves, share, signed)


def _failures(reader: RunReader) -> Iterator[_PlotCurve]:
    """The share of the samples that failed, by kind; a step without such a failure has 0."""
    kinds = dict.fromkeys(
        name for step in reader.steps for name in step.scalars if name.startswith("failures/")
    )
    counted = [step for step in reader.steps if step.scalars.get("samples")]
    for kind in kinds:
        shares = [step.scalars.get(kind, 0.0) / step.scalars["samples"] for step in counted]
        yield _PlotCurve(kind.removeprefix("failures/"), [step.step for step in counted], shares)


def _accuracy(reader: RunReader) -> list[_PlotCurve]:
    """What ``guerdon evaluate`` found, a curve for each way of sampling."""
    found: dict[str, dict[int, tuple[float, tuple[float, float]]]] = {}
    for _, said in reader.evaluations():
        for metrics in (said.get("before"), said.get("after")):
            rate = metrics.get("accuracy") if isinstance(metrics, dict) else None
            if not isinstance(metrics, dict) or not isinstance(rate, dict):
                continue
            value = rate.get("value")
            low, high = rate.get("low", value), rate.get("high", value)
            if not (is_number(value) and is_number(low) and is_number(high)):
                continue
            reach = max(0.0, value - low), max(0.0, high - value)
            by_step = found.setdefault(str(said.get("inference", "evaluation")), {})
            step = metrics.get("step")
            by_step[step if isinstance(step, int) else 0] = value, reach
    return [
        _PlotCurve(
            name,
            sorted(points),
            [points[s][0] for s in sorted(points)],
            reaches=[points[s][1] for s in sorted(points)],
            dots=True,
        )
        for name, points in found.items()
    ]


def _draw(axes: Any, panel: _Panel) -> None:
    for curve, colour in zip(panel.curves, _COLOURS * (1 + len(panel.curves) // len(_COLOURS)), strict=False):
        label = _plain(curve.label)
        if curve.dots:
            axes.errorbar(
                curve.steps,
                curve.values,
                None if curve.reaches is None else list(zip(*curve.reaches, strict=True)),
                fmt="o-",
                capsize=3,
                color=colour,
                label=label,
            )
            continue
        if curve.band is not None:
            low, high = zip(*curve.band, strict=True)
            axes.fill_between(curve.steps, low, high, color=colour, alpha=0.15, linewidth=0)
        if len(curve.values) >= SMOOTHED:
            axes.plot(curve.steps, curve.values, color=colour, alpha=0.3, linewidth=0.8)
            axes.plot(
                curve.steps,
                running_mean(curve.values),
                color=colour,
                linewidth=1.8,
                linestyle=curve.style,
                label=label,
            )
        else:
            axes.plot(
                curve.steps,
                curve.values,
                color=colour,
                linewidth=1.8,
                linestyle=curve.style,
                label=label,
                marker=".",
            )
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_xlabel("step", fontsize=8)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if panel.share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value * 100:.3g}%")
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if axes.get_ylim()[0] < -0.05 else 0.0)
    if panel.signed:
        axes.set_ylim(-1.05, 1.05)
    axes.legend(fontsize=8, frameon=False)


def _mark(axes: Any, reader: RunReader) -> None:
    """A dotted line for each of the first warnings, notices left out."""
    shown = [(step, alarm) for step, alarm in reader.warnings() if alarm.severity != "notice"]
    for step, alarm in shown[:_ALARMS]:
        axes.axvline(step, color="#c00000", linestyle=":", linewidth=1)
        axes.text(
            step,
            0.02,
            f" {_plain(alarm.code)}",
            transform=axes.get_xaxis_transform(),
            rotation=90,
            fontsize=7,
            color="#c00000",
            va="bottom",
            ha="right",
        )


def running_mean(values: Sequence[float]) -> list[float]:
    """The mean of each value and those around it, over a twentieth of the series.

    >>> running_mean([0.0, 1.0] * 30)[30]
    0.6666666666666666
    """
    half = max(len(values) // 40, 1)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    count = len(values)
    edges = [(max(i - half, 0), min(i + half + 1, count)) for i in range(count)]
    return [(sums[b] - sums[a]) / (b - a) for a, b in edges]


def _matplotlib() -> tuple[Any, Any]:
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtraError.of("train", "drawing a run") from error
    return matplotlib.figure, matplotlib.backends.backend_agg
