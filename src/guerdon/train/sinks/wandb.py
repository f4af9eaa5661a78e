"""Weights & Biases, where ``training.wandb_project`` names a project; ``WANDB_MODE=offline`` keeps it here."""

from __future__ import annotations

from typing import Any

from guerdon.train.sinks.tracker import TrackedRun, TrackerSink


def wandb_sink(tracked: TrackedRun) -> TrackerSink:
    """The sink for a project; raises MissingExtraError without the wandb package."""
    return TrackerSink("wandb", "training.wandb_project", tracked, _start)


def _start(wandb: Any, tracked: TrackedRun) -> None:
    wandb.init(
        project=tracked.project,
        name=tracked.name,
        id=tracked.name,
        resume="allow",
        dir=str(tracked.folder),
        config=dict(tracked.config),
    )
