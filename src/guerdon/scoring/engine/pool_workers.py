"""The worker processes of a pool: fed with units of samples, read with a selector, replaced when they end."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.errors import CrashError, DeadlineError, error_of_kind
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import EngineLimits
from guerdon.scoring.evaluate import Unit
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.process.idle_pool import idle_workers
from guerdon.scoring.process.supervisor import WorkerState, WorkerSupervisor
from guerdon.scoring.process.worker_process import WorkerProcess, WorkerSpec

_DEATHS_IN_A_ROW = 3

OnOutcome = Callable[[int, Outcome, float], None]
"""Takes index, outcome, seconds."""


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
class PooledWorker(WorkerState[WorkerProcess, WorkUnit]):
    """A worker process of a pool; each unit is in flight under the index of each of its samples."""

    held: int = 0
    """How many units that is."""


class PoolSupervisor(WorkerSupervisor[PooledWorker]):
    """The workers of one run. What cannot be blamed on a sample ends the run: its methods raise RewardError."""

    beats_while_running = True

    def __init__(
        self, reward: RewardFunction, limits: EngineLimits, spec: WorkerSpec, on_outcome: OnOutcome
    ) -> None:
        super().__init__(reward.name, limits)
        self._is_async, self._limits, self._spec = reward.is_async, limits, spec
        self._on_outcome = on_outcome
        self._selector = selectors.DefaultSelector()
        self._bell: socket.socket | None = None
        self._deaths = 0
        self.retry: deque[WorkUnit] = deque()
        """Units that a dead worker had in flight."""

    @property
    def busy(self) -> bool:
        """Whether a unit is in flight or is to run again."""
        return bool(self.retry) or any(worker.in_flight for worker in self.workers)

    def spawn(self) -> PooledWorker:
        """Start a worker, or take one that an earlier run of this reward left."""
        worker = PooledWorker(idle_workers.take(self._spec.key) or WorkerProcess(self._spec))
        self.add(worker)
        return worker

    def give(self, worker: PooledWorker, units: list[WorkUnit]) -> None:
        """Have a worker score some units."""
        worker.alone = any(work.alone for work in units)
        for work in units:
            worker.held += 1
            for index, _ in work.unit:
                worker.in_flight[index] = work
        worker.handle.send(("run", [work.unit for work in units], self._limits.timeout))
        self.update_writing(worker)

    def listen(self, bell: socket.socket) -> None:
        """Let ``wait`` return also when this socket can be read."""
        self._bell = bell
        self._selector.register(bell, selectors.EVENT_READ)

    def wait(self, seconds: float) -> bool:
        """Take what workers send, and wait for it if need be; whether the bell has rung."""
        rung = False
        for key, events in self._selector.select(seconds):
            if key.fileobj is self._bell:
                rung = True
                continue
            worker: PooledWorker = key.data
            if events & selectors.EVENT_WRITE:
                self.write(worker)
            if events & selectors.EVENT_READ:
                self.read(worker)
        return rung

    def dismiss(self, keep: bool = True) -> None:
        """Keep the workers in good health for the next run, end the others; unless ``keep``, end all."""
        for worker in self.workers:
            with contextlib.suppress(KeyError, ValueError):
                self.unregister(worker)
            process = worker.handle
            healthy = process.ready and not worker.in_flight and not process.wants_to_write
            if keep and healthy and process.is_alive():
                idle_workers.put(process)
            else:
                process.close()
        self.workers.clear()
        self._selector.close()

    # What the supervisor asks.

    def register(self, worker: PooledWorker) -> None:
        self._selector.register(worker.handle, selectors.EVENT_READ, worker)

    def unregister(self, worker: PooledWorker) -> None:
        self._selector.unregister(worker.handle)

    def watch_writing(self, worker: PooledWorker, wanted: bool) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        self._selector.modify(worker.handle, events, worker)

    def runs_event_loop(self) -> bool:
        return self._is_async

    def on_message(self, worker: PooledWorker, message: Any) -> None:
        kind = message[0]
        if kind == "results":
            self._deaths = 0
            for index, outcome, seconds in message[1]:
                if (work := worker.in_flight.pop(index, None)) is not None:
                    if work.unit[-1][0] == index:
                        worker.held -= 1
                        worker.alone = worker.alone and bool(worker.in_flight)
                    self._on_outcome(index, outcome, seconds)
        elif kind == "load_failed":
            raise error_of_kind(message[1], f"{self.name} does not load in a worker: {message[2]}")

    def on_broken_connection(self, worker: PooledWorker) -> None:
        raise CrashError(
            f"the connection to a worker of {self.name} broke: something that the reward runs "
            "writes to file descriptors that it did not open"
        ) from None

    def on_load_timeout(self, worker: PooledWorker, error: DeadlineError) -> None:
        raise error

    def on_end(self, worker: PooledWorker, verdict: Outcome, index: int, item: int) -> None:
        """Fail the sample that the worker ran, have its other samples run again."""
        if not worker.handle.ready:
            raise CrashError(verdict.error or "")
        left = list({id(work): work for work in worker.in_flight.values()}.values())
        culprit = worker.in_flight.get(index)
        if culprit is None and worker.alone and len(left) == 1:
            culprit = left[0]
        if culprit is None and left:
            self._deaths += 1
            if self._deaths >= _DEATHS_IN_A_ROW:
                raise CrashError(
                    f"{verdict.error}; {_DEATHS_IN_A_ROW} workers in a row ended with no sample to blame"
                )
        again = [work for work in left if work is not culprit]
        if culprit is not None:
            again += self._blame(culprit, verdict, worker.ran_seconds)
        # With several units at once in one worker and none to blame, each runs alone to be found out.
        suspects = culprit is None and self._is_async
        self.retry.extend(WorkUnit(work.unit, alone=suspects or work.alone) for work in again)

    def _blame(self, work: WorkUnit, verdict: Outcome, seconds: float) -> list[WorkUnit]:
        """Fail a unit of one; take a batch apart, so that only the offending sample fails."""
        if len(work.unit) > 1:
            return [WorkUnit([row]) for row in work.unit]
        self._on_outcome(work.first, verdict, seconds)
        return []
