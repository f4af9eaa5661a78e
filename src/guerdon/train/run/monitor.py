"""RunMonitor: collects the events of a run step by step, and reports them to the sinks."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from guerdon.serve.redaction import redacted_value
from guerdon.train.config.schema import Config
from guerdon.train.diagnostics.step_statistics import EVAL, Observation, StepStatistics, observations
from guerdon.train.diagnostics.trends import Trends
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.samples import SamplesFile, lines_of, observed
from guerdon.train.sinks.base import Sink, StepReport
from guerdon.train.sinks.json_lines import JsonLinesSink
from guerdon.trainers.adapter import ScoredBatch
from guerdon.types import EvaluateResult, Sample

TRACED = 2
"""Samples of each step that ``training.log_level=debug`` shows whole."""


class RunMonitor:
    """Watches one run: ``guerdon.train.backend.Monitor`` for backends, and ``scored`` for adapters as ``observe``.

    Writes ``metrics.jsonl``, ``warnings.jsonl`` and the samples into the run's folder, and reports to ``sinks``.
    ``traced`` samples of each step are handed to the sinks whole. Safe in threads.

    A batch belongs to the step that ends next, unless it says that it is of a later one.

    Raises InputError at the first step where the folder holds another run and ``resume`` was not called.
    """

    def __init__(
        self,
        folder: RunFolder,
        sinks: Iterable[Sink] = (),
        *,
        keep_samples: bool = True,
        traced: int = 0,
        flush_steps: int = 1,
    ) -> None:
        self._sinks: list[Sink] = [JsonLinesSink(folder), *sinks]
        self._samples = SamplesFile(folder.samples) if keep_samples else None
        self._traced = traced
        self._flush_steps = max(flush_steps, 1)
        self._trends = Trends()
        self._waiting: list[ScoredBatch] = []
        self._tokens = 0
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def of(cls, config: Config, folder: RunFolder, total: int | None = None) -> RunMonitor:
        """The monitor that a configuration asks for; ``total`` is the number of steps of the whole run.

        Raises MissingExtraError, with the line that installs it, where a package is missing.
        """
        return cls(
            folder,
            sinks_of(config, folder, total),
            keep_samples=config.training.keep_samples,
            traced=TRACED if config.training.log_level.lower() == "debug" else 0,
            flush_steps=config.training.flush_every_n_steps,
        )

    def scored(self, batch: ScoredBatch) -> None:
        """Take a batch that was scored, in training or on held-out problems."""
        with self._lock:
            self._waiting.append(batch)

    def tokens(self, generated: int) -> None:
        """Take note of completion tokens that were generated in this step."""
        with self._lock:
            self._tokens += generated

    def step(self, step: int, seconds: float, logs: Mapping[str, float]) -> None:
        """A step ended after so many seconds; ``logs`` holds the trainer's own figures."""
        with self._lock:
            batches, self._waiting = _parted(self._waiting, step)
            tokens, self._tokens = self._tokens, 0
        trained = [batch for batch in batches if batch.mode != "eval"]
        held_out = [batch for batch in batches if batch.mode == "eval"]
        seen = [one for batch in trained for one in observations(batch)]
        for one in seen:
            self._trends.add(step, one)
        warning_change = self._trends.end_step(step)
        train = _gathered(seen).numbers()
        test = _gathered([one for batch in held_out for one in observations(batch)]).numbers(EVAL)
        report = StepReport(
            step=step,
            scalars={
                **train.scalars,
                **_times(seconds, trained, tokens),
                **test.scalars,
                **_of_trainer(logs),
            },
            histograms={**train.histograms, **test.histograms},
            warning_change=warning_change,
            seen=seen,
            first=_first(trained, self._traced),
            scored=batches,
        )
        self._keep(step, batches)
        for sink in self._sinks:
            sink.step(report)
        if step % self._flush_steps == 0:
            for sink in self._sinks[1:]:
                sink.flush()

    def checkpoint(self, step: int, path: Path) -> None:
        """A checkpoint was saved: everything up to its step goes to the disk, so that a resume is exact."""
        if self._samples is not None:
            self._samples.sync()
        for sink in self._sinks:
            sink.flush()

    def resume(self, step: int) -> None:
        """Go on after a step: what was recorded of later ones is dropped, and trends are where they were then.

        Raises ResumeError where the folder's files are none of a run's.
        """
        with self._lock:
            self._waiting, self._tokens = [], 0
        self._trends = Trends()
        if self._samples is not None:
            self._replay(self._samples.resume(step), step)
        for sink in self._sinks:
            sink.resume(step)

    def close(self) -> None:
        """The run is over: samples become a Parquet file, every sink is closed. Further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._samples is not None:
                self._samples.close()
        finally:
            for sink in reversed(self._sinks):
                sink.close()

    def _keep(self, step: int, batches: Sequence[ScoredBatch]) -> None:
        if self._samples is None:
            return
        position = 0
        for batch in batches:
            self._samples.append(lines_of(batch, step, position))
            position += len(batch.samples)

    def _replay(self, lines: Iterable[Mapping[str, object]], last: int) -> None:
        """Rebuild the trends from the kept samples, without reporting to the sinks."""
        step = 1
        for line in lines:
            now = int(line["step"])  # type: ignore[call-overload]
            while step < now:
                self._trends.end_step(step)
                step += 1
            if line["mode"] != "eval":
                self._trends.add(now, observed(line))
        while step <= last:
            self._trends.end_step(step)
            step += 1


def sinks_of(config: Config, folder: RunFolder, total: int | None) -> list[Sink]:
    """The sinks that a configuration asks for, beside the files of the run's folder."""
    from guerdon.train.sinks.terminal import TerminalOptions, TerminalSink

    training = config.training
    shown = TerminalOptions(
        total=total, statistics=training.log_reward_stats, title=f"{config.algorithm} on {config.backend}"
    )
    sinks: list[Sink] = []
    if training.tensorboard:
        from guerdon.train.sinks.tensorboard import TensorBoardSink

        sinks.append(TensorBoardSink(Path(training.log_dir) if training.log_dir else folder.tensorboard))
    sinks += _trackers(config, folder)
    return [*sinks, TerminalSink(shown)]


def _trackers(config: Config, folder: RunFolder) -> list[Sink]:
    from guerdon.train.sinks.tracker import TrackedRun
    from guerdon.train.sinks.trackio import trackio_sink
    from guerdon.train.sinks.wandb import wandb_sink

    wanted = ((config.training.wandb_project, wandb_sink), (config.training.trackio_project, trackio_sink))
    return [
        make(
            TrackedRun(
                project=project,
                folder=folder.path,
                config=redacted_value(asdict(config)),
                table_rows=config.training.sample_table_rows,
                table_steps=config.training.sample_table_every_n_steps,
            )
        )
        for project, make in wanted
        if project
    ]


def _parted(waiting: list[ScoredBatch], step: int) -> tuple[list[ScoredBatch], list[ScoredBatch]]:
    """What belongs to a step, and what was scored ahead for later ones."""
    later = [batch for batch in waiting if batch.step is not None and batch.step > step]
    return [batch for batch in waiting if batch not in later], later


def _gathered(seen: Iterable[Observation]) -> StepStatistics:
    gathered = StepStatistics()
    for one in seen:
        gathered.add(one)
    return gathered


def _times(seconds: float, batches: Sequence[ScoredBatch], tokens: int) -> dict[str, float]:
    """Seconds of the step and of its rewards, and the tokens made in it."""
    times = {"time/step": seconds}
    if batches:
        times["time/reward"] = sum(batch.seconds for batch in batches)
        if seconds > 0:
            times["time/reward_share"] = times["time/reward"] / seconds
    if tokens:
        times["tokens"] = float(tokens)
        samples = sum(len(batch.samples) for batch in batches)
        if samples:
            times["length/tokens"] = tokens / samples
        if seconds > 0:
            times["tokens_per_second"] = tokens / seconds
    return times


def _of_trainer(logs: Mapping[str, float]) -> dict[str, float]:
    """The trainer's own figures; what is not a finite number is left out."""
    numbers = {}
    for name, value in logs.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if math.isfinite(number):
            numbers[f"train/{name}"] = number
    return numbers


def _first(batches: Sequence[ScoredBatch], count: int) -> list[tuple[Sample, EvaluateResult]]:
    pairs = (pair for batch in batches for pair in zip(batch.samples, batch.results, strict=True))
    return [pair for pair, _ in zip(pairs, range(count), strict=False)]
