"""The supervisor of worker processes: it reads what they send, and ends those that overrun or outgrow their memory.

It waits for nothing and knows no event loop. A subclass registers each worker with its own selector or event loop,
calls ``read`` and ``write`` when a worker's socket is ready, and ``check`` some twenty times a second.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from guerdon.errors import CrashError, DeadlineError, MemoryLimitError
from guerdon.scoring.evaluate import timeout_message
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.handle import WorkerHandle
from guerdon.scoring.process.ipc import IDLE, BrokenFrameError

_BEAT_SLACK = 1.0
"""Seconds by which the heart of a busy event loop may beat late."""

HandleT = TypeVar("HandleT", bound=WorkerHandle)
WorkT = TypeVar("WorkT")


class WorkerLimits(Protocol):
    """What a supervisor holds workers to."""

    @property
    def timeout(self) -> float:
        """Seconds that one call may take."""

    @property
    def max_memory(self) -> int | None:
        """Bytes that a worker may grow by once it has loaded its reward."""

    @property
    def load_timeout(self) -> float:
        """Seconds that a worker may take to load its reward."""


@dataclass(slots=True, eq=False)
class WorkerState(Generic[HandleT, WorkT]):
    """A worker and what it has in flight."""

    handle: HandleT
    started: float = field(default_factory=time.monotonic)
    in_flight: dict[int, WorkT] = field(default_factory=dict)
    """By the number that the worker shows on its status page while it runs one."""
    alone: bool = False
    """It has one piece of work, and gets no other: whatever ends it is that one's fault."""
    writing: bool = False
    """Whether its socket is watched for room to write."""
    stopping: bool = False
    """It was asked to end: nothing that it has in flight runs again."""
    exiting_for_memory: bool = False
    """It ends by itself, because it ran out of memory; no item in flight is to blame."""
    connection_broken: bool = False
    ran_seconds: float = 0.0
    """How long it ran its last call when it ended."""
    silent_since: float | None = None
    """When it was first seen with work in flight, running none of it and sending nothing."""


StateT = TypeVar("StateT", bound=WorkerState[Any, Any])


class WorkerSupervisor(ABC, Generic[StateT]):
    """Watches the workers of one reward; a subclass says what becomes of their messages and of their work."""

    beats_while_running = False
    """Whether an event loop that does not turn counts as an overrun also while a call is seen to run."""

    def __init__(self, name: str, limits: WorkerLimits) -> None:
        self.name, self.limits = name, limits
        self.workers: list[StateT] = []

    # What a subclass says.

    @abstractmethod
    def register(self, worker: StateT) -> None:
        """Have ``read`` called when the worker's socket can be read."""

    @abstractmethod
    def unregister(self, worker: StateT) -> None:
        """Undo ``register`` and ``watch_writing``."""

    @abstractmethod
    def watch_writing(self, worker: StateT, wanted: bool) -> None:
        """Have ``write`` called, or no longer called, when the worker's socket has room."""

    @abstractmethod
    def runs_event_loop(self) -> bool:
        """Whether a worker runs calls on an event loop, whose beat shows that it turns."""

    @abstractmethod
    def on_message(self, worker: StateT, message: Any) -> None:
        """Take a message."""

    @abstractmethod
    def on_broken_connection(self, worker: StateT) -> None:
        """Take that the worker sent what is not a message: some code in it writes where it should not."""

    @abstractmethod
    def on_load_timeout(self, worker: StateT, error: DeadlineError) -> None:
        """Take that the worker did not load in time and is about to be killed."""

    @abstractmethod
    def on_end(self, worker: StateT, verdict: Outcome, index: int, item: int) -> None:
        """Look after the work of a worker that is gone; ``index`` and ``item`` say what it ran, or IDLE."""

    def on_running(self, worker: StateT, index: int, seconds: float) -> None:
        """Take what a worker that has work runs, and for how long: at each check."""

    # Coming and going.

    def add(self, worker: StateT) -> None:
        """Watch a worker from now on."""
        self.workers.append(worker)
        self.register(worker)
        self.update_writing(worker)

    def release(self, worker: StateT) -> None:
        """End a worker, whatever it has in flight."""
        if worker in self.workers:
            self.workers.remove(worker)
            self.unregister(worker)
            worker.handle.close()

    # Reading and writing.

    def read(self, worker: StateT) -> None:
        """Take what a worker sent, and see to its end where it has closed its connection."""
        if not self.drain(worker):
            self._reap_if_there(worker)

    def drain(self, worker: StateT) -> bool:
        """Take what a worker sent; False once it is gone and all has been read."""
        broken = False
        try:
            messages = worker.handle.receive()
        except BrokenFrameError as error:
            messages, broken = error.messages, True
        if messages:
            worker.silent_since = None
        for message in messages or ():
            if message[0] == "ready":
                worker.handle.ready, worker.handle.baseline = True, message[1]
            self.on_message(worker, message)
        if broken and worker in self.workers:
            self.on_broken_connection(worker)
            worker.handle.kill()
            worker.connection_broken = True
        return messages is not None and not broken

    def write(self, worker: StateT) -> None:
        """Send more of what waits to be sent."""
        worker.handle.flush()
        self.update_writing(worker)

    def update_writing(self, worker: StateT) -> None:
        """Watch a worker's socket for room to write exactly while something waits to be sent."""
        wanted = worker.handle.wants_to_write
        if wanted != worker.writing:
            worker.writing = wanted
            self.watch_writing(worker, wanted)

    # Checking.

    def check(self, now: float) -> None:
        """End the workers that are over their time or memory, and see to those that have ended."""
        for worker in list(self.workers):
            self._check(worker, now)

    def _check(self, worker: StateT, now: float) -> None:
        handle = worker.handle
        if not handle.is_alive():
            # Also seen here, because a child that it started may hold its end of the socket open.
            self.drain(worker)
            self._reap_if_there(worker)
        elif not handle.ready:
            if now - worker.started > self.limits.load_timeout:
                self.on_load_timeout(worker, DeadlineError(self.load_timeout_message()))
                handle.kill()
                self.reap(worker)
        elif worker.in_flight and not worker.stopping:
            running = handle.running()
            self.on_running(worker, running[0], now - running[1])
            # What is read of a status page is believed once it is seen twice.
            if self._overran(worker, running, now) and handle.running() == running:
                message = timeout_message(self.name, self.limits.timeout)
                self._end(worker, running[0], failure(DeadlineError.kind, message))
            elif self._outgrew_memory(handle):
                self._end(worker, running[0], failure(MemoryLimitError.kind, self.memory_message()))

    def _overran(self, worker: StateT, running: tuple[int, float], now: float) -> bool:
        """Whether a call is over its deadline, or the worker has not got on for longer than one may take."""
        index, since = running
        timeout = self.limits.timeout
        if index != IDLE:
            worker.silent_since = None
            late = self.beats_while_running and self.runs_event_loop() and self._beat_is_late(worker, now)
            return late or now - since > timeout
        if self.runs_event_loop():
            return self._beat_is_late(worker, now)
        # Not within a call and with work to do: a thread that an earlier call left may hold the GIL.
        if worker.silent_since is None:
            worker.silent_since = now
        if now - worker.silent_since <= timeout + _BEAT_SLACK:
            return False
        self.drain(worker)  # what it sent may only not have been read yet
        return worker.silent_since is not None

    def _beat_is_late(self, worker: StateT, now: float) -> bool:
        beat: float = worker.handle.last_beat()
        return now - beat > self.limits.timeout + _BEAT_SLACK

    def _outgrew_memory(self, handle: WorkerHandle) -> bool:
        if self.limits.max_memory is None:
            return False
        resident = handle.resident_bytes()
        return resident is not None and resident - handle.baseline > self.limits.max_memory

    def _end(self, worker: StateT, index: int, verdict: Outcome) -> None:
        """Kill a worker and blame what it was seen running, unless that got done meanwhile."""
        item = worker.handle.item()
        worker.handle.kill()
        self.drain(worker)
        self._reap_if_there(worker, verdict, (index, item))

    # The end of a worker.

    def _reap_if_there(
        self, worker: StateT, verdict: Outcome | None = None, ran: tuple[int, int] | None = None
    ) -> None:
        # A message that was drained may have had the worker released.
        if worker in self.workers:
            self.reap(worker, verdict, ran)

    def reap(
        self, worker: StateT, verdict: Outcome | None = None, ran: tuple[int, int] | None = None
    ) -> None:
        """A worker is gone: say why and what it ran, as ``index, item``, and have its work looked after."""
        if worker.stopping:
            self.release(worker)
            return
        # The status page is gone with the handle.
        running, since = worker.handle.running()
        index, item = ran or (running, worker.handle.item())
        if running != IDLE:
            worker.ran_seconds = time.monotonic() - since
        if worker.exiting_for_memory:
            verdict = failure(MemoryLimitError.kind, f"{self.name} ran out of memory in a worker process")
        elif verdict is None:
            verdict = failure(CrashError.kind, self._death_message(worker))
        self.release(worker)
        self.on_end(worker, verdict, index, item)

    # Messages.

    def load_timeout_message(self) -> str:
        """The sentence for a worker that did not load in time."""
        return (
            f"{self.name} did not load within {self.limits.load_timeout:g} s; "
            "set GUERDON_LOAD_TIMEOUT if it needs longer"
        )

    def memory_message(self) -> str:
        """The sentence for a worker that outgrew its memory."""
        megabytes = (self.limits.max_memory or 0) / 1e6
        return f"{self.name} outgrew the {megabytes:,.0f} MB that a worker may add (max_memory)"

    def _death_message(self, worker: StateT) -> str:
        handle = worker.handle
        text = "wrote garbage to its connection" if worker.connection_broken else handle.cause_of_death()
        return f"the worker process {text} while it {'ran' if handle.ready else 'loaded'} {self.name}"
