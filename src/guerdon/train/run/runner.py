"""A run from its start to its end, and what its folder says of how it ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from guerdon.errors import InputError
from guerdon.train.backend import Interrupted, Job, Monitor
from guerdon.train.config.compose import to_yaml
from guerdon.train.config.schema import Config
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import About, locked, now
from guerdon.train.run.prepare import Prepared, loaded, prepare, prepare_again

__all__ = ["Run", "carry_out", "loaded", "train"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run that has ended."""

    config: Config
    folder: RunFolder
    about: About


def train(config: Config, *, resume: bool = False, accept_changes: bool = False) -> Run:
    """Train as a configuration says, into the folder ``config.run_dir``.

    With ``resume``, the run that lies there is gone on with from its last complete checkpoint, under its own
    configuration; ``accept_changes`` does so even though the reward or the data are others by now.

    Raises InputError and its kin before anything starts where something does not fit; Interrupted after Ctrl-C,
    once a checkpoint is saved; what the trainer raises.
    """
    if not resume:
        return carry_out(prepare(config))
    if config.run_dir is None:
        raise InputError("which run is to be gone on with? Give its folder: run_dir=…")
    return carry_out(prepare_again(Path(config.run_dir), accept_changes=accept_changes))


def carry_out(prepared: Prepared, monitor: Monitor | None = None) -> Run:
    """Do the run. ``monitor`` is told of it, by default the one that the configuration asks for.

    Raises Interrupted after Ctrl-C, InputError where another process is at work on the run, what the trainer
    raises; the folder says in each case how the run ended.
    """
    config, folder, about = prepared.config, prepared.folder, prepared.about
    folder.path.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        if prepared.resume_from is None:
            folder.config.write_text(to_yaml(config), encoding="utf-8")
            if config.training.checkpoint_dir is not None:
                folder.place_checkpoints(Path(config.training.checkpoint_dir, folder.path.absolute().name))
        about.state, about.ended, about.error = "running", None, None
        about.write(folder)
        with _ending(about, folder):
            monitor = monitor or _monitor(prepared)
            try:
                if prepared.resume_from == (0, None):  # from a checkpoint on, the backend says so
                    monitor.resume(0)
                prepared.backend.train(_job(prepared, monitor))
            finally:
                monitor.close()
    return Run(config=config, folder=folder, about=about)


def _monitor(prepared: Prepared) -> Monitor:
    from guerdon.train.run.monitor import RunMonitor

    config = prepared.config
    if config.wandb_disabled:
        config = replace(config, training=replace(config.training, wandb_project=None))
    monitor: Monitor = RunMonitor.of(config, prepared.folder, prepared.steps)
    return monitor


def _job(prepared: Prepared, monitor: Monitor) -> Job:
    return Job(
        config=prepared.config,
        reward=prepared.reward,
        train=prepared.problems.train,
        test=prepared.problems.test,
        folder=prepared.folder,
        monitor=monitor,
        resume_from=None if prepared.resume_from is None else prepared.resume_from[1],
    )


@contextlib.contextmanager
def _ending(about: About, folder: RunFolder) -> Iterator[None]:
    """Write down how the run ended."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        about.state = "interrupted"
        raise
    except BaseException as error:
        about.state, about.error = "failed", " ".join(f"{type(error).__name__}: {error}".split())[:2000]
        raise
    else:
        about.state = "finished"
    finally:
        about.ended = now()
        about.write(folder)
