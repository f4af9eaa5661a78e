"""A run from its start to its end, and what its folder says of how it ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from guerdon.errors import InputError
from guerdon.serve.redaction import redacted_text, redacted_value
from guerdon.train.backend import Monitor, TrainingContext, TrainingInterrupted
from guerdon.train.config.compose import to_yaml
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import RunManifest, locked, now
from guerdon.train.records.seal import seal
from guerdon.train.run.failure_watch import AllFailedError, FailureWatch
from guerdon.train.run.prepare import PreparedRun, loaded, prepare, prepare_resume, sealed_part

__all__ = ["AllFailedError", "FinishedRun", "execute", "loaded", "train"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedRun:
    """A run that has ended."""

    config: Config
    folder: RunFolder
    manifest: RunManifest


def train(
    config: Config, *, resume: bool = False, accept_changes: bool = False, trust: bool = False
) -> FinishedRun:
    """Train as a configuration says, into the folder ``config.run_dir``.

    With ``resume``, the run that lies there is gone on with from its last complete checkpoint, under its own
    configuration; ``accept_changes`` does so even though the reward or the data are others by now, and ``trust``
    even though somebody else made the folder and names code as the reward.

    Raises InputError and its kin before anything starts where something does not fit; TrainingInterrupted after Ctrl-C,
    once a checkpoint is saved; AllFailedError where the reward fails on every sample of the first three steps, or of
    all if there are fewer; what the trainer raises.
    """
    if not resume:
        return execute(prepare(config))
    if config.run_dir is None:
        raise InputError("resume=True needs the folder of the run: run_dir=…")
    return execute(prepare_resume(Path(config.run_dir), accept_changes=accept_changes, trust=trust))


def execute(prepared: PreparedRun, monitor: Monitor | None = None) -> FinishedRun:
    """Do the run. ``monitor`` receives its events; by default the one that the configuration asks for.

    Raises TrainingInterrupted after Ctrl-C, InputError where another process is at work on the run, AllFailedError
    where the reward fails on every sample, what the trainer raises; the folder says in each case how the run ended.
    """
    config, folder, manifest = prepared.config, prepared.folder, prepared.manifest
    folder.path.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if prepared.resume_from is None:
            _write_config(folder, config)
            seal(folder, sealed_part(config))
            if config.training.checkpoint_dir is not None:
                folder.place_checkpoints(Path(config.training.checkpoint_dir, folder.path.absolute().name))
        manifest.state, manifest.ended, manifest.error = "running", None, None
        manifest.write(folder)
        with _ending(manifest, folder):
            monitor = FailureWatch(monitor or _monitor(prepared), prepared.steps)
            try:
                if prepared.resume_from is not None:
                    monitor.resume(prepared.resume_from[0])
                prepared.backend.train(_context(prepared, monitor))
            finally:
                monitor.close()
    return FinishedRun(config=config, folder=folder, manifest=manifest)


def _write_config(folder: RunFolder, config: Config) -> None:
    """Write the configuration, from which the run is resumed, so that secrets in it are its user's alone."""
    plain = asdict(config)
    mode = 0o666 if redacted_value(plain) == plain else 0o600
    descriptor = os.open(folder.config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(to_yaml(config))


def _monitor(prepared: PreparedRun) -> Monitor:
    from guerdon.train.run.monitor import RunMonitor

    config = prepared.config
    if config.wandb_disabled:
        config = replace(config, training=replace(config.training, wandb_project=None))
    monitor: Monitor = RunMonitor.of(config, prepared.folder, prepared.steps)
    return monitor


def _context(prepared: PreparedRun, monitor: Monitor) -> TrainingContext:
    return TrainingContext(
        config=prepared.config,
        reward=prepared.reward,
        train=prepared.problems.train,
        test=prepared.problems.test,
        folder=prepared.folder,
        monitor=monitor,
        resume_from=None if prepared.resume_from is None else prepared.resume_from[1],
    )


@contextlib.contextmanager
def _ending(manifest: RunManifest, folder: RunFolder) -> Iterator[None]:
    """Write down how the run ended."""
    try:
        yield
    except (TrainingInterrupted, KeyboardInterrupt):
        manifest.state = "interrupted"
        raise
    except BaseException as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        manifest.state, manifest.error = "failed", redacted_text(text)[:2000]
        raise
    else:
        manifest.state = "finished"
    finally:
        manifest.ended = now()
        manifest.write(folder)
