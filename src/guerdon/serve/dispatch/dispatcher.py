"""Dispatcher: the calls for one reward, given to worker processes and handed out anew where one dies."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.errors import DeadlineError, WrongLengthError
from guerdon.reward.binding.returns import not_asked_again
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.handle import WorkerHandle
from guerdon.scoring.process.ipc import frame
from guerdon.serve.dispatch.capacity import WorkerCapacity
from guerdon.serve.dispatch.jobs import PendingRequest, WorkItem, error_reply, miscounted
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.dispatch.splitting import SplitRequest
from guerdon.serve.dispatch.workers import ServingWorker, WorkerGroup
from guerdon.serve.messages import EVERY, WorkerReply
from guerdon.serve.worker.describe import Description

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
        self._pending: dict[PendingRequest, None] = {}
        """In the order of their arrival."""
        self._identity = 0
        self._refusal: Outcome | None = None
        """What every sample fails with, once the reward has returned a wrong number of results."""
        self._scheduled = False
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
        return len(self._pending)

    @property
    def workers(self) -> int:
        """Workers that can answer."""
        return self._group.ready_workers

    @property
    def load_error(self) -> str | None:
        """Why nothing can be answered for now; None where it can."""
        return self._group.load_error or (self._refusal.error if self._refusal is not None else None)

    @property
    def is_full(self) -> bool:
        return len(self._pending) >= self.limits.max_queue

    def retry_after(self) -> float:
        """Seconds after which there should be room again."""
        return max(1.0, self._capacity.seconds_for(len(self._pending), len(self._workers)))

    # Requests.

    def submit(self, request: PendingRequest) -> None:
        """Have a request answered."""
        if self._group.closed:
            self.settle(request, error_reply(503, "draining", "the server is stopping; retry later"))
            return
        request.deadline = self._loop.time() + self.limits.request_timeout
        self._pending[request] = None
        self._queue.append(request)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._dispatch)

    def cancel(self, request: PendingRequest) -> None:
        """Nobody waits for this reply any more; what has not begun is not begun."""
        self._pending.pop(request, None)
        request.settled = True
        for work in (request, *request.children):
            work.cancelled = True

    def settle(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Give a request its reply."""
        self._pending.pop(request, None)
        if not request.settled:
            request.settled = True
            request.done(reply)

    def split_request(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Have the samples that are left of a request scored by any free worker."""
        SplitRequest(request, reply).begin(self)

    def chunk_rows(self, count: int) -> int:
        """How many of so many samples make up a chunk."""
        return self._capacity.chunk_rows(count, len(self._workers), self._group.runs_event_loop())

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer everything that waits or is in the works with a refusal."""
        for request in list(self._pending):
            self._refuse(request, error_reply(status, kind, message))

    def _refuse(self, request: PendingRequest, reply: WorkerReply) -> None:
        self.settle(request, reply)
        self.cancel(request)

    def _expire(self) -> None:
        """Refuse the requests that have waited too long."""
        now = self._loop.time()
        for request in list(self._pending):
            if request.deadline > now:
                return
            seconds = self.limits.request_timeout
            message = f"{self.name} did not reply within {seconds:g} s, waiting included"
            self._refuse(request, error_reply(504, DeadlineError.kind, message))

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
        queue, room, identity = self._queue, self._capacity.calls, self._identity
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
                identity += 1
                worker.in_flight[identity] = work
                worker.alone = work.alone
                if self._refusal is not None:
                    work.refuse(self._refusal)
                worker.outbox.append(work.fields(identity))
                queue.popleft()
                if not queue or (work := queue[0]).cancelled or work.alone:
                    break
        self._identity = identity
        for worker in self._workers:
            if worker.outbox:
                calls, worker.outbox = worker.outbox, []
                worker.handle.send_frame(frame(("requests", calls)))
                if worker.handle.wants_to_write or worker.writing:
                    self._group.update_writing(worker)

    def _least_busy(self, alone: bool) -> ServingWorker | None:
        best: ServingWorker | None = None
        for worker in self._workers:
            if not worker.handle.ready or worker.stopping or worker.alone or (alone and worker.in_flight):
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
        for fields in replies:
            work = in_flight.pop(fields[0], None)
            reply = WorkerReply(*fields)
            if self._refusal is None and miscounted(reply):
                message = f"{self.name} returned another number of results than it got samples"
                self._refusal = failure(WrongLengthError.kind, not_asked_again(message))
            if work is not None and not work.cancelled:
                work.on_reply(self, reply)
        self._capacity.learn(replies)
        if worker.alone and not in_flight:
            worker.alone = False
        if self._queue and not self._scheduled:
            self._dispatch()

    def on_running(self, worker: ServingWorker, index: int, seconds: float) -> None:
        """Give an idle worker the calls that wait at a slow one; the slow one's replies to them are dropped."""
        if index not in worker.in_flight or seconds <= _SLOW_SECONDS:
            return
        idle = any(
            other.handle.ready and not other.in_flight and not other.stopping for other in self._workers
        )
        if not idle or self._queue or self._group.runs_event_loop():
            return
        for identity in reversed([number for number in worker.in_flight if number != index]):
            self.enqueue(worker.in_flight.pop(identity), first=True)

    def on_worker_end(self, worker: ServingWorker, verdict: Outcome, index: int, item: int) -> None:
        """Blame the call that a worker ran; its other calls run again."""
        culprit = worker.in_flight.get(index)
        for work in reversed(list(worker.in_flight.values())):
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

    def _tick(self) -> None:
        self._ticker = self._loop.call_later(TICK, self._tick)
        if self._group.closed:
            return
        self._expire()
        self._group.check(time.monotonic())
        self._capacity.update(self._group.runs_event_loop())
        self._group.replace_missing()
        if self._queue and not self._scheduled:
            self._dispatch()
