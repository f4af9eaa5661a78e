"""What a labelled set of answers is, and what is measured on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """One answer with a verdict that is known to be right."""

    id: str
    row: Mapping[str, Any]
    """What ``Sample.from_row`` reads: ``messages`` and the columns that the rewards need."""
    right: bool
    """Whether the answer is right; where it was made wrong on purpose, False."""
    kind: str = ""
    """What sort of case it is inside its suite, such as the name of a rewriting; the table can be broken down by it."""


@dataclass(frozen=True, slots=True)
class CatalogueVerifier:
    """A reward of the catalogue under its parameters; a score of ``threshold`` or more is "right"."""

    label: str
    """How the table calls it, such as ``math (strict)``."""
    reward: str
    """Whatever resolves to a reward: a registered name, a path."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class ExternalVerifier:
    """Another project's verifier, run in worker processes where it is installed."""

    label: str
    """How the table calls it, such as ``math-verify``."""
    package: str
    """The module that has to be installed; without it the verifier is left out."""
    verdict: Callable[[Mapping[str, Any]], bool | None]
    """From a case's ``row`` whether it finds the answer right; None where it decides nothing. A module-level
    function that imports the other project when it is called."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A labelled set of answers and the verifiers that are measured on it."""

    name: str
    """As the command line calls it, such as ``math-golds``."""
    title: str
    """What it is, in a line."""
    files: tuple[str, ...]
    """What it reads, relative to the folder of the data; without these files the suite is left out."""
    cases: Callable[[Path], Iterable[LabelledCase]]
    """From the folder of the data to the cases, in a fixed order."""
    catalogue: tuple[CatalogueVerifier, ...]
    external: tuple[ExternalVerifier, ...] = ()
    aim: str = ""
    """What the project aims for on it, in a line."""
    lacks: Callable[[], str | None] | None = None
    """What the environment lacks for it, such as a judge to ask; the suite is then left out, with that reason."""
