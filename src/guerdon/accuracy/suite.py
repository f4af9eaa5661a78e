"""What a labelled set of answers is, and what is measured on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One answer with a verdict that is known to be right."""

    id: str
    row: Mapping[str, Any]
    """What ``Sample.from_row`` reads: ``messages`` and the columns that the rewards need."""
    right: bool
    """Whether the answer is right; where it was made wrong on purpose, False."""
    kind: str = ""
    """What sort of case it is inside its suite, such as the name of a rewriting; the table can be broken down by it."""


@dataclass(frozen=True, slots=True)
class Ours:
    """A reward of the catalogue under its parameters; a score of ``threshold`` or more is "right"."""

    label: str
    """How the table calls it, such as ``math (strict)``."""
    reward: str
    """Whatever resolves to a reward: a registered name, a path."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class Peer:
    """Another project's verifier, run beside ours in worker processes where it is installed."""

    label: str
    """How the table calls it, such as ``math-verify``."""
    package: str
    """The module whose absence means that the peer is left out."""
    verdict: Callable[[Mapping[str, Any]], bool | None]
    """From a case's ``row`` whether it finds the answer right; None where it decides nothing. A module-level
    function that imports the peer when it is called."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A labelled set of answers and who is measured on it."""

    name: str
    """As the command line calls it, such as ``math-golds``."""
    title: str
    """What it is, in a line."""
    files: tuple[str, ...]
    """What it reads, relative to the folder of the data; a suite whose files are absent is left out and said so."""
    cases: Callable[[Path], Iterable[Case]]
    """From the folder of the data to the cases, in a fixed order."""
    ours: tuple[Ours, ...]
    peers: tuple[Peer, ...] = ()
    aim: str = ""
    """What the project promises of it, in a line."""
    lacks: Callable[[], str | None] | None = None
    """What the environment lacks for it, such as a judge to ask; what lacks something is left out and said so."""
