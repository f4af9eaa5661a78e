"""The workers that answer for one reward: started and started again, read on the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from guerdon.errors import CrashError, DeadlineError, error_of_kind
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.process.handle import WorkerHandle
from guerdon.scoring.process.ipc import IDLE, frame
from guerdon.scoring.process.supervisor import WorkerState, WorkerSupervisor
from guerdon.serve.dispatch.jobs import WorkItem
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.worker.describe import Description

log = logging.getLogger("guerdon.serve")

_LOAD_TRIES = 3
_LOAD_AGAIN_SECONDS = 5.0
_STOP_SECONDS = 5.0
_STOP_BUSY_SECONDS = 0.5
"""How long a worker is waited for that is in the midst of a call which nobody waits for any more."""


@dataclass(slots=True, eq=False)
class ServingWorker(WorkerState[WorkerHandle, WorkItem]):
    """A worker of a server."""

    outbox: list[tuple[Any, ...]] = field(default_factory=list)
    """Calls in flight that are still to be sent."""
    replied: float = field(default_factory=time.monotonic)
    """When it last sent replies."""
    probe: int = 0
    """The number of the probe that it has not answered; 0 where there is none."""
    probed: float = 0.0
    """When the last probe was sent."""
    unresponsive: bool = False
    """It was seen to do nothing although it should; others get the calls."""


class WorkOwner(Protocol):
    """What a group of workers reports to its owner, which has the work."""

    def on_ready(self) -> None:
        """Take that one more worker can answer."""

    def on_replies(self, worker: ServingWorker, replies: Sequence[tuple[Any, ...]]) -> None:
        """Take replies."""

    def on_running(self, worker: ServingWorker, index: int, seconds: float) -> None:
        """Take what a worker runs, and for how long: some twenty times a second."""

    def on_worker_end(self, worker: ServingWorker, verdict: Outcome, index: int, item: int) -> None:
        """Run the calls of a worker that ended again, or fail them."""

    def refuse_all(self, status: int, kind: str, message: str) -> None:
        """Answer everything that waits or is in the works with a refusal."""


class WorkerGroup(WorkerSupervisor[ServingWorker]):
    """The workers that answer for one reward; everything happens on the event loop's thread."""

    def __init__(
        self, name: str, spawn_worker: Callable[[], WorkerHandle], limits: DispatchLimits, owner: WorkOwner
    ) -> None:
        super().__init__(name, limits)
        self._spawn_worker, self._owner = spawn_worker, owner
        self._count = max(1, limits.workers)
        self.description: Description | None = None
        self.restarts: dict[str, int] = {}
        """How many workers were replaced, by cause."""
        self.load_error: str | None = None
        self.closed = False
        self._load_failures = 0
        self._load_again = 0.0
        self._loop: asyncio.AbstractEventLoop
        self._ready: asyncio.Future[None]

    @property
    def ready_workers(self) -> int:
        """How many can answer."""
        return sum(worker.handle.ready for worker in self.workers)

    def start(self) -> asyncio.Future[None]:
        """Start the workers; the future is done once one can answer, and raises what kept it from loading."""
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        for _ in range(self._count):
            self._add_worker()
        return self._ready

    def replace_missing(self) -> None:
        """Start as many workers as lack."""
        while len(self.workers) < self._count and self._may_spawn():
            self._add_worker()

    async def stop(self) -> None:
        """Let the workers end in good order, their clean-up included."""
        self.closed = True
        for worker in self.workers:
            worker.stopping = True
            worker.handle.send_frame(frame(("stop",)))
            self.update_writing(worker)
        began = time.monotonic()
        while self.workers and (passed := time.monotonic() - began) < _STOP_SECONDS:
            await asyncio.sleep(0.01)  # they end one by one
            for worker in [w for w in self.workers if w.in_flight and passed > _STOP_BUSY_SECONDS]:
                self.release(worker)
        self.close()

    def close(self) -> None:
        """End the workers at once."""
        self.closed = True
        for worker in list(self.workers):
            self.release(worker)

    # What the supervisor asks.

    def register(self, worker: ServingWorker) -> None:
        self._loop.add_reader(worker.handle.fileno(), self.read, worker)

    def unregister(self, worker: ServingWorker) -> None:
        self._loop.remove_reader(worker.handle.fileno())
        if worker.writing:
            self._loop.remove_writer(worker.handle.fileno())

    def watch_writing(self, worker: ServingWorker, wanted: bool) -> None:
        if wanted:
            self._loop.add_writer(worker.handle.fileno(), self.write, worker)
        else:
            self._loop.remove_writer(worker.handle.fileno())

    def runs_event_loop(self) -> bool:
        return self.description is not None and not self.description.direct

    def on_message(self, worker: ServingWorker, message: Any) -> None:
        try:
            self._on_message(worker, message)
        except (
            Exception
        ):  # the edge to a process that runs the user's code: the other workers' messages are read
            log.exception("%s: a worker sent what cannot be read and is replaced", self.name)
            worker.connection_broken = True
            worker.handle.kill()

    def _on_message(self, worker: ServingWorker, message: Any) -> None:
        kind = message[0]
        if kind == "replies":
            self._owner.on_replies(worker, message[1])
        elif kind == "ready":
            self.description, self._load_failures, self.load_error = message[2], 0, None
            if not self._ready.done():
                self._ready.set_result(None)
            self._owner.on_ready()
        elif kind in ("load_failed", "setup_failed"):
            self.load_error = f"{self.name} does not load: {message[2]}"
            if not self._ready.done():
                self._ready.set_exception(error_of_kind(message[1], self.load_error))
        elif kind == "exiting":
            worker.exiting_for_memory = True
        elif kind == "cleanup_failed":
            log.error("%s: cleanup failed: %s", self.name, message[2])

    def on_running(self, worker: ServingWorker, index: int, seconds: float) -> None:
        self._owner.on_running(worker, index, seconds)

    def on_broken_connection(self, worker: ServingWorker) -> None:
        log.error("%s: a worker wrote garbage to its connection and is replaced", self.name)

    def on_load_timeout(self, worker: ServingWorker, error: DeadlineError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)

    def on_end(self, worker: ServingWorker, verdict: Outcome, index: int, item: int) -> None:
        cause = verdict.kind or CrashError.kind
        self.restarts[cause] = self.restarts.get(cause, 0) + 1
        if worker.handle.ready:
            log.warning("%s: %s; its other calls run again", self.name, verdict.error)
        else:
            self._on_load_failure(verdict.error or "")
        self._owner.on_worker_end(worker, verdict, index, item)
        if not self.closed and self._may_spawn():
            self._add_worker()

    def replace(self, worker: ServingWorker, verdict: Outcome) -> None:
        """End a worker that does not answer, and start another."""
        self._end(worker, IDLE, verdict)

    # Starting workers.

    def _add_worker(self) -> None:
        try:
            worker = ServingWorker(self._spawn_worker())
        except (CrashError, OSError) as error:
            self._on_load_failure(str(error))
        else:
            self.add(worker)

    def _may_spawn(self) -> bool:
        """Whether it is of use: at first at once, then every few seconds."""
        return self._load_failures < _LOAD_TRIES or time.monotonic() >= self._load_again

    def _on_load_failure(self, text: str) -> None:
        self._load_failures += 1
        self.load_error = self.load_error or text
        if not self._ready.done():
            self._ready.set_exception(CrashError(f"{self.name} does not load: {text}"))
        if self._load_failures >= _LOAD_TRIES:
            self._load_again = time.monotonic() + _LOAD_AGAIN_SECONDS
            log.error("%s cannot be loaded: %s", self.name, self.load_error)
            if not self.ready_workers:
                message = f"{self.name} cannot be served: {self.load_error}"
                self._owner.refuse_all(503, CrashError.kind, message)
