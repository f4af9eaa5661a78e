"""Calls of an async reward, many at once on one event loop, each ended at its deadline."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from guerdon.errors import DeadlineError, ExecutionError
from guerdon.scoring.outcome import Outcome, failure
from guerdon.scoring.process.ipc import Slot
from guerdon.scoring.worker.entry import overran
from guerdon.serve.formats.base import RefusedError
from guerdon.serve.messages import TOGETHER, Answer, Call
from guerdon.serve.worker.handler import NOTHING, Servant, broken, refusal
from guerdon.serve.worker.tasks import Work, known_of

_GRACE = 0.2
"""Seconds that a coroutine has to end once it is cancelled."""
Reply = Callable[[Answer], None]


class Flights:
    """The calls in flight on this event loop; ``sweep`` is to be called some twenty times a second."""

    def __init__(self, servant: Servant, timeout: float, concurrency: int) -> None:
        self._servant, self._timeout, self._concurrency = servant, timeout, concurrency
        self._waiting: deque[_Flight] = deque()
        self._flying: dict[_Flight, None] = {}
        """By the moment they took off."""

    def begin(self, call: Call, reply: Reply) -> None:
        """Answer a call; ``reply`` is called once, at once or later."""
        started = time.perf_counter()
        try:
            if call.outcomes is not None:
                reply(self._servant.finished(call, started))
                return
            work = self._servant.work(call)
        except RefusedError as refused:
            reply(refusal(call, refused, started))
            return
        except Exception as error:  # the edge: a metadata class may have the user's validators
            reply(broken(call, error, started))
            return
        if call.read_only and (rest := work.rest(call.id, 0.0, (), NOTHING)) is not None:
            reply(rest)
            return
        _Party(self, call, work, started, reply).begin()

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self._flying and not self._waiting

    def sweep(self) -> None:
        """End what is over its deadline; what refuses to end is left behind."""
        now = time.monotonic()
        for flight in list(self._flying):
            if now - flight.started <= self._timeout:
                return  # the others took off later
            if not flight.over:
                flight.over = True
                flight.task.cancel()
            elif now - flight.started > self._timeout + _GRACE:
                flight.land(failure(DeadlineError.kind, overran(self._servant.reward.name, self._timeout)))

    def take_off(self, flight: _Flight) -> None:
        """Start a flight, now or once another one has landed."""
        if len(self._flying) >= self._concurrency:
            self._waiting.append(flight)
            return
        flight.started = time.monotonic()
        self._flying[flight] = None
        flight.task = asyncio.get_running_loop().create_task(flight.run())

    def landed(self, flight: _Flight) -> None:
        """Make room for the next."""
        self._flying.pop(flight, None)
        while self._waiting and len(self._flying) < self._concurrency:
            self.take_off(self._waiting.popleft())

    @property
    def slot(self) -> Slot:
        return self._servant.slot

    @property
    def name(self) -> str:
        return self._servant.reward.name

    @property
    def timeout(self) -> float:
        return self._timeout


class _Party:
    """The flights of one call, which is answered once all have landed."""

    def __init__(self, flights: Flights, call: Call, work: Work, started: float, reply: Reply) -> None:
        self._flights, self.call, self.work = flights, call, work
        self._started, self._reply = started, reply
        known = call.known or NOTHING
        self._results: list[Any] = [known_of(known, i) or item for i, item in enumerate(work.items)]
        self._open = [i for i, item in enumerate(self._results) if not isinstance(item, Outcome)]
        self._left = len(self._open)

    def begin(self) -> None:
        if not self._open:
            self._answer()
        elif self.work.whole and not self.call.careful:
            self._left = 1
            self._flights.take_off(_Flight(self._flights, self, None, self.work.fly_all(list(self._results))))
        elif self.call.careful:
            self._next()
        else:
            for i in self._open:
                self._flights.take_off(self._flight(i))

    def _flight(self, i: int) -> _Flight:
        return _Flight(self._flights, self, i, self.work.fly(self._results[i]))

    def _next(self) -> None:
        self._flights.take_off(self._flight(self._open[len(self._open) - self._left]))

    def landed(self, index: int | None, result: Any) -> None:
        if index is not None:
            self._results[index] = result
        elif isinstance(result, Outcome):  # the whole was ended: which of them is at fault is not known
            self.call, self._left = self.call._replace(careful=True), len(self._open)
            self._next()
            return
        else:
            self._results = list(result)
        self._left -= 1
        if not self._left:
            self._answer()
        elif self.call.careful:
            self._next()

    def _answer(self) -> None:
        seconds = time.perf_counter() - self._started
        self._reply(self.work.answer(self.call.id, seconds, self._results))


class _Flight:
    """One item of a call, or the whole of a batched one, on its way."""

    __slots__ = ("_coroutine", "_flights", "_index", "_landed", "_party", "over", "started", "task")

    def __init__(self, flights: Flights, party: _Party, index: int | None, coroutine: Any) -> None:
        self._flights, self._party, self._index, self._coroutine = flights, party, index, coroutine
        self._landed = False
        self.over = False
        self.started = 0.0
        self.task: asyncio.Task[None]

    async def run(self) -> None:
        try:
            result = await self
        except (asyncio.CancelledError, GeneratorExit) as error:
            if self.over:
                message = overran(self._flights.name, self._flights.timeout)
                result = failure(DeadlineError.kind, message)
            else:  # a reward may cancel itself, and find all tasks of the loop
                message = f"the call was ended from within: {type(error).__name__}"
                result = failure(ExecutionError.kind, message)
        self.land(result)

    def land(self, result: Any) -> None:
        """Hand the result on, once."""
        if not self._landed:
            self._landed = True
            self._flights.landed(self)
            self._party.landed(self._index, result)

    def __await__(self) -> Generator[Any, Any, Any]:
        """Each step tells the slot that it runs, so that the one that blocks is known."""
        inner = self._coroutine.__await__()
        slot, call = self._flights.slot, self._party.call.id
        item = TOGETHER if self._index is None else self._index
        step, value = inner.send, None
        while True:
            slot.start(call, item)
            try:
                awaited = step(value)
            except StopIteration as stop:
                return stop.value
            finally:
                slot.stop()
            try:
                value = yield awaited
                step = inner.send
            except GeneratorExit:  # the loop is gone, and whoever waited for the result
                self._landed = True
                inner.close()
                raise
            except BaseException as error:  # a cancellation is the inner coroutine's to deal with
                step, value = inner.throw, error
