"""What a dispatcher gives to workers, and what becomes of each reply.

A request is a PendingRequest. One with many slow samples is split, in ``splitting``, into chunks that any free worker
scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from guerdon.errors import CrashError, DeadlineError, WrongLengthError
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.messages import EVERY, TOGETHER, WorkerReply, WorkerRequest

_BLAMELESS_DEATHS = 3


class WorkDispatcher(Protocol):
    """What work needs of the dispatcher that has its reply."""

    def settle(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Give a request its reply."""

    def split_request(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Have the samples that are left of a request scored by any free worker."""

    def enqueue(self, work: WorkItem) -> None:
        """Have work done by the next free worker."""

    def chunk_rows(self, count: int) -> int:
        """How many of so many samples make up a chunk."""


class WorkItem(ABC):
    """Something to be answered by one worker; a plain class, whose defaults cost nothing when it is made."""

    choices: tuple[tuple[int, str], ...] = ()
    body: bytes = b""
    rows: tuple[bytes, ...] | None = None
    outcomes: tuple[Outcome, ...] | None = None
    context: bytes = b""
    known_outcomes: dict[int, Outcome] | None = None
    one_by_one = False
    parse_only = False
    plain = True
    """Whether it is no more than a body."""
    alone = False
    """Runs alone in a worker, because a worker died with it in flight and no call could be blamed."""
    deaths = 0
    cancelled = False
    """Nobody waits for the reply any more."""

    @property
    @abstractmethod
    def request(self) -> PendingRequest:
        """The request that is answered where this work fails."""

    @abstractmethod
    def on_reply(self, dispatcher: WorkDispatcher, reply: WorkerReply) -> None:
        """Take the reply."""

    @abstractmethod
    def on_failure(self, dispatcher: WorkDispatcher, verdict: Outcome) -> None:
        """There will be no reply: each worker that gets it dies before the first item."""

    def fields(self, identity: int) -> tuple[Any, ...]:
        """The WorkerRequest, without the fields at its end that are as they are by default."""
        if self.plain:
            return (identity, self.choices, self.body)
        call = WorkerRequest(
            identity,
            self.choices,
            self.body,
            self.known_outcomes,
            self.one_by_one,
            self.parse_only,
            self.rows,
            self.outcomes,
            self.context,
        )
        return tuple(call)

    def blame(self, verdict: Outcome, item: int) -> None:
        """Take down that an item failed; of items that ran together, find out which it was."""
        self.plain = False
        if item != TOGETHER:
            self.known_outcomes = {**(self.known_outcomes or {}), item: verdict}
        elif self.one_by_one:
            self.known_outcomes = {**(self.known_outcomes or {}), EVERY: verdict}
        else:
            self.one_by_one = True

    def refuse(self, verdict: Outcome) -> None:
        """Have every item of which nothing is known fail: the reward is not asked any more."""
        self.plain = False
        self.known_outcomes = {EVERY: verdict, **(self.known_outcomes or {})}

    def suspect(self, verdict: Outcome) -> None:
        """A worker died with this in flight, and what it ran is not known."""
        self.plain = False
        self.one_by_one = self.alone = True
        self.deaths += 1
        if self.deaths >= _BLAMELESS_DEATHS:
            self.known_outcomes = {**(self.known_outcomes or {}), EVERY: verdict}


class PendingRequest(WorkItem):
    """A request that waits for its reply; a subclass says what is done with the reply."""

    request_id: str = ""
    deadline = 0.0
    settled = False
    children: Sequence[WorkItem] = ()

    @property
    def request(self) -> PendingRequest:
        return self

    @abstractmethod
    def done(self, reply: WorkerReply) -> None:
        """Take the response; called once."""

    def on_parsed(self, context: Any) -> None:
        """Take what the format keeps of a request, where the results are wanted as they come."""

    def on_outcomes(self, start: int, outcomes: Sequence[Outcome]) -> None:
        """Take outcomes as they come: the first one's position, and those that follow it."""

    def on_reply(self, dispatcher: WorkDispatcher, reply: WorkerReply) -> None:
        if reply.status:
            dispatcher.settle(self, reply)
        else:
            dispatcher.split_request(self, reply)

    def on_failure(self, dispatcher: WorkDispatcher, verdict: Outcome) -> None:
        kind, message = verdict.kind or CrashError.kind, verdict.error or ""
        dispatcher.settle(self, error_reply(504 if kind == DeadlineError.kind else 500, kind, message))


def miscounted(reply: WorkerReply) -> bool:
    """Whether a batched reward returned another number of results than it got samples."""
    if reply.failures is not None:
        return WrongLengthError.kind in reply.failures
    return any(outcome.kind == WrongLengthError.kind for outcome in reply.outcomes)


def error_reply(status: int, kind: str, message: str) -> WorkerReply:
    """The server's own reply to a request that is not scored."""
    body = json_bytes({"detail": message, "error": {"kind": kind, "message": message}})
    return WorkerReply(0, 0.0, status, body, failures={kind: 1})
