"""The supervisor of worker processes, with real ones and a loop that does no more than poll them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from guerdon import RewardFunction
from guerdon.errors import DeadlineError
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.process.ipc import IDLE
from guerdon.scoring.process.supervisor import WorkerState, WorkerSupervisor
from guerdon.scoring.process.worker_process import WorkerProcess, WorkerSpec
from guerdon.scoring.row_pickle import row_bytes
from support.scoring_work import backtrack, spin

Worker = WorkerState[WorkerProcess, str]


@dataclass(frozen=True)
class Limits:
    timeout: float = 20.0
    max_memory: int | None = None
    load_timeout: float = 20.0


class Recorder(WorkerSupervisor[Worker]):
    """Takes down what the supervisor says of its workers."""

    def __init__(self, reward: RewardFunction, limits: Limits) -> None:
        super().__init__(reward.name, limits)
        self._reward = reward
        self.watched: list[Worker] = []
        self.watched_for_writing: list[Worker] = []
        self.messages: list[Any] = []
        self.broken: list[Worker] = []
        self.late: list[str] = []
        self.ended: list[tuple[Worker, Outcome, int, int]] = []

    def spawn(self) -> Worker:
        worker = Worker(WorkerProcess(WorkerSpec.of(self._reward, self.limits.max_memory)))
        self.add(worker)
        return worker

    def give(self, worker: Worker, *responses: str) -> None:
        """Have a worker score some responses; each is in hand under its position."""
        units = []
        for index, response in enumerate(responses):
            row = row_bytes({"messages": [{"role": "assistant", "content": response}]})
            units.append([(index, row)])
            worker.in_flight[index] = response
        worker.handle.send(("run", units, self.limits.timeout))
        self.update_writing(worker)

    def outcomes(self) -> list[tuple[int, Outcome]]:
        """What workers scored so far."""
        results = [message[1] for message in self.messages if message[0] == "results"]
        return [(index, outcome) for batch in results for index, outcome, _ in batch]

    def run_until(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        """Read, write and check as an event loop would."""
        until = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < until
            for worker in list(self.watched):
                if worker in self.watched_for_writing:
                    self.write(worker)
                self.read(worker)
            self.check(time.monotonic())
            time.sleep(0.01)

    def register(self, worker: Worker) -> None:
        self.watched.append(worker)

    def unregister(self, worker: Worker) -> None:
        self.watched.remove(worker)
        self.watched_for_writing = [other for other in self.watched_for_writing if other is not worker]

    def watch_writing(self, worker: Worker, wanted: bool) -> None:
        if wanted:
            self.watched_for_writing.append(worker)
        else:
            self.watched_for_writing.remove(worker)

    def runs_event_loop(self) -> bool:
        return self._reward.is_async

    def on_message(self, worker: Worker, message: Any) -> None:
        self.messages.append(message)
        if message[0] == "results":
            for index, _, _ in message[1]:
                worker.in_flight.pop(index)

    def on_broken_connection(self, worker: Worker) -> None:
        self.broken.append(worker)

    def on_load_timeout(self, worker: Worker, error: DeadlineError) -> None:
        self.late.append(str(error))

    def on_end(self, worker: Worker, verdict: Outcome, index: int, item: int) -> None:
        self.ended.append((worker, verdict, index, item))


Make = Callable[..., Recorder]


@pytest.fixture
def supervise() -> Iterator[Make]:
    """Makes supervisors whose workers end with the test."""
    made: list[Recorder] = []

    def make(func: Any, **limits: Any) -> Recorder:
        made.append(Recorder(RewardFunction(func, name="deed"), Limits(**limits)))
        return made[-1]

    yield make
    for supervisor in made:
        for worker in list(supervisor.workers):
            supervisor.release(worker)


def deed(response: str) -> float:
    """Does what the response says, or gives its length."""
    deeds: dict[str, Callable[[], Any]] = {
        "spin": spin,
        "backtrack": backtrack,
        "leave": lambda: os._exit(3),
        "garbage": _write_garbage,
        "grow": _grow,
        "nap": lambda: time.sleep(0.1),
    }
    deeds.get(response, lambda: None)()
    return float(len(response))


def _write_garbage() -> None:
    for descriptor in range(3, 1000):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"x" * 64)
    spin()


def _grow() -> None:
    kept = []
    while True:
        kept.append(bytearray(b"x" * 10_000_000))
        time.sleep(0.001)


def test_a_worker_loads_and_answers(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    assert (supervisor.workers, supervisor.watched) == ([worker], [worker])
    supervisor.run_until(lambda: worker.handle.ready)
    assert worker.handle.baseline > 0
    supervisor.give(worker, "a", "abc")
    supervisor.run_until(lambda: not worker.in_flight)
    assert [(index, outcome.score) for index, outcome in supervisor.outcomes()] == [(0, 1.0), (1, 3.0)]
    assert supervisor.ended == []
    supervisor.release(worker)
    assert (supervisor.workers, supervisor.watched) == ([], [])
    assert not worker.handle.is_alive()


def test_what_the_socket_does_not_take_at_once_is_sent_as_it_has_room(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    os.kill(worker.handle.pid, signal.SIGSTOP)  # it reads nothing meanwhile
    supervisor.give(worker, "x" * 20_000_000)
    assert worker.writing
    assert supervisor.watched_for_writing == [worker]
    os.kill(worker.handle.pid, signal.SIGCONT)
    supervisor.run_until(lambda: not worker.in_flight)
    assert not worker.writing
    assert supervisor.watched_for_writing == []


@pytest.mark.parametrize(
    ("response", "limits", "kind", "words"),
    [
        ("spin", {"timeout": 0.3}, "timeout", "deed overran its deadline of 0.3 s and was ended"),
        ("backtrack", {"timeout": 0.3}, "timeout", "deed overran its deadline of 0.3 s and was ended"),
        ("leave", {}, "crash", "the worker process exited with status 3 while it ran deed"),
        ("garbage", {}, "crash", "the worker process wrote garbage to its connection while it ran deed"),
    ],
)
def test_a_worker_that_goes_wrong_ends_with_what_it_ran(
    supervise: Make, response: str, limits: dict[str, Any], kind: str, words: str
) -> None:
    supervisor = supervise(deed, **limits)
    worker = supervisor.spawn()
    supervisor.give(worker, "ab", response, "abc")
    supervisor.run_until(lambda: bool(supervisor.ended))
    ((ended, verdict, index, item),) = supervisor.ended
    assert ended is worker
    assert (verdict.kind, verdict.error) == (kind, words)
    assert (index, item) == (1, 0)
    assert supervisor.workers == supervisor.watched == []
    assert bool(supervisor.broken) is (response == "garbage")
    assert not worker.handle.is_alive()


def test_what_came_whole_before_garbage_counts(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    supervisor.give(worker, "nap", "garbage")  # a worker sends the results of some milliseconds together
    until = time.monotonic() + 30
    while worker.handle.running()[0] != 1 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)  # what it sends comes in one piece, since nothing is read meanwhile
    supervisor.run_until(lambda: bool(supervisor.ended))
    ((_, verdict, index, _),) = supervisor.ended
    assert verdict.error == "the worker process wrote garbage to its connection while it ran deed"
    assert index == 1
    assert worker.handle.ready
    assert [(index, outcome.score) for index, outcome in supervisor.outcomes()] == [(0, 3.0)]


@pytest.mark.slow(seconds=5)
def test_a_worker_that_outgrows_its_memory_is_ended(supervise: Make) -> None:
    # The worker itself is not limited here, so that it is the supervisor who sees it.
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    supervisor.limits = Limits(max_memory=100_000_000)
    supervisor.give(worker, "grow")
    supervisor.run_until(lambda: bool(supervisor.ended))
    ((_, verdict, index, _),) = supervisor.ended
    assert verdict.kind == "memory"
    assert verdict.error == "deed outgrew the 100 MB that a worker may add (max_memory)"
    assert index == 0


def test_a_killed_worker_that_does_nothing_is_noticed(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    supervisor.run_until(lambda: worker.handle.ready)
    os.kill(worker.handle.pid, signal.SIGKILL)
    supervisor.run_until(lambda: bool(supervisor.ended))
    ((_, verdict, index, _),) = supervisor.ended
    assert "was killed by SIGKILL" in (verdict.error or "")
    assert index == IDLE


class Slow:
    """Takes long to load, or ends its process instead."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, response: str) -> float:
        return 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self.seconds:
            os._exit(4)
        time.sleep(self.seconds)


def test_a_worker_that_does_not_load_in_time_is_killed(supervise: Make) -> None:
    supervisor = supervise(Slow(60), load_timeout=0.5)
    worker = supervisor.spawn()
    supervisor.run_until(lambda: bool(supervisor.ended))
    assert supervisor.late == ["deed did not load within 0.5 s; set GUERDON_LOAD_TIMEOUT if it needs longer"]
    assert supervisor.ended[0][0] is worker
    assert not worker.handle.is_alive()


def test_a_worker_that_ends_while_it_loads(supervise: Make) -> None:
    supervisor = supervise(Slow(0))
    worker = supervisor.spawn()
    supervisor.run_until(lambda: bool(supervisor.ended))
    assert supervisor.ended[0][1].error == "the worker process exited with status 4 while it loaded deed"
    assert not worker.handle.ready


def test_a_worker_that_was_asked_to_stop_is_let_go(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    supervisor.give(worker, "leave")
    worker.stopping = True
    supervisor.run_until(lambda: not supervisor.workers)
    assert supervisor.ended == []


def test_a_worker_that_exits_for_want_of_memory_says_so(supervise: Make) -> None:
    supervisor = supervise(deed)
    worker = supervisor.spawn()
    worker.exiting_for_memory = True
    supervisor.give(worker, "leave")
    supervisor.run_until(lambda: bool(supervisor.ended))
    assert supervisor.ended[0][1].kind == "memory"
    assert supervisor.ended[0][1].error == "deed ran out of memory in a worker process"


async def blocks(response: str) -> float:
    """Keeps its event loop from turning, or waits."""
    if response == "spin":
        spin()
    await asyncio.sleep(60 if response == "wait" else 0)
    return 1.0


def test_an_event_loop_that_stands_still_is_ended_one_that_waits_is_not(supervise: Make) -> None:
    supervisor = supervise(blocks, timeout=0.4)
    waiting, blocked = supervisor.spawn(), supervisor.spawn()
    supervisor.give(waiting, "wait")
    supervisor.give(blocked, "spin")
    supervisor.run_until(lambda: bool(supervisor.ended) and not waiting.in_flight)
    ((worker, verdict, index, _),) = supervisor.ended
    assert worker is blocked
    assert (verdict.kind, index) == ("timeout", 0)
    # The one that waited ended its call by itself and goes on.
    assert supervisor.workers == [waiting]
    ((_, outcome),) = supervisor.outcomes()
    assert outcome.kind == "timeout"


def test_a_stopped_process_does_not_get_on_and_is_ended(supervise: Make) -> None:
    supervisor = supervise(deed, timeout=0.2)
    worker = supervisor.spawn()
    supervisor.run_until(lambda: worker.handle.ready)
    os.kill(worker.handle.pid, signal.SIGSTOP)
    supervisor.give(worker, "abc")
    started = time.monotonic()
    supervisor.run_until(lambda: bool(supervisor.ended))
    assert time.monotonic() - started > 1.2
    ((_, verdict, index, _),) = supervisor.ended
    assert (verdict.kind, index) == ("timeout", IDLE)
    assert list(worker.in_flight.values()) == ["abc"]
