"""The worker pool: samples fed to worker processes, watched, and given back in order.

It runs on a thread of its own. It reads the source only as far ahead as a window allows, so memory
does not grow with the number of samples; it keeps two chunks of work with each worker, sized by the
measured cost; it kills a worker whose sample overran, crashed or outgrew its memory, records that one
sample as failed, and runs the others of the chunk again.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator

from guerdon.errors import CrashError, DeadlineError, MemoryLimitError, WrongLengthError
from guerdon.reward.binding.returns import not_asked_again
from guerdon.reward.function import RewardFunction
from guerdon.scoring.engine.base import Engine, EngineLimits, PendingSample, ScoredSample
from guerdon.scoring.engine.pool_workers import PooledWorker, PoolSupervisor, WorkUnit
from guerdon.scoring.engine.source import PackedSource, PackedUnit
from guerdon.scoring.engine.window import SampleWindow
from guerdon.scoring.evaluate import Unit
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.worker_process import WorkerSpec

_TICK = 0.05
"""Seconds between two looks at the workers' clocks and memory."""
_CHUNK_SECONDS = 0.02
_CHUNK_ROWS = 512
_CHUNK_BYTES = 1 << 22
_BATCHES_AHEAD = 64
_JOIN_SECONDS = 5.0
_ENDED = {DeadlineError.kind, CrashError.kind, MemoryLimitError.kind}


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
        self._source = PackedSource(self._units())
        self._may_block = may_block
        self._window = SampleWindow(limits.batch_size, in_order)
        self._supervisor = PoolSupervisor(reward, limits, spec, self._finish)
        self._cost = 0.0
        """Seconds a sample takes, a running mean; 0 until the first result."""
        self._fresh_rows = 1
        self._refusal: Outcome | None = None
        """The failure of what is not sent any more, once the reward has returned a wrong number of results."""
        self._refusing = False
        """Whether the batch for which it did has been given back."""
        self._checked = 0.0
        """When the workers were checked last: at every answer would cost more than quick rewards do."""
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
                self._supervisor.listen(self._source.read_ahead())
            while not self._aborted.is_set():
                self._feed()
                self._emit()
                if self._supervisor.busy:
                    self._collect()
                    if time.monotonic() - self._checked >= _TICK / 2:
                        self._check()
                elif self._source.exhausted or self._stopping:
                    break
                elif self._source.reads_ahead:
                    self._collect()
            self._deliver(self._source.error)
        except BaseException as error:  # the edge of the thread: the caller's iteration raises it
            self._deliver(error)
        finally:
            # A reward that miscounted is asked no more in its process, which the next run is not to get.
            self._supervisor.dismiss(keep=self._refusal is None)
            self._source.close()

    def _check(self) -> None:
        self._checked = time.monotonic()
        self._supervisor.check(self._checked)

    def _emit(self) -> None:
        if batch := self._window.take_ready():
            self._deliver(batch if self._refusal is None else self._refused(batch))

    def _refused(self, batch: list[ScoredSample]) -> list[ScoredSample]:
        """The samples after the first batch with a wrong number of results, failed whatever other workers said of
        them meanwhile: a verdict must not depend on which worker was quicker."""
        for i, sample in enumerate(batch):
            if self._refusing and self._refusal is not None:
                batch[i] = sample._replace(outcome=self._refusal)
            self._refusing = self._refusing or sample.outcome.kind == WrongLengthError.kind
        return batch

    def _deliver(self, batch: list[ScoredSample] | BaseException | None) -> None:
        while not self._aborted.is_set():
            with contextlib.suppress(queue.Full):
                self._out.put(batch, timeout=_TICK)
                return
            self._check()
        with contextlib.suppress(queue.Full):
            self._out.put_nowait(None)

    # Feeding.

    def _feed(self) -> None:
        """Give every worker that has room its next chunk, starting workers while there is work."""
        workers = self._supervisor.workers
        for worker in workers:
            while self._has_room(worker) and (chunk := self._chunk(worker)):
                self._supervisor.give(worker, chunk)
        while len(workers) < self._limits.workers and (chunk := self._chunk(None)):
            self._supervisor.give(self._supervisor.spawn(), chunk)

    def _has_room(self, worker: PooledWorker) -> bool:
        if worker.alone:
            return False
        if self._reward.is_async:
            return worker.held < self._limits.concurrency
        return worker.held <= self._fresh_rows // 2

    def _chunk(self, worker: PooledWorker | None) -> list[WorkUnit]:
        """The next units for a worker; one that must run alone goes to a worker that holds nothing."""
        retry = self._supervisor.retry
        while retry and self._refusal is not None:
            self._refuse(retry.popleft().unit)
        if retry:
            if not retry[0].alone:
                return [retry.popleft()]
            return [retry.popleft()] if worker is None or not worker.held else []
        limit = self._fresh_rows
        if self._reward.is_async:
            limit = max(1, self._limits.concurrency - (worker.held if worker else 0))
        source, window = self._source, self._window
        chunk: list[WorkUnit] = []
        size = 0
        while len(chunk) < limit and size < _CHUNK_BYTES and not source.exhausted and not self._stopping:
            if not window.is_open() or (unit := source.next_unit()) is None:
                break
            if (work := self._admit(unit)) is not None:
                chunk.append(work)
                size += work.size
        return chunk

    def _admit(self, unit: PackedUnit) -> WorkUnit | None:
        rows = self._window.admit(unit)
        if self._refusal is not None:
            self._refuse(rows)
            return None
        return WorkUnit(rows) if rows else None

    def _refuse(self, unit: Unit) -> None:
        """Fail samples for which a reward that returned a wrong number of results is not asked."""
        assert self._refusal is not None
        for index, _ in unit:
            self._window.finish(index, self._refusal, 0.0)

    # Collecting.

    def _collect(self) -> None:
        """Wait for workers to answer, at most a tick."""
        if self._supervisor.wait(_TICK):
            self._source.silence()

    def _finish(self, index: int, outcome: Outcome, seconds: float) -> None:
        """Take the outcome of a sample, and learn from its time how many make up a chunk."""
        if outcome.kind is not None:
            self._finish_failed(index, outcome, seconds)
            return
        self._window.finish(index, outcome, seconds)
        self._learn(seconds)

    def _finish_failed(self, index: int, outcome: Outcome, seconds: float) -> None:
        if outcome.kind == WrongLengthError.kind and self._refusal is None:
            self._refusal = failure(WrongLengthError.kind, not_asked_again(outcome.error or ""))
        elif outcome.kind == MemoryLimitError.kind and self._limits.max_memory is not None:
            outcome = failure(MemoryLimitError.kind, self._supervisor.memory_message())
        self._window.finish(index, outcome, seconds)
        if outcome.kind not in _ENDED:  # how long that took says nothing of the others
            self._learn(seconds)

    def _learn(self, seconds: float) -> None:
        self._cost = seconds if not self._cost else 0.98 * self._cost + 0.02 * seconds
        ideal = max(1, min(_CHUNK_ROWS, int(_CHUNK_SECONDS / max(self._cost, 1e-7))))
        self._fresh_rows = min(ideal, 2 * self._fresh_rows) if ideal > self._fresh_rows else ideal
