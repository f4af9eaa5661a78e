"""Which trainers there are: each is a module of this package that has a ``TRAINER``."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.errors import ResolutionError
from guerdon.reward.function import RewardFunction


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupRequest:
    """A reward that is to be plugged into a trainer, as it was named."""

    spec: str
    """A registered name, ``file.py::function``, ``pkg.mod:function`` or the URL of a server."""
    reward: RewardFunction
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Fixed arguments of the reward."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the adapter: ``on_failure``, ``timeout``, ``workers``, ``concurrency``, ``components``."""
    directory: Path | None = None
    """The folder that the files will be in. Files name a reward's file by its place from theirs, so that both may be
    copied elsewhere; None names it by its absolute path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupGuide:
    """What to write and what to configure so that a trainer uses a reward."""

    files: Mapping[str, str] = field(default_factory=dict)
    """The text of each module to write, by file name; empty where configuration suffices."""
    lines: str = ""
    """The configuration or the command line, to be pasted as it is."""
    note: str = ""
    """What else is to be known, in a sentence or two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trainer:
    """A trainer that rewards plug into."""

    name: str
    """As in ``reward.to(name)`` and ``guerdon adapt --for name``."""
    title: str
    """Its own name, with the version that the adapter was tried with."""
    make: Callable[..., Any]
    """``make(reward, **options)`` gives the object that the trainer takes."""
    setup_guide: Callable[[SetupRequest], SetupGuide]
    aliases: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """The page of the documentation about it."""
        return f"docs/trainers/{self.name}.md"


@functools.cache
def trainers() -> Mapping[str, Trainer]:
    """All trainers by name, in the order of the names."""
    package = importlib.import_module("guerdon.trainers")
    found: dict[str, Trainer] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            trainer: Trainer | None = getattr(loaded, "TRAINER", None)
            if trainer is not None:
                found[trainer.name] = trainer
    return dict(sorted(found.items()))


def find_trainer(name: str) -> Trainer:
    """The trainer of a name or an alias, in any case, with ``-`` or ``_``.

    Raises ResolutionError that names the nearest one there is.
    """
    key = name.strip().lower().replace("_", "-")
    known = {alias: t for t in trainers().values() for alias in (t.name, *t.aliases)}
    if key in known:
        return known[key]
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(trainers())}"
    raise ResolutionError(f"there is no trainer {name!r}; {hint}", trainer=name)
