"""Dispatcher: the calls for one reward, given to worker processes and handed out anew where one dies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.errors import CrashError, WrongLengthError
from guerdon.reward.binding.returns import not_asked_again
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.handle import WorkerHandle
from guerdon.scoring.process.ipc import IDLE, frame
from guerdon.serve.dispatch.capacity import WorkerCapacity
from guerdon.serve.dispatch.jobs import PendingRequest, WorkItem, error_reply, miscounted
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.dispatch.pending import PendingRequests
from guerdon.serve.dispatch.splitting import SplitRequest
from guerdon.serve.dispatch.watchdog import Watchdog
from guerdon.serve.dispatch.workers import ServingWorker, WorkerGroup
from guerdon.serve.messages import EVERY, WorkerReply, WorkerRequest
from guerdon.serve.worker.describe import Description

log = logging.getLogger("guerdon.serve")

TICK = 0.05
"""Seconds between two looks at the workers' clocks."""
_GATHERED_CALLS = 16
"""So many calls that wait are handed over also to a worker that is still busy with others."""
_SLOW_SECONDS = 0.2
"""After how long in one sample a worker counts as held up."""


class Dispatcher:
    """The calls for one reward; everything happens on the event loop's thread."""

    def __init__(self, name: str, spawn_worker: Callable[[], WorkerHandle], limits: DispatchLimits) -> None:
        self.name, self.limits = name, limits
        self._group = WorkerGroup(name, spawn_worker, limits, self)
        self._workers = self._group.workers
        self._capacity = WorkerCapacity(limits.concurrency)
        self._queue: deque[WorkItem] = deque()
        self.pending = PendingRequests(name, limits)
        self.settle: Callable[[PendingRequest, WorkerReply], None] = self.pending.settle
        """Gives a request its reply."""
        self._identity = 0
        self._refusal: Outcome | None = None
        """What every sample fails with, once the reward has returned a wrong number of results."""
        self._scheduled = False
        self._watchdog = Watchdog(name, limits.timeout)
        self._loop: asyncio.AbstractEventLoop
        self._ticker: asyncio.TimerHandle | None = None

    # Starting and stopping.

    async def start(self) -> None:
        """Start the workers; returns once one can answer. Raises the RewardError that kept it from loading."""
        self._loop = asyncio.get_running_loop()
        ready = self._group.start()
        self._tick()
        await ready

    async def stop(self) -> None:
        """Let the workers end in good order, their clean-up included."""
        await self._group.stop()
        self.close()

    def close(self) -> None:
        """End the workers at once."""
        if self._ticker is not None:
            self._ticker.cancel()
        self._group.close()

    # What the server reads.

    @property
    def description(self) -> Description | None:
        """What the workers say of the reward, once one has loaded it."""
        return self._group.description

    @property
    def restarts(self) -> dict[str, int]:
        """How many workers were replaced, by cause."""
        return self._group.restarts

    @property
    def queued(self) -> int:
        """Requests that no worker has yet."""
        return len(self._queue)

    @property
    def in_flight(self) -> int:
        """Requests that are not answered yet."""
        return len(self.pending)

    @property
    def workers(self) -> int:
        """Workers that can answer."""
        return self._group.ready_workers

    @property
    def load_error(self) -> str | None:
        """Why nothing can be answered for now; None where it can."""
        return self._group.load_error or (self._refusal.error if self._refusal is not None else None)

    @property
    def stalled(self) -> str | None:
        """What does not move although it should, as the watchdog last saw it; None where all does."""
        return self._watchdog.stalled(time.monotonic())

    @property
    def is_full(self) -> bool:
        return self.pending.is_full

    @property
    def takes_requests(self) -> bool:
        """Whether there is room, and nothing keeps the reward from answering."""
        return not self.pending.is_full and self._group.load_error is None and self._refusal is None

    def retry_after(self) -> float:
        """Seconds after which there should be room again."""
        return max(1.0, self._capacity.seconds_for(len(self.pending), len(self._workers)))

    # Requests.

    def submit(self, request: PendingRequest) -> None:
        """Have a request answered."""
        if self._group.closed:
            self.settle(request, error_reply(503, "draining", "the server is stopping; retry later"))
            return
        self.pending.add(request)
        self._queue.append(request)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._dispatch)

    def cancel(self, request: PendingRequest) -> None:
        """Nobody waits for this reply any more; what has not begun is not begun."""
        self.pending.cancel(request)

    def split_request(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Have the samples that are left of a request scored by any free worker."""
        SplitRequest(request, reply).begin(self)

    def chunk_rows(self, count: int) -> int:
        """How many of so many samples make up a chunk."""
        return self._capacity.chunk_rows(count, len(self._workers), self._group.runs_event_loop())

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer everything that waits or is in the works with a refusal."""
        self.pending.refuse_all(status, kind, message)

    # Handing out.

    def enqueue(self, work: WorkItem, *, first: bool = False) -> None:
        """Have work done by the next free worker, after what waits already or ``first``."""
        if first:
            self._queue.appendleft(work)
        else:
            self._queue.append(work)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        """Give what waits to the workers that have room, the idlest first."""
        self._scheduled = False
        queue, room = self._queue, self._capacity.calls
        gathers = self._capacity.gathers
        while queue:
            work = queue[0]
            if work.cancelled:
                queue.popleft()
                continue
            worker = self._least_busy(work.alone)
            if worker is not None and gathers and worker.in_flight and len(queue) < _GATHERED_CALLS:
                break
            if worker is None or (left := room - len(worker.in_flight)) <= 0:
                break
            # One after the other to the same worker where there is but one.
            for _ in range(left if len(self._workers) == 1 and not work.alone else 1):
                queue.popleft()
                self._hand_over(worker, work)
                if not queue or (work := queue[0]).cancelled or work.alone:
                    break
        for worker in self._workers:
            if worker.outbox:
                self._send(worker)

    def _hand_over(self, worker: ServingWorker, work: WorkItem) -> None:
        """Have work sent to a worker with what else goes there in this turn."""
        self._identity = identity = self._identity + 1
        if self._refusal is not None:
            work.refuse(self._refusal)
        worker.in_flight[identity] = work
        worker.alone = work.alone
        worker.outbox.append(work.fields(identity))

    def _send(self, worker: ServingWorker) -> None:
        """Send a worker what was handed over; a worker to which nothing can be sent is replaced."""
        calls, worker.outbox = worker.outbox, []
        try:
            worker.handle.send_frame(frame(("requests", calls)))
            if worker.handle.wants_to_write or worker.writing:
                self._group.update_writing(worker)
        except Exception:  # the edge to one worker: the others get theirs
            log.exception("%s: a worker's connection cannot be written to; it is replaced", self.name)
            worker.handle.kill()

    def _least_busy(self, alone: bool) -> ServingWorker | None:
        best: ServingWorker | None = None
        for worker in self._workers:
            if not worker.handle.ready or worker.stopping or worker.alone or (alone and worker.in_flight):
                continue
            if worker.unresponsive and len(self._workers) > 1:
                continue
            if best is None or len(worker.in_flight) < len(best.in_flight):
                best = worker
        return best

    # What the workers do.

    def on_ready(self) -> None:
        """Take that one more worker can answer."""
        self._capacity.update(self._group.runs_event_loop())
        self._dispatch()

    def on_replies(self, worker: ServingWorker, replies: Sequence[tuple[Any, ...]]) -> None:
        """Take replies, and hand out what waits."""
        in_flight = worker.in_flight
        self._watchdog.on_progress(worker)
        learnt: Sequence[tuple[Any, ...]] = replies
        for fields in replies:
            work = in_flight.pop(fields[0], None)
            if work is None:
                if fields[0] == worker.probe:
                    worker.probe = 0
                    learnt = [reply for reply in replies if reply is not fields]
                continue
            try:
                reply = WorkerReply(*fields)
                if self._refusal is None and miscounted(reply):
                    message = f"{self.name} returned another number of results than it got samples"
                    self._refusal = failure(WrongLengthError.kind, not_asked_again(message))
                if not work.cancelled:
                    work.on_reply(self, reply)
            except Exception:  # the edge to one request: the others of these replies are taken
                self.pending.fail(work)
        if learnt:
            self._capacity.learn(learnt)
        if worker.alone and not in_flight:
            worker.alone = False
        if self._queue and not self._scheduled:
            self._dispatch()

    def on_running(self, worker: ServingWorker, index: int, seconds: float) -> None:
        """Give an idle worker the calls that wait at a slow one; the slow one's replies to them are dropped."""
        if index not in worker.in_flight or seconds <= _SLOW_SECONDS:
            return
        idle = (w for w in self._workers if w.handle.ready and not w.in_flight and not w.stopping)
        if self._queue or self._group.runs_event_loop() or next(idle, None) is None:
            return
        self.move_calls(worker, but=index)

    def on_worker_end(self, worker: ServingWorker, verdict: Outcome, index: int, item: int) -> None:
        """Blame the call that a worker ran; its other calls run again."""
        culprit = worker.in_flight.get(index)
        for work in reversed(list(worker.in_flight.values())):
            try:
                if worker.exiting_for_memory or culprit not in (work, None):
                    pass
                elif work.known_outcomes and EVERY in work.known_outcomes:
                    work.on_failure(self, verdict)
                    continue
                elif work is culprit:
                    work.blame(verdict, item)
                else:
                    work.suspect(verdict)
                self.enqueue(work, first=True)
            except Exception:  # the edge to one request, as above
                self.pending.fail(work)

    # What the watchdog asks.

    def probe(self, worker: ServingWorker) -> None:
        """Have a worker that has nothing to do answer an empty call."""
        self._identity += 1
        worker.probe, worker.probed = self._identity, time.monotonic()
        worker.outbox.append(tuple(WorkerRequest(self._identity, rows=())))
        self._send(worker)

    def move_calls(self, worker: ServingWorker, *, but: int = IDLE) -> None:
        """Give the calls in flight at a worker, but for one, to the next free worker."""
        for identity in reversed([number for number in worker.in_flight if number != but]):
            self.enqueue(worker.in_flight.pop(identity), first=True)

    def held(self) -> set[WorkItem]:
        """The work that waits or is with a worker."""
        return set(self._queue).union(*(worker.in_flight.values() for worker in self._workers))

    def replace(self, worker: ServingWorker, reason: str) -> None:
        """End a worker that does not answer; its calls run elsewhere."""
        self._group.replace(worker, failure(CrashError.kind, reason))

    def _tick(self) -> None:
        self._ticker = self._loop.call_later(TICK, self._tick)
        if self._group.closed:
            return
        for job in (self.pending.expire, self._supervise, self._watch):
            try:
                job()
            except Exception:  # one of them that fails keeps none of the others from its work
                log.exception("%s: the server's own supervision failed", self.name)
        if self._queue:
            self._dispatch()

    def _supervise(self) -> None:
        self._group.check(time.monotonic())
        self._capacity.update(self._group.runs_event_loop())
        self._group.replace_missing()

    def _watch(self) -> None:
        self._watchdog.look(time.monotonic(), self, self._workers, self._group.runs_event_loop())
