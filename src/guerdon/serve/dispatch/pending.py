"""The requests of one reward that are not answered yet: each gets one reply, whatever becomes of the others."""

from __future__ import annotations

import logging
from collections.abc import Collection
from time import monotonic

from guerdon.errors import CrashError, DeadlineError
from guerdon.serve.dispatch.jobs import PendingRequest, WorkItem, error_reply
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.messages import WorkerReply

log = logging.getLogger("guerdon.serve")


class PendingRequests:
    """Requests in the order of their arrival, until each is settled or cancelled."""

    def __init__(self, name: str, limits: DispatchLimits) -> None:
        self._name, self._limits = name, limits
        self._requests: dict[PendingRequest, None] = {}

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def is_full(self) -> bool:
        """Whether there are as many as there may be."""
        return len(self._requests) >= self._limits.max_queue

    def add(self, request: PendingRequest) -> None:
        """Take a request; its deadline begins."""
        request.deadline = monotonic() + self._limits.request_timeout
        self._requests[request] = None

    def settle(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Give a request its reply; whatever that runs into is that request's matter alone."""
        self._requests.pop(request, None)
        if not request.settled:
            request.settled = True
            try:
                request.done(reply)
            except Exception:  # the edge to one caller's connection: the other callers get their replies
                log.exception("%s: the reply to request %s could not be sent", self._name, request.request_id)

    def cancel(self, request: PendingRequest) -> None:
        """Nobody waits for this reply any more; what has not begun is not begun."""
        self._requests.pop(request, None)
        request.settled = True
        request.body = b""  # it may lie in the queue for long
        for work in (request, *request.children):
            work.cancelled = True

    def refuse(self, request: PendingRequest, status: int, kind: str, message: str) -> None:
        """Answer a request without its being scored."""
        self.settle(request, error_reply(status, kind, message))
        self.cancel(request)

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer all of them with a refusal."""
        for request in list(self._requests):
            self.refuse(request, status, kind, message)

    def fail(self, work: WorkItem) -> None:
        """Answer the request that work belongs to, because the server itself has just raised on it."""
        request = work.request
        log.exception("%s: the server failed on request %s", self._name, request.request_id)
        self.refuse(request, 500, CrashError.kind, "the server failed on this request; see its log")

    def give_up(self, request: PendingRequest) -> None:
        """Answer a request that was lost."""
        log.error("%s: request %s was lost in the server", self._name, request.request_id)
        self.refuse(request, 503, CrashError.kind, "the server lost this request; send it again")

    def expire(self) -> None:
        """Refuse the requests that have waited too long."""
        now = monotonic()
        for request in list(self._requests):
            if request.deadline > now:
                return
            seconds = self._limits.request_timeout
            message = f"{self._name} did not reply within {seconds:g} s, waiting included"
            self.refuse(request, 504, DeadlineError.kind, message)

    def oldest_wait(self) -> float:
        """Seconds for which the request has waited that came first; 0 where there is none."""
        oldest = next(iter(self._requests), None)
        if oldest is None:
            return 0.0
        return monotonic() - oldest.deadline + self._limits.request_timeout

    def lost(self, held: Collection[WorkItem]) -> list[PendingRequest]:
        """The requests of which nothing is among the work that waits or is with a worker."""
        return [r for r in self._requests if r not in held and not any(c in held for c in r.children)]
