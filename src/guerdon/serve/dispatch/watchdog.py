"""The watchdog of a reward's dispatcher: it sees that requests move, and mends what keeps them."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from typing import Protocol

from guerdon.scoring.process.ipc import IDLE
from guerdon.serve.dispatch.jobs import PendingRequest, WorkItem
from guerdon.serve.dispatch.pending import PendingRequests
from guerdon.serve.dispatch.workers import ServingWorker

log = logging.getLogger("guerdon.serve")

_LOOK_SECONDS = 1.0
_PROBE_SECONDS = 3.0
"""After how long without a reply a worker that has nothing to do is asked to answer."""
_UNMOVED_SECONDS = 5.0
"""After how long without any movement the server counts as not ready."""
_REPLACE_SECONDS = 30.0
"""After how long without a sign of life a worker is replaced; sooner where a sample may take less."""
_ABSENT_SECONDS = 10.0


class WatchedDispatcher(Protocol):
    """What the watchdog sees of a dispatcher and has it do."""

    pending: PendingRequests

    def probe(self, worker: ServingWorker) -> None: ...
    def move_calls(self, worker: ServingWorker, *, but: int = IDLE) -> None: ...
    def replace(self, worker: ServingWorker, reason: str) -> None: ...
    def held(self) -> Collection[WorkItem]: ...


class Watchdog:
    """Looks once a second. Workers that have nothing to do are probed, so a stall is seen before a request waits.

    A worker that runs a call is busy, for as long as its deadline lets it. One that has calls or a probe, runs
    none of them and sends nothing is silent.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self._name = name
        self._patience = min(timeout + 1.0, _REPLACE_SECONDS)
        self._looked = self._moved = time.monotonic()
        self._reason: str | None = None
        self._suspects: list[PendingRequest] = []

    def stalled(self, now: float) -> str | None:
        """Why requests do not move; None where they do, or where there are none and the workers answer."""
        if now - self._looked > _ABSENT_SECONDS:
            return f"the server has not looked after its workers for {now - self._looked:.0f} s"
        return self._reason

    def on_progress(self, worker: ServingWorker) -> None:
        """Take that a worker sent replies."""
        self._moved = worker.replied = time.monotonic()
        worker.unresponsive = False

    def look(
        self,
        now: float,
        dispatcher: WatchedDispatcher,
        workers: Sequence[ServingWorker],
        on_event_loop: bool,
    ) -> None:
        """See to silent workers and lost requests, at most once a second."""
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        ready = [worker for worker in workers if worker.handle.ready and not worker.stopping]
        for worker in ready:
            self._see_to(dispatcher, worker, now, on_event_loop)
        if not on_event_loop and not all(worker.unresponsive for worker in ready):
            for worker in ready:
                if worker.unresponsive:
                    dispatcher.move_calls(worker)
        lost = dispatcher.pending.lost(dispatcher.held())
        for request in lost:
            if request in self._suspects:  # seen twice: it was not just on its way
                dispatcher.pending.give_up(request)
        self._suspects = lost
        self._judge(self._blockage(dispatcher, ready, now))

    def _see_to(
        self, dispatcher: WatchedDispatcher, worker: ServingWorker, now: float, on_event_loop: bool
    ) -> None:
        silent = _silent_seconds(worker, now, on_event_loop)
        # With calls in flight it is ended at their deadline; a thread of the user's own process is left alone.
        is_process = worker.handle.resident_bytes() is not None
        if silent > self._patience and is_process and not worker.in_flight:
            dispatcher.replace(worker, f"a worker of {self._name} did not answer for {silent:.0f} s")
        elif silent > _UNMOVED_SECONDS:
            if not worker.unresponsive:
                log.error("%s: a worker has not answered for %.0f s", self._name, silent)
            worker.unresponsive = True
        if not worker.in_flight and not worker.probe and now - worker.replied > _PROBE_SECONDS:
            dispatcher.probe(worker)

    def _blockage(
        self, dispatcher: WatchedDispatcher, ready: Sequence[ServingWorker], now: float
    ) -> str | None:
        silent = [worker for worker in ready if worker.unresponsive]
        if ready and len(silent) == len(ready):
            return "no worker answers"
        waited = min(dispatcher.pending.oldest_wait(), now - self._moved)
        if waited <= _UNMOVED_SECONDS or any(worker.in_flight for worker in ready if worker not in silent):
            return None
        return f"requests wait, and none was answered for {waited:.0f} s"

    def _judge(self, reason: str | None) -> None:
        if (reason is None) != (self._reason is None):
            if reason is not None:
                log.error("%s: %s", self._name, reason)
            else:
                log.warning("%s answers again", self._name)
        self._reason = reason


def _silent_seconds(worker: ServingWorker, now: float, on_event_loop: bool) -> float:
    """For how long a worker has had something to answer, run nothing and sent nothing."""
    if worker.handle.running()[0] != IDLE:
        return 0.0
    since = [] if not worker.probe else [worker.probed]
    if worker.in_flight:
        if on_event_loop:
            since.append(worker.handle.last_beat())
        elif worker.silent_since is not None:
            since.append(worker.silent_since)
    return max(0.0, now - max(min(since), worker.replied)) if since else 0.0
