"""Messages between the server and its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from guerdon.scoring.outcome import Outcome

TOGETHER = -1
"""In place of an item's number: all items of the call run at once."""
EVERY = -1
"""In place of an item's number: every item of which nothing else is known."""


class WorkerRequest(NamedTuple):
    """A request's body to answer, or a part of one: ``rows`` to score, ``outcomes`` to write an answer for."""

    id: int
    choices: tuple[tuple[int, str], ...] = ()
    """Which of FORMATS it may be in and what is asked there; of several, the first whose shape it has."""
    body: bytes = b""
    known_outcomes: Mapping[int, Outcome] | None = None
    """Outcomes of items that need not be scored: those that ended a worker."""
    one_by_one: bool = False
    """One item at a time, so that the one that ends a worker is seen."""
    parse_only: bool = False
    """Give back the samples without scoring one."""
    rows: tuple[bytes, ...] | None = None
    outcomes: tuple[Outcome, ...] | None = None
    context: bytes = b""
    """What the format needs to write the answer, pickled."""


class WorkerReply(NamedTuple):
    """What came of a call: a response, or outcomes with the rows that are left to score."""

    id: int
    seconds: float
    """How long the worker worked on it."""
    status: int = 0
    """The HTTP status of the response; 0 where there is none yet."""
    body: bytes = b""
    scores: Sequence[float | str | None] = ()
    """One for each sample; in place of one, the kind of its failure, or None where the reward does not apply."""
    failures: Mapping[str, int] | None = None
    """How many samples failed, by kind."""
    choice: tuple[int, str] = (0, "")
    """The format that the call was in, and what was asked."""
    outcomes: tuple[Outcome, ...] = ()
    rows: tuple[bytes, ...] = ()
    """Pickled samples, or outcomes, that the server is to have scored."""
    context: bytes = b""
