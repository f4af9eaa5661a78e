"""A run's folder: what lies where."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from guerdon.errors import InputError

_CHECKPOINT = re.compile(r"step-(\d{6,})")
_OWNER = ".run"
"""The link from where checkpoints lie elsewhere back to their run."""


def step_of_checkpoint(checkpoint: Path) -> int:
    """The step after which a checkpoint was saved, from its name. Raises InputError for another name.

    >>> step_of_checkpoint(Path("runs/a/checkpoints/step-000010"))
    10
    """
    match = _CHECKPOINT.fullmatch(checkpoint.name)
    if match is None:
        raise InputError(f"{checkpoint} is not the checkpoint of a run: its name is not step-NUMBER")
    return int(match[1])


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one training run.

    >>> RunFolder(Path("runs/a")).checkpoint(10).name
    'step-000010'
    """

    path: Path

    @classmethod
    def of_checkpoint(cls, checkpoint: Path) -> RunFolder | None:
        """The run that a path named as a checkpoint is of, also where its checkpoints lie elsewhere; else None.

        >>> RunFolder.of_checkpoint(Path("/runs/a/checkpoints/step-000010"))
        RunFolder(path=PosixPath('/runs/a'))
        """
        whole = Path(
            os.path.abspath(checkpoint)
        )  # a link among its parents stays one: it is the way to the run
        if whole.parent.name == "checkpoints":
            return cls(whole.parent.parent)
        owner = whole.parent / _OWNER
        return cls(owner.resolve()) if owner.is_symlink() and owner.is_dir() else None

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

    def place_checkpoints(self, place: Path) -> None:
        """Have the checkpoints lie in another folder; each of the two leads to the other.

        Raises InputError where that folder holds another run's.
        """
        place.mkdir(parents=True, exist_ok=True)
        owner = place / _OWNER
        if any(path != owner for path in place.iterdir()):
            raise InputError(
                f"{place} holds checkpoints of another run; give another training.checkpoint_dir"
            )
        owner.unlink(missing_ok=True)
        owner.symlink_to(self.path.absolute(), target_is_directory=True)
        self.checkpoints.symlink_to(place.absolute(), target_is_directory=True)

    def saved(self) -> list[tuple[int, Path]]:
        """The complete checkpoints with their steps, the earliest first."""
        if not self.checkpoints.is_dir():
            return []
        found = ((_CHECKPOINT.fullmatch(path.name), path) for path in self.checkpoints.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match and path.is_dir())
