"""Calls of an async reward, many at once on one event loop, each ended at its deadline."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from guerdon.errors import DeadlineError
from guerdon.scoring.evaluate import CANCEL_GRACE, ended_from_within, timeout_message
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.ipc import StatusPage
from guerdon.scoring.worker.tracing import TracedCoroutine
from guerdon.serve.formats.base import RefusedError
from guerdon.serve.messages import TOGETHER, WorkerReply, WorkerRequest
from guerdon.serve.worker.handler import NOTHING, RequestHandler, broken, refusal
from guerdon.serve.worker.tasks import ScoringTask, known_outcome

OnReply = Callable[[WorkerReply], None]


class ConcurrentExecutor:
    """Runs many calls at once on this event loop; call ``cancel_overdue`` some twenty times a second."""

    def __init__(self, handler: RequestHandler, timeout: float, concurrency: int) -> None:
        self._handler, self._timeout, self._concurrency = handler, timeout, concurrency
        self._waiting: deque[SampleTask] = deque()
        self._running: dict[SampleTask, None] = {}
        """In the order of their start."""

    def begin(self, call: WorkerRequest, reply: OnReply) -> None:
        """Answer a call; ``reply`` is called once, at once or later."""
        started = time.perf_counter()
        try:
            if call.outcomes is not None:
                reply(self._handler.finished(call, started))
                return
            work = self._handler.work(call)
        except RefusedError as refused:
            reply(refusal(call, refused, started))
            return
        except Exception as error:  # the edge: a metadata class may have the user's validators
            reply(broken(call, error, started))
            return
        if call.parse_only and (rest := work.rest(call.id, 0.0, (), NOTHING)) is not None:
            reply(rest)
            return
        CallGroup(self, call, work, started, reply).begin()

    @property
    def idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self._running and not self._waiting

    def cancel_overdue(self) -> None:
        """End what is over its deadline; what refuses to end is left behind."""
        now = time.monotonic()
        for task in list(self._running):
            if now - task.started <= self._timeout:
                return  # the others started later
            if not task.over:
                task.over = True
                task.future.cancel()
            elif now - task.started > self._timeout + CANCEL_GRACE:
                task.finish(
                    failure(DeadlineError.kind, timeout_message(self._handler.reward.name, self._timeout))
                )

    def start(self, task: SampleTask) -> None:
        """Start a task, now or once another one has finished."""
        if len(self._running) >= self._concurrency:
            self._waiting.append(task)
            return
        task.started = time.monotonic()
        self._running[task] = None
        task.future = asyncio.get_running_loop().create_task(task.run())

    def on_finished(self, task: SampleTask) -> None:
        """Make room for the next."""
        self._running.pop(task, None)
        while self._waiting and len(self._running) < self._concurrency:
            self.start(self._waiting.popleft())

    @property
    def status_page(self) -> StatusPage:
        return self._handler.status_page

    @property
    def name(self) -> str:
        return self._handler.reward.name

    @property
    def timeout(self) -> float:
        return self._timeout


class CallGroup:
    """The tasks of one call, which is answered once all have finished."""

    def __init__(
        self,
        executor: ConcurrentExecutor,
        call: WorkerRequest,
        work: ScoringTask,
        started: float,
        reply: OnReply,
    ) -> None:
        self._executor, self.call, self.work = executor, call, work
        self._started, self._reply = started, reply
        known = call.known_outcomes or NOTHING
        self._results: list[Any] = [known_outcome(known, i) or item for i, item in enumerate(work.items)]
        self._open = [i for i, item in enumerate(self._results) if not isinstance(item, Outcome)]
        self._left = len(self._open)

    def begin(self) -> None:
        if not self._open:
            self._answer()
        elif self.work.whole and not self.call.one_by_one:
            self._left = 1
            self._executor.start(
                SampleTask(self._executor, self, None, self.work.arun_all(list(self._results)))
            )
        elif self.call.one_by_one:
            self._next()
        else:
            for i in self._open:
                self._executor.start(self._task(i))

    def _task(self, i: int) -> SampleTask:
        return SampleTask(self._executor, self, i, self.work.arun(self._results[i]))

    def _next(self) -> None:
        self._executor.start(self._task(self._open[len(self._open) - self._left]))

    def on_finished(self, index: int | None, result: Any) -> None:
        if index is not None:
            self._results[index] = result
        elif isinstance(result, Outcome):  # the whole was ended: which of them is at fault is not known
            self.call, self._left = self.call._replace(one_by_one=True), len(self._open)
            self._next()
            return
        else:
            self._results = list(result)
        self._left -= 1
        if not self._left:
            self._answer()
        elif self.call.one_by_one:
            self._next()

    def _answer(self) -> None:
        seconds = time.perf_counter() - self._started
        self._reply(self.work.answer(self.call.id, seconds, self._results))


class SampleTask:
    """One sample of a call, or the whole of a batched one."""

    __slots__ = ("_coroutine", "_executor", "_finished", "_group", "_index", "future", "over", "started")

    def __init__(
        self, executor: ConcurrentExecutor, group: CallGroup, index: int | None, coroutine: Awaitable[Any]
    ) -> None:
        item = TOGETHER if index is None else index
        self._coroutine = TracedCoroutine(coroutine, executor.status_page, group.call.id, item)
        self._executor, self._group, self._index = executor, group, index
        self._finished = False
        self.over = False
        self.started = 0.0
        self.future: asyncio.Task[None]

    async def run(self) -> None:
        """Score to the end; what ends it is its failure."""
        try:
            result = await self._coroutine
        except (asyncio.CancelledError, GeneratorExit) as error:
            if self._coroutine.closed:  # the loop is gone, and so is the caller that waited for the result
                return
            if self.over:
                message = timeout_message(self._executor.name, self._executor.timeout)
                result = failure(DeadlineError.kind, message)
            else:  # a reward may cancel itself, and find all tasks of the loop
                result = ended_from_within(error)
        self.finish(result)

    def finish(self, result: Any) -> None:
        """Hand the result on, once."""
        if not self._finished:
            self._finished = True
            self._executor.on_finished(self)
            self._group.on_finished(self._index, result)
