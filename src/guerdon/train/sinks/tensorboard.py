"""TensorBoard: scalars and histograms, written by the tensorboard package itself, which needs no torch."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

from guerdon.errors import MissingExtraError
from guerdon.scoring.statistics.summary import Histogram
from guerdon.train.sinks.base import StepReport


class TensorBoardSink:
    """Event files in a folder; raises MissingExtraError without the tensorboard package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = _module("tensorboard.compat.proto.event_pb2")
        self._summaries = _module("tensorboard.compat.proto.summary_pb2")
        self._histograms = _module("tensorboard.plugins.histogram.metadata")
        self._tensors = _module("tensorboard.util.tensor_util")
        self._writer: Any = None

    def step(self, report: StepReport) -> None:
        """Add the step's scalars and histograms."""
        summary = self._summaries.Summary()
        for name, value in report.scalars.items():
            summary.value.add(tag=name, simple_value=value)
        for name, bars in report.histograms.items():
            metadata = self._histograms.create_summary_metadata(display_name=None, description=None)
            summary.value.add(tag=name, metadata=metadata, tensor=self._tensor(_buckets(bars)))
        self._add(self._events.Event(wall_time=time.time(), step=report.step, summary=summary))

    def resume(self, step: int) -> None:
        """Make TensorBoard hide what an earlier process wrote of later steps."""
        if self._folder.is_dir():
            start = self._events.SessionLog(status=self._events.SessionLog.START)
            self._add(self._events.Event(wall_time=time.time(), step=step + 1, session_log=start))

    def flush(self) -> None:
        """Write what is queued."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Write what is queued and end the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, event: Any) -> None:
        if self._writer is None:
            writers = _module("tensorboard.summary.writer.event_file_writer")
            self._writer = writers.EventFileWriter(str(self._folder))
        self._writer.add_event(event)

    def _tensor(self, value: Any) -> Any:
        numpy = importlib.import_module("numpy")
        return self._tensors.make_tensor_proto(numpy.asarray(value, dtype="float64"))


def _buckets(bars: Histogram) -> list[tuple[float, float, float]]:
    """Left edge, right edge and count of each bar; a lone value gets a bar of width 1, as TensorBoard draws it."""
    if bars.edges and bars.edges[0] == bars.edges[-1]:
        return [(bars.edges[0] - 0.5, bars.edges[0] + 0.5, float(sum(bars.counts)))]
    return [(a, b, float(n)) for a, b, n in zip(bars.edges[:-1], bars.edges[1:], bars.counts, strict=True)]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError.of("train", "training.tensorboard=true") from error
