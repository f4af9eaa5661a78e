"""trackio, where ``training.trackio_project`` names a project; it keeps runs in a database on this machine."""

from __future__ import annotations

from typing import Any

from guerdon.train.sinks.tracker import TrackedRun, TrackerSink


def trackio_sink(tracked: TrackedRun) -> TrackerSink:
    """The sink for a project; raises MissingExtraError without the trackio package."""
    return TrackerSink("trackio", "training.trackio_project", tracked, _start)


def _start(trackio: Any, tracked: TrackedRun) -> None:
    trackio.init(
        project=tracked.project,
        name=tracked.name,
        resume="allow",
        config=dict(tracked.config),
        embed=False,
        auto_log_gpu=False,
        auto_log_cpu=False,
    )
