"""The loop of a worker with an async reward: many units at once on one event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from typing import Any

from guerdon.reward.function import RewardFunction
from guerdon.scoring.evaluate import Unit, ascore_samples, ended_from_within, samples_of, seconds_each
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.process.ipc import BEAT_SECONDS, FrameDecoder, StatusPage, frame
from guerdon.scoring.worker.sync_loop import Result
from guerdon.scoring.worker.tracing import TracedCoroutine
from guerdon.types import EvaluateResult, Sample


class AsyncLoop:
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
        except (asyncio.CancelledError, GeneratorExit) as error:  # a reward may find all tasks of the loop
            outcomes = [ended_from_within(error)] * len(unit)
        except Exception:  # a worker that cannot answer for a sample must not seem to be in good health
            os._exit(1)
        if os.getpid() != self._pid:
            os._exit(0)
        seconds = seconds_each(time.perf_counter() - started, outcomes)
        self._results.extend((row[0], o, seconds) for row, o in zip(unit, outcomes, strict=True))
        self._wake.set()

    async def _traced(self, samples: list[Sample | Outcome], index: int, timeout: float) -> list[Outcome]:
        good = [sample for sample in samples if isinstance(sample, Sample)]
        if not good:
            return [sample for sample in samples if not isinstance(sample, Sample)]
        traced = _TracedReward(self._reward, self._status, index)
        return await ascore_samples(traced, samples, timeout)

    async def _beat(self) -> None:
        while True:
            self._status.beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            results, self._results = self._results, []
            await loop.sock_sendall(self._connection, frame(("results", results)))


class _TracedReward:
    """A reward whose coroutines show on the status page when they run."""

    def __init__(self, reward: RewardFunction, status: StatusPage, index: int) -> None:
        self.name, self.allows_any_ending = reward.name, reward.allows_any_ending
        self._reward, self._status, self._index = reward, status, index

    async def aevaluate(self, sample: Sample) -> EvaluateResult:
        return await TracedCoroutine(self._reward.aevaluate(sample), self._status, self._index)

    async def aevaluate_batch(self, samples: Sequence[Sample]) -> list[EvaluateResult]:
        return await TracedCoroutine(self._reward.aevaluate_batch(samples), self._status, self._index)
