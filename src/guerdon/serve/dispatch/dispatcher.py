"""Desk: the calls for one reward, handed to those who answer them, watched, and handed out anew where one dies."""

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
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.ipc import IDLE, BrokenFrameError, frame
from guerdon.scoring.worker.entry import overran
from guerdon.serve.dispatch.handles import Peer
from guerdon.serve.dispatch.jobs import Job, Part, Parts, Ticket, Writing, refused_answer
from guerdon.serve.messages import EVERY, TOGETHER, Answer
from guerdon.serve.worker.describe import Description

log = logging.getLogger("guerdon.serve")

TICK = 0.05
"""Seconds between two looks at the peers' clocks."""
_AHEAD_SECONDS = 0.02
"""How much work a peer that answers one call after the other is given at once."""
_AHEAD_CALLS = 64
_QUICK_SECONDS = 0.0003
_GATHERED = 16
"""Calls that are so quick that handing them over costs as much are handed over together: those that come while a
peer is busy wait until it has answered, or until there are this many."""
_BEAT_SLACK = 1.0
_SLOW_SECONDS = 0.2
"""After how long in one sample a peer counts as held up."""
_LOAD_TRIES = 3
_LOAD_AGAIN_SECONDS = 5.0
_STOP_SECONDS = 5.0
_STOP_BUSY_SECONDS = 0.5
"""How long a peer is waited for that is in the midst of a call which nobody waits for any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeskLimits:
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
class _Station:
    """A peer and what it has in hand."""

    peer: Peer
    started: float = field(default_factory=time.monotonic)
    jobs: dict[int, Job] = field(default_factory=dict)
    outbox: list[tuple[Any, ...]] = field(default_factory=list)
    alone: bool = False
    writing: bool = False
    stopping: bool = False
    resigned: bool = False
    """It ends of its own accord, for want of memory; what it has in hand is not to blame."""
    garbled: bool = False
    silent_since: float | None = None


class Desk:
    """The calls for one reward; everything happens on the event loop's thread."""

    def __init__(self, name: str, hire: Callable[[], Peer], limits: DeskLimits) -> None:
        self.name, self.limits = name, limits
        self._hire = hire
        self.description: Description | None = None
        self.restarts: dict[str, int] = {}
        """How many peers were replaced, by cause."""
        self._queue: deque[Job] = deque()
        self._tickets: dict[Ticket, None] = {}
        self._stations: list[_Station] = []
        self._next = 0
        self._cost = 0.0
        """Seconds a call takes its peer, a running mean."""
        self._sample_cost = 0.0
        self._pumping = False
        self._load_failures = 0
        self._load_again = 0.0
        self._broken: str | None = None
        self._loop: asyncio.AbstractEventLoop
        self._ready: asyncio.Future[None]
        self._ticker: asyncio.TimerHandle | None = None
        self._closed = False
        self._room = 1
        self._gathers = False

    # Starting and stopping.

    async def start(self) -> None:
        """Hire the peers; returns once one can answer. Raises the RewardError that kept it from loading."""
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        for _ in range(max(1, self.limits.workers)):
            self._add()
        self._tick()
        await self._ready

    async def stop(self) -> None:
        """Let the peers end in good order, their clean-up included."""
        self._closed = True
        for station in self._stations:
            station.stopping = True
            station.peer.send_frame(frame(("stop",)))
            self._watch_writing(station)
        began = time.monotonic()
        while self._stations and (passed := time.monotonic() - began) < _STOP_SECONDS:
            await asyncio.sleep(0.01)  # they end one by one
            for station in [s for s in self._stations if s.jobs and passed > _STOP_BUSY_SECONDS]:
                self._release(station)
        self.close()

    def close(self) -> None:
        """End the peers at once."""
        self._closed = True
        if self._ticker is not None:
            self._ticker.cancel()
        for station in list(self._stations):
            self._release(station)

    # What others ask.

    @property
    def waiting(self) -> int:
        """Calls that no peer has yet."""
        return len(self._queue)

    @property
    def in_hand(self) -> int:
        """Requests that are not answered yet."""
        return len(self._tickets)

    @property
    def workers(self) -> int:
        """Peers that can answer."""
        return sum(station.peer.ready for station in self._stations)

    @property
    def broken(self) -> str | None:
        """Why nothing can be answered for now; None where it can."""
        return self._broken

    @property
    def is_full(self) -> bool:
        return len(self._tickets) >= self.limits.max_queue

    def patience(self) -> float:
        """Seconds after which there should be room again."""
        return max(1.0, self._cost * len(self._tickets) / max(1, len(self._stations)))

    def submit(self, ticket: Ticket) -> None:
        """Have a request answered."""
        if self._closed:
            self.settle(ticket, refused_answer(503, "draining", "the server is stopping; ask again"))
            return
        ticket.deadline = self._loop.time() + self.limits.request_timeout
        self._tickets[ticket] = None
        self._queue.append(ticket)
        if not self._pumping:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def drop(self, ticket: Ticket) -> None:
        """Nobody waits for this answer any more; what has not begun is not begun."""
        self._tickets.pop(ticket, None)
        ticket.settled = True
        for job in (ticket, *ticket.parts):
            job.dropped = True

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer everything that waits or is in the works with a refusal."""
        for ticket in list(self._tickets):
            self.settle(ticket, refused_answer(status, kind, message))
            self.drop(ticket)

    # From a request to its answer, by way of its parts where it has many samples that take long.

    def share(self, ticket: Ticket, answer: Answer) -> None:
        """Have the samples that are left of a request scored by whoever has time."""
        if ticket.read_only:
            ticket.on_read(pickle.loads(answer.context))
        parts = Parts(ticket, answer)
        ticket.parts = parts.jobs
        if answer.outcomes and ticket.read_only:
            ticket.on_outcomes(0, answer.outcomes)
        if not answer.rows:
            self.complete(ticket, answer, answer.outcomes)
            return
        self.split(parts, len(answer.outcomes), answer.rows)

    def split(self, parts: Parts, first: int, rows: tuple[bytes, ...]) -> None:
        """Hand out the samples of a request from the one at ``first`` on."""
        size = self._part_size(len(rows))
        for start in range(0, len(rows), size):
            part = Part(parts, first + start, rows[start : start + size])
            parts.jobs.append(part)
            self._enqueue(part)

    def _part_size(self, count: int) -> int:
        """Rows that make up some 20 ms of work, and no more than leaves something for every peer."""
        share = -(-count // max(1, len(self._stations)))
        if self.description is not None and not self.description.direct:
            return max(1, min(share, 8))
        cost = self._sample_cost or _AHEAD_SECONDS
        return max(1, min(share, int(_AHEAD_SECONDS / cost), 256))

    def complete(self, ticket: Ticket, answer: Answer, outcomes: tuple[Outcome, ...]) -> None:
        """All samples are scored: have the response written, or hand the outcomes on."""
        if ticket.settled:
            return
        if ticket.read_only:
            self.settle(ticket, answer._replace(outcomes=outcomes, rows=()))
        else:
            ticket.parts = [Writing(ticket, answer, outcomes)]
            self._enqueue(ticket.parts[0])

    def settle(self, ticket: Ticket, answer: Answer) -> None:
        """Give a request its answer."""
        self._tickets.pop(ticket, None)
        if not ticket.settled:
            ticket.settled = True
            ticket.done(answer)

    # Handing out.

    def _enqueue(self, job: Job, *, first: bool = False) -> None:
        if first:
            self._queue.appendleft(job)
        else:
            self._queue.append(job)
        if not self._pumping:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Give what waits to the peers that have room, the idlest first."""
        self._pumping = False
        queue, room, identity = self._queue, self._room, self._next
        while queue:
            job = queue[0]
            if job.dropped:
                queue.popleft()
                continue
            station = self._idlest(job.alone)
            if station is not None and self._gathers and station.jobs and len(queue) < _GATHERED:
                break
            if station is None or (left := room - len(station.jobs)) <= 0:
                break
            # One after the other to the same peer where there is but one.
            for _ in range(left if len(self._stations) == 1 and not job.alone else 1):
                identity += 1
                station.jobs[identity] = job
                station.alone = job.alone
                station.outbox.append(job.fields(identity))
                queue.popleft()
                if not queue or (job := queue[0]).dropped or job.alone:
                    break
        self._next = identity
        for station in self._stations:
            if station.outbox:
                calls, station.outbox = station.outbox, []
                station.peer.send_frame(frame(("calls", calls)))
                if station.peer.wants_to_write or station.writing:
                    self._watch_writing(station)

    def _idlest(self, alone: bool) -> _Station | None:
        best: _Station | None = None
        for station in self._stations:
            if not station.peer.ready or station.stopping or station.alone or (alone and station.jobs):
                continue
            if best is None or len(station.jobs) < len(best.jobs):
                best = station
        return best

    def _set_room(self) -> None:
        """How many calls a peer may have in hand."""
        if self.description is not None and not self.description.direct:
            self._room = self.limits.concurrency
            self._gathers = False
        elif not self._cost:
            self._room = 2
        else:
            self._gathers = self._cost < _QUICK_SECONDS
            self._room = max(2, min(_AHEAD_CALLS, int(_AHEAD_SECONDS / max(self._cost, 1e-6))))

    def _watch_writing(self, station: _Station) -> None:
        wants = station.peer.wants_to_write
        if wants and not station.writing:
            self._loop.add_writer(station.peer.fileno(), self._write, station)
        elif station.writing and not wants:
            self._loop.remove_writer(station.peer.fileno())
        station.writing = wants

    def _write(self, station: _Station) -> None:
        station.peer.flush()
        self._watch_writing(station)

    # Taking in.

    def _read(self, station: _Station) -> None:
        if not self._drain(station):
            self._bury(station, None)

    def _drain(self, station: _Station) -> bool:
        """Take what a peer sent; False once it is gone and all has been read."""
        try:
            messages = station.peer.receive()
        except BrokenFrameError:
            log.error("%s: a worker wrote garbage to its connection and is replaced", self.name)
            station.peer.kill()
            station.garbled = True
            return False
        if messages:
            station.silent_since = None
        for message in messages or ():
            self._take(station, message)
        return messages is not None

    def _take(self, station: _Station, message: Any) -> None:
        kind = message[0]
        if kind == "answers":
            jobs = station.jobs
            for fields in message[1]:
                job = jobs.pop(fields[0], None)
                if job is not None and not job.dropped:
                    job.land(self, Answer(*fields))
            self._learn(message[1])
            if station.alone and not jobs:
                station.alone = False
            if self._queue and not self._pumping:
                self._pump()
        elif kind == "ready":
            station.peer.ready, station.peer.baseline = True, message[1]
            self.description, self._load_failures, self._broken = message[2], 0, None
            self._set_room()
            if not self._ready.done():
                self._ready.set_result(None)
            self._pump()
        elif kind in ("unloadable", "unready"):
            text = f"{self.name} does not load: {message[2]}"
            if not self._ready.done():
                self._ready.set_exception(error_of_kind(message[1], text))
            self._broken = text
        elif kind == "bye":
            station.resigned = True
        elif kind == "unclean":
            log.error("%s: cleanup failed: %s", self.name, message[2])

    def _learn(self, answers: Sequence[tuple[Any, ...]]) -> None:
        """What a call and a sample cost, as the answers that came together tell."""
        seconds, count = 0.0, 0
        for answer in answers:
            seconds += answer[1]
            count += len(answer[4]) or (len(answer[7]) if len(answer) > 7 else 0)
        each = seconds / len(answers)
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
        for station in list(self._stations):
            self._look_at(station, now)
        self._set_room()
        while len(self._stations) < max(1, self.limits.workers) and self._may_hire():
            self._add()
        if self._queue and not self._pumping:
            self._pump()

    def _expire(self) -> None:
        """Answer the requests that have waited too long; they are in the order of their arrival."""
        now = self._loop.time()
        for ticket in list(self._tickets):
            if ticket.deadline > now:
                return
            seconds = self.limits.request_timeout
            message = f"{self.name} did not answer within {seconds:g} s, waiting included"
            self.settle(ticket, refused_answer(504, DeadlineError.kind, message))
            self.drop(ticket)

    def _look_at(self, station: _Station, now: float) -> None:
        peer = station.peer
        if not peer.is_alive():
            self._drain(station)
            if station in self._stations:
                self._bury(station, None)
            return
        if not peer.ready:
            if now - station.started > self.limits.load_timeout:
                text = f"{self.name} did not load within {self.limits.load_timeout:g} s"
                if not self._ready.done():
                    self._ready.set_exception(
                        DeadlineError(f"{text}; set GUERDON_LOAD_TIMEOUT if it needs longer")
                    )
                peer.kill()
                self._bury(station, None)
            return
        if not station.jobs or station.stopping:
            return
        running = peer.running()
        if running[0] in station.jobs and now - running[1] > _SLOW_SECONDS:
            self._relieve(station, running[0])
        if self._overran(station, running, now) and peer.running() == running:
            self._end(
                station, running[0], peer.item(), DeadlineError.kind, overran(self.name, self.limits.timeout)
            )
        elif self._outgrown(peer):
            megabytes = (self.limits.max_memory or 0) / 1e6
            message = f"{self.name} outgrew the {megabytes:,.0f} MB that a worker may add (max_memory)"
            self._end(station, running[0], peer.item(), MemoryLimitError.kind, message)

    def _relieve(self, station: _Station, index: int) -> None:
        """Have an idle peer do what lies with one that is held up; what that answers too late is not heard."""
        idle = any(other.peer.ready and not other.jobs and not other.stopping for other in self._stations)
        if not idle or self._queue or self.description is None or not self.description.direct:
            return
        for identity in reversed([number for number in station.jobs if number != index]):
            self._enqueue(station.jobs.pop(identity), first=True)

    def _overran(self, station: _Station, running: tuple[int, float], now: float) -> bool:
        """Whether an item is over its deadline, or the peer has not got on for longer than one may take."""
        index, since = running
        timeout = self.limits.timeout
        if index != IDLE:
            station.silent_since = None
            return now - since > timeout
        if self.description is not None and not self.description.direct:
            return now - station.peer.last_beat() > timeout + _BEAT_SLACK
        # Not within a call and with work to do: a thread that an earlier call left may hold the GIL.
        if station.silent_since is None:
            station.silent_since = now
        if now - station.silent_since <= timeout + _BEAT_SLACK:
            return False
        self._drain(station)
        return station.silent_since is not None

    def _outgrown(self, peer: Peer) -> bool:
        if self.limits.max_memory is None:
            return False
        resident = peer.resident_bytes()
        return resident is not None and resident - peer.baseline > self.limits.max_memory

    def _end(self, station: _Station, index: int, item: int, kind: str, message: str) -> None:
        """Kill a peer and blame what it was seen running, unless that got done while we looked."""
        station.peer.kill()
        self._drain(station)
        if station in self._stations:
            self._bury(station, failure(kind, message), index, item)

    def _bury(
        self, station: _Station, verdict: Outcome | None, index: int | None = None, item: int | None = None
    ) -> None:
        """A peer is gone: blame the item that it ran, have all else that it had in hand run again."""
        peer = station.peer
        ready = peer.ready
        if index is None:
            (index, _), item = peer.running(), peer.item()
        if station.stopping:
            self._release(station)
            return
        if station.resigned:
            verdict = failure(MemoryLimitError.kind, f"{self.name} ran out of memory in a worker process")
        elif verdict is None:
            text = "wrote garbage to its connection" if station.garbled else peer.cause_of_death()
            verdict = failure(CrashError.kind, f"the worker process {text} while it ran {self.name}")
        self._release(station)
        cause = verdict.kind or CrashError.kind
        self.restarts[cause] = self.restarts.get(cause, 0) + 1
        if not ready:
            self._failed_to_load(verdict.error or "")
        else:
            log.warning("%s: %s; its other calls run again", self.name, verdict.error)
        culprit = station.jobs.get(index)
        for job in reversed(list(station.jobs.values())):
            if station.resigned or culprit not in (job, None):
                pass
            elif job.known and EVERY in job.known:
                job.fail(self, verdict)
                continue
            elif job is culprit:
                job.blame(verdict, item if item is not None else TOGETHER)
            else:
                job.suspect(verdict)
            self._enqueue(job, first=True)
        if not self._closed and self._may_hire():
            self._add()

    def _failed_to_load(self, text: str) -> None:
        self._load_failures += 1
        self._broken = self._broken or text
        if not self._ready.done():
            self._ready.set_exception(CrashError(f"{self.name} does not load: {text}"))
        if self._load_failures >= _LOAD_TRIES:
            self._load_again = time.monotonic() + _LOAD_AGAIN_SECONDS
            log.error("%s cannot be loaded: %s", self.name, self._broken)
            if not self.workers:
                self.refuse_all(503, CrashError.kind, f"{self.name} cannot be served: {self._broken}")

    def _may_hire(self) -> bool:
        """Whether it is of use: at first at once, then every few seconds."""
        return self._load_failures < _LOAD_TRIES or time.monotonic() >= self._load_again

    def _add(self) -> None:
        try:
            station = _Station(self._hire())
        except (CrashError, OSError) as error:
            self._failed_to_load(str(error))
            return
        self._stations.append(station)
        self._loop.add_reader(station.peer.fileno(), self._read, station)
        self._watch_writing(station)

    def _release(self, station: _Station) -> None:
        if station in self._stations:
            self._stations.remove(station)
            self._loop.remove_reader(station.peer.fileno())
            if station.writing:
                self._loop.remove_writer(station.peer.fileno())
            station.peer.close()
