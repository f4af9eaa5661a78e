"""RunManifest: what a run's folder says of it in ``run.json``, and the lock that one process holds on it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from guerdon._version import __version__
from guerdon.atomic_files import atomic_write
from guerdon.errors import InputError
from guerdon.serve.redaction import redacted_text, redacted_value
from guerdon.train.records.folder import RunFolder

State = Literal["running", "finished", "interrupted", "failed"]

_PACKAGES = (
    *("torch", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers", "vllm", "bitsandbytes"),
    *("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "google-tunix", "qwix", "numpy", "pyarrow"),
    *("hydra-core", "omegaconf", "math-verify", "sympy", "pydantic"),
)
"""What may have a part in a curve."""


@dataclass(kw_only=True)
class RunManifest:
    """A run as its folder describes it."""

    state: State = "running"
    """``running`` is also what a run is left in that was killed."""
    backend: str
    algorithm: str
    seed: int
    reward: dict[str, Any]
    """Its ``name``, ``version`` and ``parameters``."""
    data: dict[str, Any]
    """Where they are from, how many for training (``train``) and held out (``test``), and their ``digest``."""
    command: list[str] = field(default_factory=lambda: list(sys.argv))
    directory: str = field(default_factory=os.getcwd)
    """The working directory, from which relative paths count."""
    guerdon: str = __version__
    python: str = field(default_factory=platform.python_version)
    packages: dict[str, str] = field(default_factory=lambda: package_versions())
    started: str = field(default_factory=lambda: now())
    ended: str | None = None
    resumed: list[dict[str, Any]] = field(default_factory=list)
    """When, and after which step, it was gone on with."""
    error: str | None = None
    """Of a failed run."""

    def write(self, folder: RunFolder) -> None:
        """Put it in the folder, in place of what is there; a reader sees the one or the other whole."""
        with atomic_write(folder.run) as fresh:
            fresh.write_text(
                json.dumps(_redacted(asdict(self)), indent=2, default=str) + "\n", encoding="utf-8"
            )

    @classmethod
    def read(cls, folder: RunFolder) -> RunManifest:
        """Raises InputError where the folder is none of a run."""
        try:
            written = json.loads(folder.run.read_text(encoding="utf-8"))
            known = {part.name for part in fields(cls)}
            found = cls(**{name: value for name, value in written.items() if name in known})
            for name, kind in _KINDS.items():
                if not isinstance(getattr(found, name), kind):
                    raise ValueError(f"{name} is of a wrong type")
            return found
        except FileNotFoundError:
            raise InputError(
                f"{folder.path} is not the folder of a run: it has no {folder.run.name}"
            ) from None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{folder.run} cannot be read: {error}") from error

    def differences(self, packages: Mapping[str, str]) -> list[str]:
        """Packages that have another version now, in words."""
        return [
            f"{name} was {before} and is {packages.get(name, 'gone')}"
            for name, before in self.packages.items()
            if packages.get(name) != before
        ]


_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("state", "backend", "algorithm", "directory"), str),
    **dict.fromkeys(("reward", "data", "packages"), dict),
    **dict.fromkeys(("resumed", "command"), list),
}


def _redacted(manifest: dict[str, Any]) -> dict[str, Any]:
    """Without the secrets of the command line and of the reward's parameters, as far as they are known as such."""
    shown = dict(redacted_value(manifest))
    shown["command"] = [redacted_text(str(word)) for word in manifest["command"]]
    return shown


def package_versions(names: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in names:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextlib.contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """While one process works on a run. Raises InputError where another one does.

    The lock is the kernel's, so that it is gone with the process, however that ends.
    """
    path = Path(folder.path, ".lock")
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder.path}: another process is working on this run") from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
