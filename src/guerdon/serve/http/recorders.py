"""What is recorded of each answered request: one event, given to every recorder that is on.

The recorders are the metrics, the server's log, OpenTelemetry's spans and the journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from guerdon.serve.http.replies import HeaderPairs
from guerdon.serve.journal.store import Journal, JournalEntry
from guerdon.serve.messages import WorkerReply


class RequestFacts(Protocol):
    """What the caller sent, but for the path, which the endpoint knows."""

    @property
    def method(self) -> str: ...
    @property
    def headers(self) -> HeaderPairs: ...
    @property
    def request_id(self) -> str: ...
    @property
    def client(self) -> str: ...
    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The facts of a request that was refused by its headers."""

    method: str
    request_id: str
    client: str
    headers: HeaderPairs = ()
    body: bytes = b""


class RequestEvent(NamedTuple):
    """An answered request. A named tuple, because a frozen dataclass takes four times as long to make.

    >>> event = RequestEvent(RefusedRequest("POST", "r-1", "10.0.0.1:4711"), "/score", "math", 401, 0.0)
    >>> event.status, event.samples, event.failures
    (401, 0, 0)
    """

    request: RequestFacts
    path: str
    """Without the query."""
    reward: str
    """The reward's name; ``""`` where none was meant."""
    status: int
    seconds: float
    """From the request's arrival to its reply."""
    format: str = ""
    op: str = ""
    response: bytes = b""
    reply: WorkerReply | None = None
    """What the workers gave; None where the server refused the request or answered from its cache."""

    @property
    def samples(self) -> int:
        """How many samples were scored."""
        return 0 if self.reply is None else len(self.reply.scores)

    @property
    def failures(self) -> int:
        """How many of them failed."""
        return 0 if self.reply is None or not self.reply.failures else sum(self.reply.failures.values())


class Recorder(Protocol):
    """Takes events on the server's loop, where it must not wait."""

    def record(self, event: RequestEvent) -> None:
        """Take an event."""


class JournalRecorder:
    """Writes what the workers answered to the journal; ``version_of`` gives a reward's version by its name."""

    def __init__(self, journal: Journal, version_of: Callable[[str], str]) -> None:
        self._journal, self._version_of = journal, version_of

    def record(self, event: RequestEvent) -> None:
        """Have an entry written for a request that the workers answered."""
        request, reply = event.request, event.reply
        if reply is None:
            return
        entry = JournalEntry(
            request_id=request.request_id,
            time=time.time() - event.seconds,
            method=request.method,
            path=event.path,
            status=event.status,
            ms=event.seconds * 1000,
            headers=request.headers,
            reward=event.reward,
            version=self._version_of(event.reward),
            format=event.format,
            op=event.op,
            scores=reply.scores,
            failures=reply.failures or {},
            request=request.body,
            response=event.response,
        )
        self._journal.record(entry)
