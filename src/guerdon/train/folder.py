"""A run's folder: what lies where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_CHECKPOINT = re.compile(r"step-(\d{6,})")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one training run.

    >>> RunFolder(Path("runs/a")).checkpoint(10).name
    'step-000010'
    """

    path: Path

    @property
    def config(self) -> Path:
        """The resolved configuration."""
        return self.path / "config.yaml"

    @property
    def run(self) -> Path:
        """Seed, reward, data, package versions and the run's state."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """One object a step."""
        return self.path / "metrics.jsonl"

    @property
    def warnings(self) -> Path:
        """What was warned of, one object each."""
        return self.path / "warnings.jsonl"

    @property
    def samples(self) -> Path:
        """Every sample with its score."""
        return self.path / "samples.parquet"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def evaluations(self) -> Path:
        return self.path / "evaluations"

    @property
    def plot(self) -> Path:
        return self.path / "plot.png"

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step lies; it is there only once it is complete."""
        return self.checkpoints / f"step-{step:06d}"

    def saved(self) -> list[tuple[int, Path]]:
        """The complete checkpoints with their steps, the earliest first."""
        if not self.checkpoints.is_dir():
            return []
        found = ((_CHECKPOINT.fullmatch(path.name), path) for path in self.checkpoints.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match and path.is_dir())
