"""Jobs: what a desk hands out, and whom each answer is for.

A request is a Ticket. Where it has many samples that take long it is scored in Parts, by whoever has time, and its
response is written once they are all there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from guerdon.errors import CrashError, DeadlineError
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.messages import EVERY, TOGETHER, Answer, Call

if TYPE_CHECKING:
    from guerdon.serve.dispatch.dispatcher import Desk

_BLAMELESS_DEATHS = 3


class Job(ABC):
    """Something to be answered by one peer; a plain class, whose defaults cost nothing when it is made."""

    choices: tuple[tuple[int, str], ...] = ()
    body: bytes = b""
    rows: tuple[bytes, ...] | None = None
    outcomes: tuple[Outcome, ...] | None = None
    context: bytes = b""
    known: dict[int, Outcome] | None = None
    careful = False
    read_only = False
    plain = True
    """Whether it is no more than a body."""
    alone = False
    """Goes to a peer that has nothing else, because one died with it in hand and none could be blamed."""
    deaths = 0
    dropped = False
    """Nobody waits for the answer any more."""

    @abstractmethod
    def land(self, desk: Desk, answer: Answer) -> None:
        """Take the answer."""

    @abstractmethod
    def fail(self, desk: Desk, verdict: Outcome) -> None:
        """Take that there will be no answer: whoever has it in hand dies before the first item."""

    def fields(self, identity: int) -> tuple[Any, ...]:
        """The Call, without the fields at its end that are as they are by default."""
        if self.plain:
            return (identity, self.choices, self.body)
        call = Call(
            identity,
            self.choices,
            self.body,
            self.known,
            self.careful,
            self.read_only,
            self.rows,
            self.outcomes,
            self.context,
        )
        return tuple(call)

    def blame(self, verdict: Outcome, item: int) -> None:
        """Take down that an item failed; of items that ran together, find out which it was."""
        self.plain = False
        if item != TOGETHER:
            self.known = {**(self.known or {}), item: verdict}
        elif self.careful:
            self.known = {**(self.known or {}), EVERY: verdict}
        else:
            self.careful = True

    def suspect(self, verdict: Outcome) -> None:
        """A peer died with this in hand, and what it ran is not known."""
        self.plain = False
        self.careful = self.alone = True
        self.deaths += 1
        if self.deaths >= _BLAMELESS_DEATHS:
            self.known = {**(self.known or {}), EVERY: verdict}


class Ticket(Job):
    """A request that waits for its answer; whoever asks says what is done with it."""

    deadline = 0.0
    settled = False
    parts: Sequence[Job] = ()

    @abstractmethod
    def done(self, answer: Answer) -> None:
        """Take the response; called once."""

    def on_read(self, context: Any) -> None:
        """Take what the format keeps of a request, where the results are wanted as they come."""

    def on_outcomes(self, start: int, outcomes: Sequence[Outcome]) -> None:
        """Take outcomes as they come: the first one's position, and those that follow it."""

    def land(self, desk: Desk, answer: Answer) -> None:
        if answer.status:
            desk.settle(self, answer)
        else:
            desk.share(self, answer)

    def fail(self, desk: Desk, verdict: Outcome) -> None:
        kind, message = verdict.kind or CrashError.kind, verdict.error or ""
        desk.settle(self, refused_answer(504 if kind == DeadlineError.kind else 500, kind, message))


class Parts:
    """A request whose samples are scored in parts, by whoever has time."""

    def __init__(self, ticket: Ticket, answer: Answer) -> None:
        self.ticket, self.answer = ticket, answer
        self.jobs: list[Job] = []
        self._found: list[Outcome | None] = [*answer.outcomes, *([None] * len(answer.rows))]
        self._left = len(answer.rows)

    def take(self, start: int, outcomes: Sequence[Outcome]) -> bool:
        """Take the outcomes of a part; whether it was the last."""
        self._found[start : start + len(outcomes)] = outcomes
        self._left -= len(outcomes)
        if self.ticket.read_only and not self.ticket.settled:
            self.ticket.on_outcomes(start, outcomes)
        return not self._left

    def outcomes(self) -> tuple[Outcome, ...]:
        """All of them, in order."""
        return tuple(outcome for outcome in self._found if outcome is not None)


class Part(Job):
    """Some samples of a request."""

    plain = False

    def __init__(self, parts: Parts, start: int, rows: tuple[bytes, ...]) -> None:
        self._parts, self._start, self.rows = parts, start, rows

    def land(self, desk: Desk, answer: Answer) -> None:
        if self._parts.take(self._start, answer.outcomes):
            desk.complete(self._parts.ticket, self._parts.answer, self._parts.outcomes())
        elif answer.rows:
            desk.split(self._parts, self._start + len(answer.outcomes), answer.rows)

    def fail(self, desk: Desk, verdict: Outcome) -> None:
        self.land(desk, Answer(0, 0.0, outcomes=(verdict,) * len(self.rows or ())))


class Writing(Job):
    """A request whose samples are all scored and whose response is to be written."""

    plain = False

    def __init__(self, ticket: Ticket, answer: Answer, outcomes: tuple[Outcome, ...]) -> None:
        self._ticket, self.outcomes = ticket, outcomes
        self.choices, self.context = (answer.choice,), answer.context

    def land(self, desk: Desk, answer: Answer) -> None:
        desk.settle(self._ticket, answer)

    def fail(self, desk: Desk, verdict: Outcome) -> None:
        self._ticket.fail(desk, verdict)


def refused_answer(status: int, kind: str, message: str) -> Answer:
    """The server's own answer to a request that is not scored."""
    body = json_bytes({"detail": message, "error": {"kind": kind, "message": message}})
    return Answer(0, 0.0, status, body, failures={kind: 1})
