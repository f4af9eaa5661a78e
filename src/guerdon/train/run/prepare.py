"""Preparing a run: every mistake is reported before a model is loaded."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from guerdon.errors import InputError, ResumeError, error_of_kind
from guerdon.reward.function import RewardFunction
from guerdon.scoring.run import score
from guerdon.train.backend import Backend
from guerdon.train.backends.registry import find_backend
from guerdon.train.config.compose import read
from guerdon.train.config.schema import Config
from guerdon.train.data.problems import Problems, load_problems
from guerdon.train.data.sampler import total_steps
from guerdon.train.records.folder import RunFolder
from guerdon.train.records.manifest import RunManifest, now, package_versions
from guerdon.train.records.seal import is_sealed
from guerdon.train.run.reward_spec import build_reward, foreign_code
from guerdon.trainers.columns import sample_of

RUNS = Path("runs")
"""The parent folder of runs without ``run_dir``."""

logger = logging.getLogger("guerdon.train")

_REJECTED = "rejected.jsonl"
_NEVER = ("remote", "missing_extra", "binding", "resolution", "sandbox")
"""Kinds of failure that no response would mend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedRun:
    """A run that is checked and ready to start; nothing of it has been learnt yet."""

    config: Config
    backend: Backend
    reward: RewardFunction
    problems: Problems
    folder: RunFolder
    manifest: RunManifest
    resume_from: tuple[int, Path | None] | None = None
    """For a run that is gone on with: the step and the checkpoint after which; no checkpoint, the beginning."""
    notes: tuple[str, ...] = field(default=())
    """What its user ought to know before it starts."""

    @property
    def steps(self) -> int:
        """How many steps it takes in all."""
        return total_steps(self.config, len(self.problems.train))

    def summary(self) -> list[tuple[str, str]]:
        """What is to be done, as names with what they stand for."""
        config, problems = self.config, self.problems
        model = config.model.path or " ".join(
            filter(None, (config.model.model_family, config.model.model_size))
        )
        adapters = f", LoRA of rank {config.model.lora_rank}" if config.model.lora_rank else ""
        lines = [
            ("backend", f"{config.backend}, {config.algorithm}"),
            ("model", model + adapters),
            ("reward", f"{self.manifest.reward['name']}@{self.manifest.reward['version']}"),
            (
                "data",
                f"{problems.source}: {len(problems.train):,} for training, {len(problems.test):,} held out",
            ),
            *(("columns", line.removeprefix("columns: ")) for line in problems.columns),
            (
                "steps",
                f"{self.steps:,} of {config.training.micro_batch_size} × {config.grpo.num_generations}",
            ),
            ("folder", str(self.folder.path)),
        ]
        if self.resume_from is not None:
            lines.append(("resumes", f"after step {self.resume_from[0]:,}"))
        return [*lines, *(("note", note) for note in self.notes)]

    def discard(self) -> None:
        """Take the folder away again, where it is new."""
        if self.resume_from is None:
            with contextlib.suppress(OSError):
                self.folder.path.rmdir()


def prepare(config: Config) -> PreparedRun:
    """Check everything that can be checked, the quickest first, and find the run a folder.

    Raises InputError, ResolutionError, BindingError, MissingExtraError or BadRowsError, whichever it is.
    """
    backend = _backend(config)
    reward = _reward(config)
    folder = _new_folder(config)
    try:
        problems = load_problems(config.training, config.seed, reward, folder.path / _REJECTED)
        _try_once(config, reward, problems)
    except BaseException:
        with contextlib.suppress(OSError):  # it stays where rejected rows were written to it
            folder.path.rmdir()
        raise
    return PreparedRun(
        config=replace(config, run_dir=str(folder.path)),
        backend=backend,
        reward=reward,
        problems=problems,
        folder=folder,
        manifest=_manifest(config, reward, problems),
        notes=tuple(_notes(config)),
    )


def prepare_resume(
    place: Path, *, accept_changes: bool = False, trust: Callable[[str], bool] | bool = False
) -> PreparedRun:
    """Check a run that was interrupted or killed, so that it can go on where its last checkpoint is.

    ``trust`` is as ``loaded`` has it.

    Raises InputError where there is no such run or it has finished; ResumeError where its reward or its data have
    changed, unless that is accepted; else as ``prepare``.
    """
    folder = RunFolder(place)
    manifest = RunManifest.read(folder)
    if manifest.state == "finished":
        raise InputError(f"{place} has finished and cannot be resumed")
    config, reward, problems = _loaded(folder, trust)
    backend = _backend(config)
    changes = list(_changes(manifest, reward, problems))
    saved = folder.saved()
    if changes and saved and not accept_changes:  # without a checkpoint the curve begins anew
        raise ResumeError(
            f"{place}: {' and '.join(changes)}, so the curve would not be that of one run; "
            "continue nevertheless with --accept-changes"
        )
    _try_once(config, reward, problems)
    step, checkpoint = saved[-1] if saved else (0, None)
    fresh = _manifest(config, reward, problems)
    notes = [*changes, *manifest.differences(fresh.packages)]
    manifest.reward, manifest.data, manifest.packages = fresh.reward, fresh.data, fresh.packages
    manifest.resumed.append({"at": now(), "after_step": step})
    return PreparedRun(
        config=config,
        backend=backend,
        reward=reward,
        problems=problems,
        folder=folder,
        manifest=manifest,
        resume_from=(step, checkpoint),
        notes=(*notes, *_notes(config)),
    )


def loaded(
    folder: RunFolder, *, trust: Callable[[str], bool] | bool = False, reward: str | None = None
) -> tuple[Config, RewardFunction, Problems]:
    """The configuration, the reward and the problems of a run that has been, to evaluate it, say.

    A folder that this user's guerdon has not made may name any code as its reward: such is loaded only with
    ``trust``, which may be a function that asks the user. ``reward`` names another reward instead.

    Logs a warning where the reward or the data are others by now. Raises InputError where the folder is none of a
    run, else as ``prepare``.
    """
    config, made, problems = _loaded(folder, trust, reward)
    for change in _changes(RunManifest.read(folder), made, problems):
        logger.warning("%s: %s", folder.path, change)
    return config, made, problems


# Before it starts.


def _backend(config: Config) -> Backend:
    backend = find_backend(config.backend)
    backend.check(config)
    return backend


def _reward(config: Config) -> RewardFunction:
    training = config.training
    reward = build_reward(
        training.reward_function, parameters=training.reward_parameters, modules=training.reward_modules
    )
    reward.check_ready()
    return reward


def _check_trusted(folder: RunFolder, config: Config, trust: Callable[[str], bool] | bool) -> None:
    """Raises InputError before code or an endpoint is used that a folder from elsewhere names."""
    names = foreign_code(config.training.reward_function, config.training.reward_modules)
    if config.training.reward_parameters:
        names.append("reward_parameters")
    if not names or trust is True or is_sealed(folder, sealed_part(config)):
        return
    shown = ", ".join(name if len(name) <= 80 else name[:79] + "…" for name in names)
    what = f"{folder.path} was not made by your guerdon on this machine, and its configuration would load {shown}"
    if not (callable(trust) and trust(what)):
        raise InputError(
            f"{what}; look at its {folder.config.name}, then give --trust, or --reward to evaluate"
        )


def sealed_part(config: Config) -> str:
    """What of a configuration names code, as text."""
    training = config.training
    parts = [training.reward_function, training.reward_parameters, training.reward_modules]
    return json.dumps(parts, sort_keys=True, default=str)


def _loaded(
    folder: RunFolder, trust: Callable[[str], bool] | bool, instead: str | None = None
) -> tuple[Config, RewardFunction, Problems]:
    manifest = RunManifest.read(folder)
    config = read(folder.config)
    if instead is None:
        _check_trusted(folder, config, trust)
    else:
        training = config.training
        training.reward_function, training.reward_parameters, training.reward_modules = instead, {}, []
    config.run_dir = str(folder.path)
    try:
        reward = _reward(config)
        return config, reward, load_problems(config.training, config.seed, reward, folder.path / _REJECTED)
    except (InputError, LookupError) as error:
        if Path(manifest.directory) == Path.cwd():
            raise
        raise InputError(f"{error}; the run was started in {manifest.directory}: go there first") from error


def _new_folder(config: Config) -> RunFolder:
    """A folder that no run is in."""
    if config.run_dir is None:
        return RunFolder(_dated())
    folder = RunFolder(Path(config.run_dir))
    if folder.run.exists():
        state = RunManifest.read(folder).state
        on = "" if state == "finished" else f"; continue it with: guerdon train --resume {folder.path}"
        raise InputError(
            f"{folder.path} already holds a run ({state}){on}; start a new one with run_dir=ANOTHER"
        )
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        taken = [path.name for path in folder.path.iterdir() if path.name != _REJECTED]
        (folder.path / _REJECTED).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder.path}: {error.strerror or error}") from error
    if taken:
        raise InputError(f"{folder.path} is not empty; give the run a folder of its own: run_dir=ANOTHER")
    return folder


def sweep_folder(config: Config) -> Path:
    """The folder for the runs of a sweep. Raises InputError where there are some in it already."""
    if config.run_dir is None:
        return _dated()
    path = Path(config.run_dir)
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror or error}") from error
    if taken:
        raise InputError(f"{path} is not empty; give the sweep a folder of its own: run_dir=ANOTHER")
    return path


def _dated() -> Path:
    """A new folder under ``runs``, called by the time."""
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        path = RUNS / (stamp + suffix)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"cannot make the folder {path}: {error.strerror or error}") from error
        return path
    raise InputError(f"there are too many runs of {stamp} in {RUNS}; name a folder: run_dir=…")


def _try_once(config: Config, reward: RewardFunction, problems: Problems) -> None:
    """Score an empty response, so that an error of every response is reported before a model is loaded."""
    if not problems.train:
        raise InputError(f"{problems.source} has no problems to train on")
    sample = sample_of(problems.train[0].prompt, "", {"step": 0, **problems.train[0].columns})
    training = config.training
    tried = score(
        reward,
        [sample],
        timeout=training.reward_timeout,
        workers=1 if training.reward_workers is None else min(training.reward_workers, 1),
        on_error="result",
        text=False,
        progress=False,
    )[0]
    if tried.error_kind in _NEVER:
        raise error_of_kind(tried.error_kind, f"the reward {reward.name} cannot score: {tried.error}")


def _manifest(config: Config, reward: RewardFunction, problems: Problems) -> RunManifest:
    made = reward.provenance
    return RunManifest(
        backend=config.backend,
        algorithm=config.algorithm,
        seed=config.seed,
        reward={"name": made.reward, "version": made.version, "parameters": dict(made.parameters)},
        data={
            "source": problems.source,
            "train": len(problems.train),
            "test": len(problems.test),
            "digest": problems.digest,
        },
        packages=package_versions(),
    )


def _changes(manifest: RunManifest, reward: RewardFunction, problems: Problems) -> Iterator[str]:
    made, before = reward.provenance, manifest.reward
    if made.version != before.get("version"):
        yield f"the reward is {made.reward}@{made.version} now and was {before['name']}@{before['version']}"
    if problems.digest != manifest.data.get("digest"):
        yield f"the data have changed ({problems.source})"


def _notes(config: Config) -> Iterator[str]:
    training = config.training
    if training.intermediate_checkpoint_dir is not None:
        yield "training.intermediate_checkpoint_dir has no effect: all checkpoints are in one folder"
    if config.wandb_disabled and training.wandb_project is not None:
        yield f"wandb_disabled=true: nothing is sent to {training.wandb_project}"
