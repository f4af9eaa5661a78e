"""The worker pool: samples fed to worker processes, watched, and given back in order.

It runs on a thread of its own. It reads the source only as far ahead as a window allows, so memory
does not grow with the number of samples; it keeps two chunks of work with each worker, sized by the
measured cost; it kills a worker whose sample overran, crashed or outgrew its memory, records that one
sample as failed, and runs the others of the chunk again.
"""

from __future__ import annotations

import contextlib
import queue
import selectors
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from guerdon.errors import (
    CrashError,
    DeadlineError,
    MemoryLimitError,
    error_of_kind,
)
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import Engine, EngineLimits, PendingSample, ScoredSample, scored
from guerdon.scoring.evaluate import Row, Unit, timeout_message
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.prefetch import Prefetcher
from guerdon.scoring.process.idle_pool import idle_workers
from guerdon.scoring.process.ipc import IDLE, BrokenFrameError
from guerdon.scoring.process.worker_process import WorkerProcess, WorkerSpec
from guerdon.scoring.row_pickle import row_bytes

_TICK = 0.05
"""Seconds between two looks at the workers' clocks and memory."""
_CHUNK_SECONDS = 0.02
_CHUNK_ROWS = 512
_CHUNK_BYTES = 1 << 22
_WINDOW_ROWS = 1 << 13
_WINDOW_BYTES = 1 << 26
_BATCHES_AHEAD = 64
_DEATHS_IN_A_ROW = 3
_JOIN_SECONDS = 5.0
_BEAT_SLACK = 1.0
"""Seconds by which the heart of a busy event loop may beat late."""


@dataclass(slots=True)
class WorkUnit:
    """A unit on its way through a worker."""

    unit: Unit
    alone: bool = False
    """Set when a worker died with this unit among several and none could be blamed."""

    @property
    def first(self) -> int:
        return self.unit[0][0]

    @property
    def size(self) -> int:
        return sum(len(body) for _, body in self.unit)


@dataclass(slots=True, eq=False)
class PooledWorker:
    """A worker and what it has in hand."""

    process: WorkerProcess
    started: float = field(default_factory=time.monotonic)
    jobs: dict[int, WorkUnit] = field(default_factory=dict)
    """By the index of each of their samples."""
    held: int = 0
    """How many units that is."""
    alone: bool = False
    writing: bool = False
    silent_since: float | None = None
    """When it was first seen with work in hand, running none of it and sending nothing."""


class WorkerPoolEngine(Engine):
    """Sync and async rewards in worker processes."""

    def __init__(
        self,
        reward: RewardFunction,
        items: Iterator[PendingSample],
        limits: EngineLimits,
        spec: WorkerSpec,
        may_block: bool,
        in_order: bool = True,
    ) -> None:
        super().__init__(reward, items, limits)
        self._in_order = in_order
        self._spec = spec
        self._source = self._packed_units()
        self._may_block = may_block
        self._prefetcher: Prefetcher[Packed] | None = None
        self._exhausted = False
        self._source_error: BaseException | None = None
        self._retry: deque[WorkUnit] = deque()
        self._items_by_index: dict[int, PendingSample] = {}
        self._done: dict[int, ScoredSample] = {}
        self._next = -1
        self._bytes_inside = 0
        self._sizes: dict[int, int] = {}
        """Bytes of each sample's pickle, and of its outcome once it has one."""
        self._workers: list[PooledWorker] = []
        self._selector = selectors.DefaultSelector()
        self._cost = 0.0
        """Seconds a sample takes, a running mean; 0 until the first result."""
        self._fresh_rows = 1
        self._deaths = 0
        self._watched = 0.0
        """When the workers were looked at last: at every answer would cost more than quick rewards do."""
        self._aborted = threading.Event()
        self._out: queue.Queue[list[ScoredSample] | BaseException | None] = queue.Queue(_BATCHES_AHEAD)

    def __iter__(self) -> Iterator[list[ScoredSample]]:
        thread = threading.Thread(target=self._run, name="guerdon-pool", daemon=True)
        thread.start()
        try:
            while (batch := self._out.get()) is not None:
                if isinstance(batch, BaseException):
                    raise batch
                yield batch
        finally:
            self.abort()
            thread.join(_JOIN_SECONDS)

    def abort(self) -> None:
        super().abort()
        self._aborted.set()

    # The engine's thread.

    def _run(self) -> None:
        try:
            if self._may_block:
                self._prefetcher = Prefetcher(self._source, _size)
                self._selector.register(self._prefetcher.bell, selectors.EVENT_READ)
            while not self._aborted.is_set():
                self._feed()
                self._emit()
                if self._busy():
                    self._collect()
                    if time.monotonic() - self._watched >= _TICK / 2:
                        self._watch()
                elif self._exhausted or self._stopping:
                    break
                elif self._prefetcher is not None:
                    self._collect()
            self._deliver(self._source_error)
        except BaseException as error:  # the edge of the thread: the caller's iteration raises it
            self._deliver(error)
        finally:
            self._dismiss()

    def _busy(self) -> bool:
        return bool(self._retry) or any(worker.jobs for worker in self._workers)

    def _deliver(self, batch: list[ScoredSample] | BaseException | None) -> None:
        while not self._aborted.is_set():
            with contextlib.suppress(queue.Full):
                self._out.put(batch, timeout=_TICK)
                return
            self._watch()
        with contextlib.suppress(queue.Full):
            self._out.put_nowait(None)

    # Feeding.

    def _feed(self) -> None:
        """Give every worker that has room its next chunk, starting workers while there is work."""
        for worker in self._workers:
            while self._has_room(worker) and (chunk := self._chunk(worker)):
                self._give(worker, chunk)
        while len(self._workers) < self._limits.workers and (chunk := self._chunk(None)):
            self._give(self._spawn_worker(), chunk)

    def _has_room(self, worker: PooledWorker) -> bool:
        if worker.alone:
            return False
        if self._reward.is_async:
            return worker.held < self._limits.concurrency
        return worker.held <= self._fresh_rows // 2

    def _chunk(self, worker: PooledWorker | None) -> list[WorkUnit]:
        """The next jobs for a worker; one that must run alone goes to a worker that holds nothing."""
        if self._retry:
            if not self._retry[0].alone:
                return [self._retry.popleft()]
            return [self._retry.popleft()] if worker is None or not worker.held else []
        limit = self._fresh_rows
        if self._reward.is_async:
            limit = max(1, self._limits.concurrency - (worker.held if worker else 0))
        jobs: list[WorkUnit] = []
        size = 0
        while len(jobs) < limit and size < _CHUNK_BYTES and self._window_open() and not self._stopping:
            if (unit := self._next_unit()) is None:
                break
            if (job := self._admit(unit)) is not None:
                jobs.append(job)
                size += job.size
        return jobs

    def _packed_units(self) -> Generator[Packed, None, None]:
        for unit in self._units():
            yield _packed(unit)

    def _next_unit(self) -> Packed | None:
        """The next unit; None where the source has ended, or has nothing yet."""
        try:
            if self._prefetcher is None:
                unit = next(self._source, None)
                self._exhausted = unit is None
            else:
                unit = self._prefetcher.take()
                self._exhausted = unit is None and self._prefetcher.ended
        except BaseException as error:  # the source is the caller's: raised there once all it gave is scored
            unit, self._source_error, self._exhausted = None, error, True
        return unit

    def _window_open(self) -> bool:
        if self._exhausted or self._bytes_inside > _WINDOW_BYTES:
            return False
        return len(self._items_by_index) + len(self._done) < max(_WINDOW_ROWS, 2 * self._limits.batch_size)

    def _admit(self, unit: Packed) -> WorkUnit | None:
        """Take a unit in: remember its items; what cannot be scored is done at once."""
        rows: list[Row] = []
        for item, body in unit:
            if self._next < 0:
                self._next = item.position
            if isinstance(body, Outcome):
                self._done[item.position] = scored(item, body, 0.0)
                continue
            self._items_by_index[item.position] = item
            self._sizes[item.position] = len(body)
            self._bytes_inside += len(body)
            rows.append((item.position, body))
        return WorkUnit(rows) if rows else None

    def _give(self, worker: PooledWorker, jobs: list[WorkUnit]) -> None:
        worker.alone = any(job.alone for job in jobs)
        for job in jobs:
            worker.held += 1
            for index, _ in job.unit:
                worker.jobs[index] = job
        worker.process.send(("run", [job.unit for job in jobs], self._limits.timeout))
        self._register(worker)

    def _spawn_worker(self) -> PooledWorker:
        process = idle_workers.take(self._spec.key) or WorkerProcess(self._spec)
        worker = PooledWorker(process)
        self._workers.append(worker)
        self._selector.register(process, selectors.EVENT_READ, worker)
        return worker

    def _register(self, worker: PooledWorker) -> None:
        writing = worker.process.wants_to_write
        if writing != worker.writing:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)
            self._selector.modify(worker.process, events, worker)
            worker.writing = writing

    # Collecting.

    def _collect(self) -> None:
        """Wait for workers to answer, at most a tick."""
        for key, events in self._selector.select(_TICK):
            if self._prefetcher is not None and key.fileobj is self._prefetcher.bell:
                self._prefetcher.silence()
                continue
            worker: PooledWorker = key.data
            if events & selectors.EVENT_WRITE:
                worker.process.flush()
                self._register(worker)
            if events & selectors.EVENT_READ:
                self._read(worker)

    def _read(self, worker: PooledWorker) -> None:
        if not self._drain(worker):
            self._reap(worker, None)

    def _drain(self, worker: PooledWorker) -> bool:
        """Take what a worker sent; False once it has closed its end and all has been read.

        Raises CrashError for what is no message of a worker: some code in it writes where it should not.
        """
        try:
            messages = worker.process.receive()
        except BrokenFrameError:
            raise CrashError(
                f"the connection to a worker of {self._reward.name} broke: something that the reward runs "
                "writes to file descriptors that it did not open"
            ) from None
        if messages:
            worker.silent_since = None
        for message in messages or ():
            self._take(worker, message)
        return messages is not None

    def _take(self, worker: PooledWorker, message: Any) -> None:
        if message[0] == "ready":
            worker.process.ready, worker.process.baseline = True, message[1]
        elif message[0] == "load_failed":
            raise error_of_kind(message[1], f"{self._reward.name} does not load in a worker: {message[2]}")
        else:
            self._deaths = 0
            for index, outcome, seconds in message[1]:
                self._finish(worker, index, outcome, seconds)

    def _finish(self, worker: PooledWorker | None, index: int, outcome: Outcome, seconds: float) -> None:
        if worker is not None:
            job = worker.jobs.pop(index, None)
            if job is None:
                return
            if job.unit[-1][0] == index:
                worker.held -= 1
                worker.alone = worker.alone and bool(worker.jobs)
        if outcome.kind == MemoryLimitError.kind and self._limits.max_memory is not None:
            outcome = failure(MemoryLimitError.kind, self._outgrew())
        item = self._items_by_index.pop(index)
        weight = _weight(outcome)
        self._bytes_inside += weight - self._sizes[index]
        self._sizes[index] = weight
        self._done[index] = scored(item, outcome, seconds)
        self._cost = seconds if not self._cost else 0.98 * self._cost + 0.02 * seconds
        ideal = max(1, min(_CHUNK_ROWS, int(_CHUNK_SECONDS / max(self._cost, 1e-7))))
        self._fresh_rows = min(ideal, 2 * self._fresh_rows) if ideal > self._fresh_rows else ideal

    def _emit(self) -> None:
        """Hand on the records that are next in order, or all that there are."""
        batch = []
        if not self._in_order and self._done:
            self._next = next(iter(self._done))
        while (record := self._done.pop(self._next, None)) is not None:
            batch.append(record)
            self._bytes_inside -= self._sizes.pop(self._next, 0)
            self._next = self._next + 1 if self._in_order else next(iter(self._done), -1)
        if batch:
            self._deliver(batch)

    # Watching.

    def _watch(self) -> None:
        """End the workers that overran or outgrew their memory."""
        now = self._watched = time.monotonic()
        for worker in list(self._workers):
            process = worker.process
            if not process.ready:
                if now - worker.started > self._limits.load_timeout:
                    raise DeadlineError(
                        f"{self._reward.name} did not load within {self._limits.load_timeout:g} s; "
                        "set GUERDON_LOAD_TIMEOUT if it needs longer"
                    )
                continue
            if not worker.jobs:
                continue
            running = process.running()
            if not process.is_alive():
                # Also seen here, because a child that it started may hold its end of the socket open.
                self._drain(worker)
                self._reap(worker, None)
            elif self._overran(worker, running, now) and process.running() == running:
                message = timeout_message(self._reward.name, self._limits.timeout)
                self._end(worker, running[0], DeadlineError.kind, message)
            elif self._outgrown(process):
                self._end(worker, running[0], MemoryLimitError.kind, self._outgrew())

    def _overran(self, worker: PooledWorker, running: tuple[int, float], now: float) -> bool:
        """Whether a call is over its deadline, or the worker has not got on for longer than one may take."""
        index, since = running
        if self._reward.is_async and now - worker.process.last_beat() > self._limits.timeout + _BEAT_SLACK:
            return True
        if index != IDLE:
            worker.silent_since = None
            return now - since > self._limits.timeout
        if self._reward.is_async:
            return False
        # Not within a call and with work to do: a thread that an earlier call left may hold the GIL.
        if worker.silent_since is None:
            worker.silent_since = now
        if now - worker.silent_since <= self._limits.timeout + _BEAT_SLACK:
            return False
        self._drain(worker)  # what it sent may only not have been read yet
        return worker.silent_since is not None

    def _outgrown(self, process: WorkerProcess) -> bool:
        if self._limits.max_memory is None:
            return False
        resident = process.resident_bytes()
        return resident is not None and resident - process.baseline > self._limits.max_memory

    def _outgrew(self) -> str:
        megabytes = (self._limits.max_memory or 0) / 1e6
        return f"{self._reward.name} outgrew the {megabytes:,.0f} MB that a worker may add (max_memory)"

    def _end(self, worker: PooledWorker, index: int, kind: str, message: str) -> None:
        """Kill a worker and blame what it was seen running, unless that got done while we looked."""
        worker.process.kill()
        self._drain(worker)
        self._reap(worker, failure(kind, message), index)

    def _reap(self, worker: PooledWorker, verdict: Outcome | None, index: int | None = None) -> None:
        """A worker is gone: fail the sample that it ran, run its other samples again."""
        process = worker.process
        self._selector.unregister(process)
        self._workers.remove(worker)
        if index is None:
            index, _ = process.running()
        if verdict is None:
            cause = process.cause_of_death()
            if not process.ready:
                process.close()
                raise CrashError(f"the worker process {cause} while it loaded {self._reward.name}")
            verdict = failure(CrashError.kind, f"the worker process {cause} while it ran {self._reward.name}")
        left = list(dict.fromkeys(map(id, worker.jobs.values())))
        jobs = {id(job): job for job in worker.jobs.values()}
        culprit = worker.jobs.get(index)
        if culprit is None and worker.alone and len(left) == 1:
            culprit = jobs[left[0]]
        process.close()
        if culprit is None and left:
            self._deaths += 1
            if self._deaths >= _DEATHS_IN_A_ROW:
                raise CrashError(
                    f"{verdict.error}; {_DEATHS_IN_A_ROW} workers in a row ended with no sample to blame"
                )
        again = [jobs[key] for key in left if jobs[key] is not culprit]
        if culprit is not None:
            again += self._blame(culprit, verdict)
        # With several units at once in one worker and none to blame, each runs alone to be found out.
        suspects = culprit is None and self._reward.is_async
        self._retry.extend(WorkUnit(job.unit, alone=suspects or job.alone) for job in again)

    def _blame(self, job: WorkUnit, verdict: Outcome) -> list[WorkUnit]:
        """Fail a unit of one; take a batch apart, so that only the offending sample fails."""
        if len(job.unit) > 1:
            return [WorkUnit([row]) for row in job.unit]
        self._finish(None, job.first, verdict, 0.0)
        return []

    def _dismiss(self) -> None:
        """Park the workers that are in good health, end the others."""
        for worker in self._workers:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(worker.process)
            healthy = worker.process.ready and not worker.jobs and not worker.process.wants_to_write
            if healthy and worker.process.is_alive():
                idle_workers.put(worker.process)
            else:
                worker.process.close()
        self._workers.clear()
        self._selector.close()
        if self._prefetcher is not None:
            self._prefetcher.close()
        else:
            self._source.close()


_NOTHING = failure("", "")
Packed = list[tuple[PendingSample, bytes | Outcome]]
"""A unit whose rows can travel."""


def _packed(unit: list[PendingSample]) -> Packed:
    # The row itself is not kept: its pickle is, should it have to be run again.
    return [
        (item._replace(row=_NOTHING), item.row if isinstance(item.row, Outcome) else row_bytes(item.row))
        for item in unit
    ]


def _size(unit: Packed) -> int:
    return sum(len(body) for _, body in unit if isinstance(body, bytes))


def _weight(outcome: Outcome) -> int:
    """About how many bytes an outcome takes."""
    if outcome.metrics is None and outcome.steps is None:
        return len(outcome.reason or "") + len(outcome.error or "")
    return len(repr(outcome))
