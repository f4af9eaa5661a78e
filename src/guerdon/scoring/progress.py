"""How far a run is, and what shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from guerdon.errors import InputError
from guerdon.scoring import hooks


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    done: int
    """Samples that have a verdict, those of an earlier run that was resumed among them."""
    resumed: int
    total: int | None
    """How many samples there are, where that is known."""
    failed: int
    mean: float | None
    """Mean score so far."""
    seconds: float
    """Since the run started."""


OnProgress = Callable[[Progress], None]


def shown_progress(
    progress: OnProgress | bool | None, *, silent: bool
) -> contextlib.AbstractContextManager[OnProgress | None]:
    """What is called while a run goes on; ``silent`` where nobody would see a bar.

    Raises InputError for what is neither a function nor a truth value.
    """
    if callable(progress):
        return contextlib.nullcontext(progress)
    if progress not in (None, True, False):
        raise InputError(f"progress must be True, False or a function, not {progress!r}")
    if progress is False or hooks.scoring_progress is None or silent:
        return contextlib.nullcontext()
    return hooks.scoring_progress(progress is True)
