"""An engine that persists: calls that come one by one, from many threads and event loops, scored by the same workers.

Trainers that ask for one sample at a time would pay for an engine each; here one takes all of them, for as long
as its owner lives, and every call is answered when it is done, whatever others take.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError

from guerdon.errors import BindingError, CrashError
from guerdon.reward.function import RewardFunction
from guerdon.reward.scorers.event_loop import background_loop
from guerdon.scoring.engine.base import EngineLimits, PendingSample
from guerdon.scoring.engine.pool import WorkerPoolEngine
from guerdon.scoring.engine.pool_workers import PooledWorker, WorkUnit
from guerdon.scoring.engine.source import PackedUnit
from guerdon.scoring.evaluate import ascore_samples, score_samples
from guerdon.scoring.outcome import Outcome, unpack
from guerdon.scoring.process.worker_process import WorkerSpec
from guerdon.types import EvaluateResult, Provenance, Sample

PendingResult = Future[EvaluateResult]
_JOIN_SECONDS = 5.0
_GATHER_SECONDS = 0.005
"""How long a batch that is not full waits for one more sample."""


class PersistentEngine:
    """A reward with workers that stay: ``submit`` gives a future of one sample's verdict; safe in threads.

    A future raises only what ends an engine: a reward that does not load in a worker. With ``workers=0``, and for
    an async reward that cannot be pickled, samples are scored in this process.
    """

    def __init__(self, reward: RewardFunction, limits: EngineLimits) -> None:
        self._reward, self._limits = reward, limits
        self._lock = threading.Lock()
        self._thread: EngineThread | None = None
        self._closer: weakref.finalize[..., PersistentEngine] | None = None
        self._semaphore: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._spec: WorkerSpec | None = None
        if limits.workers:
            try:
                self._spec = WorkerSpec.of(reward, limits.max_memory)
            except BindingError:
                if not reward.is_async:
                    raise

    def submit(self, samples: Sequence[Sample]) -> list[PendingResult]:
        """A future for each sample, in their order."""
        if self._spec is None:
            return [self._here(sample) for sample in samples]
        with self._lock:
            if self._thread is None or self._thread.ended or self._thread.process != os.getpid():
                if self._closer is not None:
                    self._closer.detach()
                self._thread = EngineThread(self._reward, self._limits, self._spec)
                self._closer = weakref.finalize(self, self._thread.close)
            return [self._thread.put(sample) for sample in samples]

    def close(self) -> None:
        """Let the workers go; the next call starts them again."""
        with self._lock:
            if self._thread is not None:
                self._thread.close()
                self._thread = None

    def _here(self, sample: Sample) -> PendingResult:
        if self._reward.is_async:
            return asyncio.run_coroutine_threadsafe(self._awaited(sample), background_loop())
        answer: PendingResult = Future()
        (outcome,) = score_samples(self._reward, [sample])
        answer.set_result(unpack(outcome, self._reward.provenance))
        return answer

    async def _awaited(self, sample: Sample) -> EvaluateResult:
        loop = asyncio.get_running_loop()
        if self._semaphore is None or self._semaphore[0] is not loop:
            self._semaphore = loop, asyncio.Semaphore(self._limits.concurrency)
        async with self._semaphore[1]:
            (outcome,) = await ascore_samples(self._reward, [sample], self._limits.timeout)
        return unpack(outcome, self._reward.provenance)


class PersistentPoolEngine(WorkerPoolEngine):
    """The pool for a source that does not end: a batch is what comes together, since more may come only once it
    is answered."""

    def __init__(
        self,
        reward: RewardFunction,
        source: queue.SimpleQueue[PendingSample | None],
        limits: EngineLimits,
        spec: WorkerSpec,
        is_wanted: Callable[[int], bool],
    ) -> None:
        self._waiting, self._is_wanted = source, is_wanted
        super().__init__(reward, iter(()), limits, spec, may_block=True, in_order=False)

    def _has_room(self, worker: PooledWorker) -> bool:
        # Nothing is put behind what runs: an idle worker, or a new one, may take it at once.
        return super()._has_room(worker) and (self._reward.is_async or not worker.held)

    def _admit(self, unit: PackedUnit) -> WorkUnit | None:
        return super()._admit([row for row in unit if self._is_wanted(row[0].position)])

    def _units(self) -> Iterator[list[PendingSample]]:
        size = self._limits.batch_size if self._reward.is_batch else 1
        while (item := self._waiting.get()) is not None:
            unit = [item]
            with contextlib.suppress(queue.Empty):
                while len(unit) < size:
                    more = self._waiting.get(timeout=_GATHER_SECONDS)
                    if more is None:
                        yield unit
                        return
                    unit.append(more)
            yield unit


class EngineThread:
    """One engine with its source and the thread that hands out what comes; it ends as a whole."""

    def __init__(self, reward: RewardFunction, limits: EngineLimits, spec: WorkerSpec) -> None:
        self.process = os.getpid()
        self.ended = False
        self._made_by: Provenance = reward.provenance
        self._name = reward.name
        self._numbers = itertools.count()
        self._waiting: dict[int, PendingResult] = {}
        self._source: queue.SimpleQueue[PendingSample | None] = queue.SimpleQueue()
        self._engine = PersistentPoolEngine(reward, self._source, limits, spec, self._is_wanted)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._answer, name="guerdon-persistent", daemon=True)
        self._thread.start()
        _threads.add(self)

    def put(self, sample: Sample) -> PendingResult:
        answer: PendingResult = Future()
        with self._lock:
            if self.ended:
                answer.set_exception(CrashError(f"the engine of {self._name} was closed"))
                return answer
            number = next(self._numbers)
            self._waiting[number] = answer
        self._source.put(PendingSample(number, sample, number))
        return answer

    def close(self) -> None:
        """Take no more; what is in flight is still answered."""
        self._source.put(None)

    def end(self) -> None:
        """Drop what is in flight and let the workers go: the process is at its end."""
        if self.process == os.getpid():
            self._engine.abort()
            self.close()
            self._thread.join(_JOIN_SECONDS)

    def _is_wanted(self, number: int) -> bool:
        """Whether somebody waits for an answer still: what was cancelled before it began is not run."""
        answer = self._waiting.get(number)
        if answer is None or not answer.cancelled():
            return answer is not None
        del self._waiting[number]
        return False

    def _answer(self) -> None:
        error: BaseException | None = None
        try:
            for position, outcome in self._outcomes():
                answer = self._waiting.pop(position, None)
                if answer is not None:
                    # A caller that was cancelled waits no longer.
                    with contextlib.suppress(InvalidStateError):
                        answer.set_result(unpack(outcome, self._made_by))
        except BaseException as raised:  # the edge of the thread: those who wait raise it
            error = raised
        with self._lock:
            self.ended = True
            left, self._waiting = self._waiting, {}
        self._source.put(None)  # else its reader would wait forever after the engine broke off
        error = error or CrashError(f"the engine of {self._name} was closed")
        for answer in left.values():
            with contextlib.suppress(InvalidStateError):
                answer.set_exception(error)

    def _outcomes(self) -> Iterator[tuple[int, Outcome]]:
        for batch in self._engine:
            for record in batch:
                yield record.position, record.outcome


_threads: weakref.WeakSet[EngineThread] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for thread in list(_threads):
        thread.end()
