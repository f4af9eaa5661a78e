"""Dispatcher: the calls for one reward, given to worker processes, watched, and handed out anew where one dies."""

from __future__ import annotations

import asyncio
import logging
import pickle
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.errors import CrashError, DeadlineError, MemoryLimitError, error_of_kind
from guerdon.scoring.evaluate import timeout_message
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.ipc import IDLE, BrokenFrameError, frame
from guerdon.serve.dispatch.handles import WorkerHandle
from guerdon.serve.dispatch.jobs import (
    PendingRequest,
    ResponseRendering,
    SampleChunk,
    SplitRequest,
    WorkItem,
    error_reply,
)
from guerdon.serve.messages import EVERY, TOGETHER, WorkerReply
from guerdon.serve.worker.describe import Description

log = logging.getLogger("guerdon.serve")

TICK = 0.05
"""Seconds between two looks at the workers' clocks."""
_CHUNK_SECONDS = 0.02
"""How much work a worker that answers one call after the other is given at once."""
_MAX_IN_HAND = 64
_QUICK_SECONDS = 0.0003
_BATCH_CALLS = 16
"""Calls that are so quick that handing them over costs as much are handed over together: those that come while a
worker is busy wait until it has answered, or until there are this many."""
_BEAT_SLACK = 1.0
_SLOW_SECONDS = 0.2
"""After how long in one sample a worker counts as held up."""
_LOAD_TRIES = 3
_LOAD_AGAIN_SECONDS = 5.0
_STOP_SECONDS = 5.0
_STOP_BUSY_SECONDS = 0.5
"""How long a worker is waited for that is in the midst of a call which nobody waits for any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchLimits:
    """What holds for the calls of one reward."""

    timeout: float
    """Seconds that one sample may take."""
    request_timeout: float
    """Seconds that a request may take, waiting included."""
    workers: int
    concurrency: int
    max_memory: int | None
    load_timeout: float
    max_queue: int
    """Requests that may wait or be in the works."""


@dataclass(slots=True, eq=False)
class WorkerState:
    """A worker and what it has in hand."""

    handle: WorkerHandle
    started: float = field(default_factory=time.monotonic)
    in_hand: dict[int, WorkItem] = field(default_factory=dict)
    outbox: list[tuple[Any, ...]] = field(default_factory=list)
    alone: bool = False
    writing: bool = False
    stopping: bool = False
    exiting_for_memory: bool = False
    """It ends of its own accord, for want of memory; what it has in hand is not to blame."""
    connection_broken: bool = False
    silent_since: float | None = None


class Dispatcher:
    """The calls for one reward; everything happens on the event loop's thread."""

    def __init__(self, name: str, spawn_worker: Callable[[], WorkerHandle], limits: DispatchLimits) -> None:
        self.name, self.limits = name, limits
        self._spawn_worker = spawn_worker
        self.description: Description | None = None
        self.restarts: dict[str, int] = {}
        """How many workers were replaced, by cause."""
        self._queue: deque[WorkItem] = deque()
        self._pending: dict[PendingRequest, None] = {}
        self._workers: list[WorkerState] = []
        self._next = 0
        self._cost = 0.0
        """Seconds a call takes its worker, a running mean."""
        self._sample_cost = 0.0
        self._scheduled = False
        self._load_failures = 0
        self._load_again = 0.0
        self._load_error: str | None = None
        self._loop: asyncio.AbstractEventLoop
        self._ready: asyncio.Future[None]
        self._ticker: asyncio.TimerHandle | None = None
        self._closed = False
        self._capacity = 1
        self._batches = False

    # Starting and stopping.

    async def start(self) -> None:
        """Start the workers; returns once one can answer. Raises the RewardError that kept it from loading."""
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        for _ in range(max(1, self.limits.workers)):
            self._add()
        self._tick()
        await self._ready

    async def stop(self) -> None:
        """Let the workers end in good order, their clean-up included."""
        self._closed = True
        for worker in self._workers:
            worker.stopping = True
            worker.handle.send_frame(frame(("stop",)))
            self._watch_writing(worker)
        began = time.monotonic()
        while self._workers and (passed := time.monotonic() - began) < _STOP_SECONDS:
            await asyncio.sleep(0.01)  # they end one by one
            for worker in [s for s in self._workers if s.in_hand and passed > _STOP_BUSY_SECONDS]:
                self._release(worker)
        self.close()

    def close(self) -> None:
        """End the workers at once."""
        self._closed = True
        if self._ticker is not None:
            self._ticker.cancel()
        for worker in list(self._workers):
            self._release(worker)

    # What others ask.

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
        return sum(worker.handle.ready for worker in self._workers)

    @property
    def load_error(self) -> str | None:
        """Why nothing can be answered for now; None where it can."""
        return self._load_error

    @property
    def is_full(self) -> bool:
        return len(self._pending) >= self.limits.max_queue

    def retry_after(self) -> float:
        """Seconds after which there should be room again."""
        return max(1.0, self._cost * len(self._pending) / max(1, len(self._workers)))

    def submit(self, request: PendingRequest) -> None:
        """Have a request answered."""
        if self._closed:
            self.settle(request, error_reply(503, "draining", "the server is stopping; ask again"))
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

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer everything that waits or is in the works with a refusal."""
        for request in list(self._pending):
            self.settle(request, error_reply(status, kind, message))
            self.cancel(request)

    # From a request to its reply, by way of its split where it has many samples that take long.

    def split_request(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Have the samples that are left of a request scored by whoever has time."""
        if request.parse_only:
            request.on_parsed(pickle.loads(reply.context))
        split = SplitRequest(request, reply)
        request.children = split.chunks
        if reply.outcomes and request.parse_only:
            request.on_outcomes(0, reply.outcomes)
        if not reply.rows:
            self.complete(request, reply, reply.outcomes)
            return
        self.enqueue_chunks(split, len(reply.outcomes), reply.rows)

    def enqueue_chunks(self, split: SplitRequest, first: int, rows: tuple[bytes, ...]) -> None:
        """Hand out the samples of a request from the one at ``first`` on."""
        size = self._chunk_size(len(rows))
        for start in range(0, len(rows), size):
            chunk = SampleChunk(split, first + start, rows[start : start + size])
            split.chunks.append(chunk)
            self._enqueue(chunk)

    def _chunk_size(self, count: int) -> int:
        """Rows that make up some 20 ms of work, and no more than leaves something for every worker."""
        share = -(-count // max(1, len(self._workers)))
        if self.description is not None and not self.description.direct:
            return max(1, min(share, 8))
        cost = self._sample_cost or _CHUNK_SECONDS
        return max(1, min(share, int(_CHUNK_SECONDS / cost), 256))

    def complete(self, request: PendingRequest, reply: WorkerReply, outcomes: tuple[Outcome, ...]) -> None:
        """All samples are scored: have the response written, or hand the outcomes on."""
        if request.settled:
            return
        if request.parse_only:
            self.settle(request, reply._replace(outcomes=outcomes, rows=()))
        else:
            request.children = [ResponseRendering(request, reply, outcomes)]
            self._enqueue(request.children[0])

    def settle(self, request: PendingRequest, reply: WorkerReply) -> None:
        """Give a request its reply."""
        self._pending.pop(request, None)
        if not request.settled:
            request.settled = True
            request.done(reply)

    # Handing out.

    def _enqueue(self, work: WorkItem, *, first: bool = False) -> None:
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
        queue, room, identity = self._queue, self._capacity, self._next
        while queue:
            work = queue[0]
            if work.cancelled:
                queue.popleft()
                continue
            worker = self._least_busy(work.alone)
            if worker is not None and self._batches and worker.in_hand and len(queue) < _BATCH_CALLS:
                break
            if worker is None or (left := room - len(worker.in_hand)) <= 0:
                break
            # One after the other to the same handle where there is but one.
            for _ in range(left if len(self._workers) == 1 and not work.alone else 1):
                identity += 1
                worker.in_hand[identity] = work
                worker.alone = work.alone
                worker.outbox.append(work.fields(identity))
                queue.popleft()
                if not queue or (work := queue[0]).cancelled or work.alone:
                    break
        self._next = identity
        for worker in self._workers:
            if worker.outbox:
                calls, worker.outbox = worker.outbox, []
                worker.handle.send_frame(frame(("requests", calls)))
                if worker.handle.wants_to_write or worker.writing:
                    self._watch_writing(worker)

    def _least_busy(self, alone: bool) -> WorkerState | None:
        best: WorkerState | None = None
        for worker in self._workers:
            if not worker.handle.ready or worker.stopping or worker.alone or (alone and worker.in_hand):
                continue
            if best is None or len(worker.in_hand) < len(best.in_hand):
                best = worker
        return best

    def _set_capacity(self) -> None:
        """How many calls a worker may have in hand."""
        if self.description is not None and not self.description.direct:
            self._capacity = self.limits.concurrency
            self._batches = False
        elif not self._cost:
            self._capacity = 2
        else:
            self._batches = self._cost < _QUICK_SECONDS
            self._capacity = max(2, min(_MAX_IN_HAND, int(_CHUNK_SECONDS / max(self._cost, 1e-6))))

    def _watch_writing(self, worker: WorkerState) -> None:
        wants = worker.handle.wants_to_write
        if wants and not worker.writing:
            self._loop.add_writer(worker.handle.fileno(), self._write, worker)
        elif worker.writing and not wants:
            self._loop.remove_writer(worker.handle.fileno())
        worker.writing = wants

    def _write(self, worker: WorkerState) -> None:
        worker.handle.flush()
        self._watch_writing(worker)

    # Taking in.

    def _read(self, worker: WorkerState) -> None:
        if not self._drain(worker):
            self._reap(worker, None)

    def _drain(self, worker: WorkerState) -> bool:
        """Take what a worker sent; False once it is gone and all has been read."""
        try:
            messages = worker.handle.receive()
        except BrokenFrameError:
            log.error("%s: a worker wrote garbage to its connection and is replaced", self.name)
            worker.handle.kill()
            worker.connection_broken = True
            return False
        if messages:
            worker.silent_since = None
        for message in messages or ():
            self._take(worker, message)
        return messages is not None

    def _take(self, worker: WorkerState, message: Any) -> None:
        kind = message[0]
        if kind == "replies":
            in_hand = worker.in_hand
            for fields in message[1]:
                work = in_hand.pop(fields[0], None)
                if work is not None and not work.cancelled:
                    work.on_reply(self, WorkerReply(*fields))
            self._update_costs(message[1])
            if worker.alone and not in_hand:
                worker.alone = False
            if self._queue and not self._scheduled:
                self._dispatch()
        elif kind == "ready":
            worker.handle.ready, worker.handle.baseline = True, message[1]
            self.description, self._load_failures, self._load_error = message[2], 0, None
            self._set_capacity()
            if not self._ready.done():
                self._ready.set_result(None)
            self._dispatch()
        elif kind in ("load_failed", "setup_failed"):
            text = f"{self.name} does not load: {message[2]}"
            if not self._ready.done():
                self._ready.set_exception(error_of_kind(message[1], text))
            self._load_error = text
        elif kind == "exiting":
            worker.exiting_for_memory = True
        elif kind == "cleanup_failed":
            log.error("%s: cleanup failed: %s", self.name, message[2])

    def _update_costs(self, replies: Sequence[tuple[Any, ...]]) -> None:
        """What a call and a sample cost, as the replies that came together tell."""
        seconds, count = 0.0, 0
        for reply in replies:
            seconds += reply[1]
            count += len(reply[4]) or (len(reply[7]) if len(reply) > 7 else 0)
        each = seconds / len(replies)
        self._cost = each if not self._cost else 0.9 * self._cost + 0.1 * each
        if count:
            sample = seconds / count
            self._sample_cost = sample if not self._sample_cost else 0.9 * self._sample_cost + 0.1 * sample

    # Watching.

    def _tick(self) -> None:
        self._ticker = self._loop.call_later(TICK, self._tick)
        if self._closed:
            return
        now = time.monotonic()
        self._expire()
        for worker in list(self._workers):
            self._check(worker, now)
        self._set_capacity()
        while len(self._workers) < max(1, self.limits.workers) and self._may_spawn():
            self._add()
        if self._queue and not self._scheduled:
            self._dispatch()

    def _expire(self) -> None:
        """Answer the requests that have waited too long; they are in the order of their arrival."""
        now = self._loop.time()
        for request in list(self._pending):
            if request.deadline > now:
                return
            seconds = self.limits.request_timeout
            message = f"{self.name} did not reply within {seconds:g} s, waiting included"
            self.settle(request, error_reply(504, DeadlineError.kind, message))
            self.cancel(request)

    def _check(self, worker: WorkerState, now: float) -> None:
        handle = worker.handle
        if not handle.is_alive():
            self._drain(worker)
            if worker in self._workers:
                self._reap(worker, None)
            return
        if not handle.ready:
            if now - worker.started > self.limits.load_timeout:
                text = f"{self.name} did not load within {self.limits.load_timeout:g} s"
                if not self._ready.done():
                    self._ready.set_exception(
                        DeadlineError(f"{text}; set GUERDON_LOAD_TIMEOUT if it needs longer")
                    )
                handle.kill()
                self._reap(worker, None)
            return
        if not worker.in_hand or worker.stopping:
            return
        running = handle.running()
        if running[0] in worker.in_hand and now - running[1] > _SLOW_SECONDS:
            self._rebalance(worker, running[0])
        if self._overran(worker, running, now) and handle.running() == running:
            self._end(
                worker,
                running[0],
                handle.item(),
                DeadlineError.kind,
                timeout_message(self.name, self.limits.timeout),
            )
        elif self._outgrown(handle):
            megabytes = (self.limits.max_memory or 0) / 1e6
            message = f"{self.name} outgrew the {megabytes:,.0f} MB that a worker may add (max_memory)"
            self._end(worker, running[0], handle.item(), MemoryLimitError.kind, message)

    def _rebalance(self, worker: WorkerState, index: int) -> None:
        """Have an idle worker do what lies with one that is held up; what that replies too late is not heard."""
        idle = any(other.handle.ready and not other.in_hand and not other.stopping for other in self._workers)
        if not idle or self._queue or self.description is None or not self.description.direct:
            return
        for identity in reversed([number for number in worker.in_hand if number != index]):
            self._enqueue(worker.in_hand.pop(identity), first=True)

    def _overran(self, worker: WorkerState, running: tuple[int, float], now: float) -> bool:
        """Whether an item is over its deadline, or the worker has not got on for longer than one may take."""
        index, since = running
        timeout = self.limits.timeout
        if index != IDLE:
            worker.silent_since = None
            return now - since > timeout
        if self.description is not None and not self.description.direct:
            return now - worker.handle.last_beat() > timeout + _BEAT_SLACK
        # Not within a call and with work to do: a thread that an earlier call left may hold the GIL.
        if worker.silent_since is None:
            worker.silent_since = now
        if now - worker.silent_since <= timeout + _BEAT_SLACK:
            return False
        self._drain(worker)
        return worker.silent_since is not None

    def _outgrown(self, handle: WorkerHandle) -> bool:
        if self.limits.max_memory is None:
            return False
        resident = handle.resident_bytes()
        return resident is not None and resident - handle.baseline > self.limits.max_memory

    def _end(self, worker: WorkerState, index: int, item: int, kind: str, message: str) -> None:
        """Kill a worker and blame what it was seen running, unless that got done while we looked."""
        worker.handle.kill()
        self._drain(worker)
        if worker in self._workers:
            self._reap(worker, failure(kind, message), index, item)

    def _reap(
        self, worker: WorkerState, verdict: Outcome | None, index: int | None = None, item: int | None = None
    ) -> None:
        """A worker is gone: blame the item that it ran, have all else that it had in hand run again."""
        handle = worker.handle
        ready = handle.ready
        if index is None:
            (index, _), item = handle.running(), handle.item()
        if worker.stopping:
            self._release(worker)
            return
        if worker.exiting_for_memory:
            verdict = failure(MemoryLimitError.kind, f"{self.name} ran out of memory in a worker process")
        elif verdict is None:
            text = "wrote garbage to its connection" if worker.connection_broken else handle.cause_of_death()
            verdict = failure(CrashError.kind, f"the worker process {text} while it ran {self.name}")
        self._release(worker)
        cause = verdict.kind or CrashError.kind
        self.restarts[cause] = self.restarts.get(cause, 0) + 1
        if not ready:
            self._failed_to_load(verdict.error or "")
        else:
            log.warning("%s: %s; its other calls run again", self.name, verdict.error)
        culprit = worker.in_hand.get(index)
        for work in reversed(list(worker.in_hand.values())):
            if worker.exiting_for_memory or culprit not in (work, None):
                pass
            elif work.known_outcomes and EVERY in work.known_outcomes:
                work.on_failure(self, verdict)
                continue
            elif work is culprit:
                work.blame(verdict, item if item is not None else TOGETHER)
            else:
                work.suspect(verdict)
            self._enqueue(work, first=True)
        if not self._closed and self._may_spawn():
            self._add()

    def _failed_to_load(self, text: str) -> None:
        self._load_failures += 1
        self._load_error = self._load_error or text
        if not self._ready.done():
            self._ready.set_exception(CrashError(f"{self.name} does not load: {text}"))
        if self._load_failures >= _LOAD_TRIES:
            self._load_again = time.monotonic() + _LOAD_AGAIN_SECONDS
            log.error("%s cannot be loaded: %s", self.name, self._load_error)
            if not self.workers:
                self.refuse_all(503, CrashError.kind, f"{self.name} cannot be served: {self._load_error}")

    def _may_spawn(self) -> bool:
        """Whether it is of use: at first at once, then every few seconds."""
        return self._load_failures < _LOAD_TRIES or time.monotonic() >= self._load_again

    def _add(self) -> None:
        try:
            worker = WorkerState(self._spawn_worker())
        except (CrashError, OSError) as error:
            self._failed_to_load(str(error))
            return
        self._workers.append(worker)
        self._loop.add_reader(worker.handle.fileno(), self._read, worker)
        self._watch_writing(worker)

    def _release(self, worker: WorkerState) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            self._loop.remove_reader(worker.handle.fileno())
            if worker.writing:
                self._loop.remove_writer(worker.handle.fileno())
            worker.handle.close()
