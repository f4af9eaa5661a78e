"""What runs inside a worker process: load one reward, score units of samples, say what is running.

A unit is a list of (index, pickled row): one sample for a pointwise reward, a batch for a batched one.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import io
import os
import pickle
import resource
import select
import signal
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guerdon.checks import text_of
from guerdon.errors import DeadlineError, ExecutionError, InputError, MemoryLimitError, RewardError, kind_of
from guerdon.scoring.outcome import Outcome, failure, pack
from guerdon.scoring.process.ipc import FrameDecoder, StatusPage, frame
from guerdon.types import EvaluateResult, Sample

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction

Row = tuple[int, bytes]
Unit = list[Row]
Result = tuple[int, Outcome, float]
"""index, outcome, seconds"""

_FLUSH_SECONDS = 0.005
_IDLE_SECONDS = 300.0
_CANCEL_GRACE = 0.2
_BEAT_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1

_buffer = memoryview(bytearray(1 << 18))
"""What is read goes here: a fresh one for every read would be mapped and unmapped by the system each time."""
_inside = False


def inside_worker() -> bool:
    """Whether this process is a worker, whose deadlines another process holds already."""
    return _inside


class WorkerProgram(ABC):
    """What a worker may be loaded with in place of a reward: it answers messages of its own."""

    @abstractmethod
    def prepare(self) -> None:
        """Have the reward do what it does once in a process; what this raises ends the run."""

    @abstractmethod
    def run(
        self, connection: socket.socket, frames: FrameDecoder, status: StatusPage, pending: list[Any]
    ) -> None:
        """Answer messages until the socket closes; ``pending`` holds those that have come already."""


def main(fd: int, status_fd: int, parent: int) -> None:
    """The worker's whole life: one ``load``, then ``run`` after ``run`` until the socket closes."""
    global _inside
    _inside = True
    _print_by_lines()
    _die_with(parent)
    for inherited in (fd, status_fd):
        os.set_inheritable(inherited, False)
    connection = socket.socket(fileno=fd)
    frames, status = FrameDecoder(), StatusPage(status_fd)
    pending: list[Any] = []
    try:
        load = receive(connection, frames, pending)
        if load is None:
            return
        try:
            reward = _load(load)
            reward.prepare()
        except (Exception, SystemExit) as error:  # the edge: the parent raises it for the whole run
            message = str(error) if isinstance(error, RewardError) else text_of(error)
            connection.sendall(frame(("load_failed", kind_of(error), message)))
            return
        _limit_memory(load["max_memory"])
        status.beat()
        if isinstance(reward, WorkerProgram):
            reward.run(connection, frames, status, pending)
            return
        connection.sendall(frame(("ready", resident_bytes())))
        if reward.is_async:
            asyncio.run(_AsyncWorker(connection, frames, status, reward).serve(pending))
        else:
            _serve(connection, frames, status, reward, pending)
    except (BrokenPipeError, ConnectionResetError):
        return  # the parent is gone, and so is the reason to live


def _print_by_lines() -> None:
    """Let what a reward prints go out line by line: a worker is ended without notice."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also while a C function holds the GIL."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _load(load: Mapping[str, Any]) -> RewardFunction | WorkerProgram:
    from guerdon.reward.loading.modules import know_files

    know_files(load["files"])
    loaded: RewardFunction | WorkerProgram = pickle.loads(load["reward"])
    return loaded


def _limit_memory(max_memory: int | None) -> None:
    """Cap what the process may add to its private memory, so that a huge allocation fails at once."""
    if max_memory is None or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/status", encoding="ascii") as status:
            data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = data + max_memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def receive(
    connection: socket.socket,
    frames: FrameDecoder,
    pending: list[Any],
    patience: float | None = _IDLE_SECONDS,
) -> Any:
    """The next message, or None when the parent closed the socket or had nothing to do for ``patience`` s."""
    while not pending:
        if not select.select([connection], [], [], patience)[0]:
            return None
        count = connection.recv_into(_buffer)
        if not count:
            return None
        pending.extend(frames.feed(_buffer[:count]))
    return pending.pop(0)


def _serve(
    connection: socket.socket,
    frames: FrameDecoder,
    status: StatusPage,
    reward: RewardFunction,
    pending: list[Any],
) -> None:
    """Score units one after the other; results go back when a few milliseconds' worth have gathered."""
    pid = os.getpid()
    while (units := receive(connection, frames, pending)) is not None:
        results: list[Result] = []
        flushed = time.perf_counter()
        for unit in units[1]:
            status.start(unit[0][0])
            started = time.perf_counter()
            outcomes = _score(reward, unit)
            if os.getpid() != pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            now = time.perf_counter()
            status.stop()
            seconds = (now - started) / len(unit)
            results.extend((row[0], outcome, seconds) for row, outcome in zip(unit, outcomes, strict=True))
            if any(outcome.kind == MemoryLimitError.kind for outcome in outcomes):
                # The heap of a process that ran out of memory is not one to go on with.
                connection.sendall(frame(("results", results)))
                return
            if now - flushed > _FLUSH_SECONDS:
                connection.sendall(frame(("results", results)))
                results, flushed = [], now
        if results:
            connection.sendall(frame(("results", results)))


def samples_of(unit: Sequence[Row]) -> list[Sample | Outcome]:
    """The samples of a unit; a row that makes no sample becomes the failure that says why."""
    found: list[Sample | Outcome] = []
    for _, body in unit:
        try:
            row = pickle.loads(body)
            found.append(row if isinstance(row, Sample | Outcome) else Sample.from_row(row))
        except InputError as error:
            found.append(failure(error.kind, str(error)))
        except MemoryError:
            raise
        except Exception as error:  # whatever the row's objects raise when they are made anew
            found.append(failure(InputError.kind, f"the row cannot be read in a worker: {text_of(error)}"))
    return found


def _score(reward: RewardFunction, unit: Sequence[Row]) -> list[Outcome]:
    return score_samples(reward, samples_of(unit))


def score_samples(reward: RewardFunction, samples: Sequence[Sample | Outcome]) -> list[Outcome]:
    """The outcomes of samples, those that are failures already as they stand."""
    good = [sample for sample in samples if isinstance(sample, Sample)]
    results = iter(
        [reward.evaluate(good[0])] if len(good) == 1 else reward.evaluate_batch(good) if good else []
    )
    return [pack(next(results)) if isinstance(sample, Sample) else sample for sample in samples]


async def ascore_samples(
    reward: RewardFunction, samples: Sequence[Sample | Outcome], timeout: float
) -> list[Outcome]:
    """As ``score_samples`` for an async reward, each call ended after ``timeout`` seconds."""
    good = [sample for sample in samples if isinstance(sample, Sample)]
    call = reward.aevaluate_batch(good) if len(good) != 1 else _single(reward, good[0])
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        cancelled = failure(ExecutionError.kind, f"{reward.name} cancelled itself: CancelledError")
        return [cancelled if isinstance(sample, Sample) else sample for sample in samples]
    if not done:
        task.cancel()
        # A coroutine may refuse to be cancelled; it is left behind then, and the rest goes on.
        await asyncio.wait({task}, timeout=_CANCEL_GRACE)
        overrun = failure(DeadlineError.kind, timeout_message(reward.name, timeout))
        return [overrun if isinstance(sample, Sample) else sample for sample in samples]
    results = iter(task.result())
    return [pack(next(results)) if isinstance(sample, Sample) else sample for sample in samples]


async def _single(reward: RewardFunction, sample: Sample) -> list[EvaluateResult]:
    return [await reward.aevaluate(sample)]


def timeout_message(name: str, timeout: float) -> str:
    """The sentence for a call that was ended at its deadline."""
    return f"{name} overran its deadline of {timeout:g} s and was ended"


class _Traced:
    """A coroutine that tells the status whenever it is the one that runs, so that a block can be blamed."""

    def __init__(self, coroutine: Coroutine[Any, Any, list[Outcome]], status: StatusPage, index: int) -> None:
        self._coroutine, self._status, self._index = coroutine, status, index

    def __await__(self) -> Generator[Any, Any, list[Outcome]]:
        inner = self._coroutine.__await__()
        value: Any = None
        thrown: BaseException | None = None
        while True:
            self._status.start(self._index)
            try:
                awaited = inner.send(value) if thrown is None else inner.throw(thrown)
            except StopIteration as stop:
                result: list[Outcome] = stop.value
                return result
            finally:
                self._status.stop()
            value, thrown = None, None
            try:
                value = yield awaited
            except GeneratorExit:
                inner.close()
                raise
            except (
                BaseException
            ) as error:  # of what was awaited, or a cancellation: it is the coroutine's to handle
                thrown = error


class _AsyncWorker:
    """Many units at once on one event loop; the parent decides how many."""

    def __init__(
        self, connection: socket.socket, frames: FrameDecoder, status: StatusPage, reward: RewardFunction
    ) -> None:
        self._connection, self._frames, self._status, self._reward = connection, frames, status, reward
        self._pid = os.getpid()
        self._results: list[Result] = []
        self._wake = asyncio.Event()

    async def serve(self, pending: list[Any]) -> None:
        self._connection.setblocking(False)
        loop = asyncio.get_running_loop()
        sender = asyncio.create_task(self._send())
        heart = asyncio.create_task(self._beat())
        running: set[asyncio.Task[None]] = set()
        while True:
            for _, units, timeout in pending:
                for unit in units:
                    task = asyncio.create_task(self._run(unit, timeout))
                    running.add(task)
                    task.add_done_callback(running.discard)
            pending.clear()
            data = await loop.sock_recv(self._connection, 1 << 18)
            if not data:
                sender.cancel()
                heart.cancel()
                # Not cancelled politely: a task may hold on, and nobody waits for its result any more.
                os._exit(0)
            pending.extend(self._frames.feed(data))

    async def _run(self, unit: Unit, timeout: float) -> None:
        started = time.perf_counter()
        try:
            outcomes = await self._traced(samples_of(unit), unit[0][0], timeout)
        except (
            asyncio.CancelledError,
            GeneratorExit,
        ) as error:  # a reward may also find all tasks of the loop
            message = f"the call was ended from within: {type(error).__name__}"
            outcomes = [failure(ExecutionError.kind, message)] * len(unit)
        except Exception:  # a worker that cannot answer for a sample must not seem to be in good health
            os._exit(1)
        if os.getpid() != self._pid:
            os._exit(0)
        seconds = (time.perf_counter() - started) / len(unit)
        self._results.extend((row[0], o, seconds) for row, o in zip(unit, outcomes, strict=True))
        self._wake.set()

    async def _traced(self, samples: list[Sample | Outcome], index: int, timeout: float) -> list[Outcome]:
        good = [sample for sample in samples if isinstance(sample, Sample)]
        if not good:
            return [sample for sample in samples if not isinstance(sample, Sample)]
        traced = _TracedReward(self._reward, self._status, index)
        return await ascore_samples(traced, samples, timeout)  # type: ignore[arg-type]

    async def _beat(self) -> None:
        while True:
            self._status.beat()
            await asyncio.sleep(_BEAT_SECONDS)

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            results, self._results = self._results, []
            await loop.sock_sendall(self._connection, frame(("results", results)))


class _TracedReward:
    """A reward whose coroutines tell the status when they run."""

    def __init__(self, reward: RewardFunction, status: StatusPage, index: int) -> None:
        self.name = reward.name
        self._reward, self._status, self._index = reward, status, index

    async def aevaluate(self, sample: Sample) -> Any:
        return await _Traced(self._reward.aevaluate(sample), self._status, self._index)  # type: ignore[arg-type]

    async def aevaluate_batch(self, samples: Sequence[Sample]) -> Any:
        return await _Traced(self._reward.aevaluate_batch(samples), self._status, self._index)  # type: ignore[arg-type]
