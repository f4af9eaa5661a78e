"""Resident: what a worker process, or a thread beside a RewardServer, runs to answer the server's calls."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.checks import text_of
from guerdon.errors import RewardError, kind_of
from guerdon.reward.function import RewardFunction
from guerdon.scoring.process.ipc import Frames, Slot, frame
from guerdon.scoring.worker.entry import Resident, inside_worker, receive, resident_bytes
from guerdon.serve.messages import Answer, Call
from guerdon.serve.worker.async_executor import Flights
from guerdon.serve.worker.describe import Description, describe
from guerdon.serve.worker.handler import ANSWER_FIELDS, Servant, packed, ran_out_of_memory

_FLUSH_SECONDS = 0.005
_BEAT_SECONDS = 0.05
_READ_BYTES = 1 << 18
_FAILURES = Answer._fields.index("failures")
_PLAIN_FIELDS = 3
"""How many fields of a Call there are where it is no more than a body."""


class RewardResident(Resident):
    """Answers calls for one reward until its socket closes or it is told to stop."""

    def __init__(self, reward: RewardFunction, timeout: float, concurrency: int) -> None:
        self._reward, self._timeout, self._concurrency = reward, timeout, concurrency

    def prepare(self) -> None:
        self._reward.prepare()

    def run(self, connection: socket.socket, frames: Frames, slot: Slot, pending: list[Any]) -> None:
        tune_gc()
        servant = Servant(self._reward, slot)
        if self._reward.is_async or servant.server is not None:
            runner = asyncio.Runner(loop_factory=uvloop_factory())
            with runner:
                runner.run(self.serve(servant, connection, frames, pending))
                os._exit(0)  # a task may hold on, and nobody waits for its result any more
        _ready(connection, describe(servant))
        _serve(servant, connection, frames, pending)

    async def serve(
        self, servant: Servant, connection: socket.socket, frames: Frames, pending: list[Any]
    ) -> None:
        """Answer calls on this event loop."""
        await _Loop(servant, connection, frames, self._timeout, self._concurrency).serve(pending)


def uvloop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed; it halves what the sockets cost."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def tune_gc() -> None:
    """Have the garbage collector look less often, in a process that does nothing but answer calls.

    A request makes some ten objects that live until it is answered; by default the collector walks them and all
    that lives longer once in a hundred requests, for a fifth of what these cost.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _ready(connection: socket.socket, description: Description) -> None:
    connection.sendall(frame(("ready", resident_bytes(), description)))


def _serve(servant: Servant, connection: socket.socket, frames: Frames, pending: list[Any]) -> None:
    """One call after the other; answers go back when a few milliseconds' worth have gathered."""
    pid = os.getpid()
    while (message := receive(connection, frames, pending, None)) is not None and message[0] == "calls":
        answers: list[Sequence[Any]] = []
        flushed = time.perf_counter()
        for fields in message[1]:
            answer = servant.answer(Call(*fields))
            if os.getpid() != pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            answers.append(packed(answer))
            if ran_out_of_memory(answer):
                connection.sendall(frame(("answers", answers)) + frame(("bye",)))
                return
            if time.perf_counter() - flushed > _FLUSH_SECONDS:
                connection.sendall(frame(("answers", answers)))
                answers, flushed = [], time.perf_counter()
        if answers:
            connection.sendall(frame(("answers", answers)))


class _Loop:
    """The calls of one connection, on an event loop."""

    def __init__(
        self,
        servant: Servant,
        connection: socket.socket,
        frames: Frames,
        timeout: float,
        concurrency: int,
    ) -> None:
        self._servant, self._connection, self._frames = servant, connection, frames
        self._flights = Flights(servant, timeout, concurrency)
        self._answers: list[Sequence[Any]] = []
        self._out = bytearray()
        # Kept: a fresh one for every read would be mapped and unmapped by the system each time.
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._writing = self._told_to_stop = False
        self._pid = os.getpid()

    async def serve(self, pending: list[Any]) -> None:
        self._connection.setblocking(False)
        server = self._servant.server
        try:
            if server is not None:
                await _maybe(server.setup())
            description = describe(self._servant, None if server is None else await _maybe(server.info()))
        except (Exception, SystemExit) as error:  # the edge to the user's hooks: the server does not start
            message = str(error) if isinstance(error, RewardError) else text_of(error)
            self._write(frame(("unready", kind_of(error), message)))
            return
        self._write(frame(("ready", resident_bytes(), description)))
        self._loop.add_reader(self._connection.fileno(), self._read)
        heart = self._loop.create_task(self._beat())
        for message in pending:
            self._take(message)
        await self._ended.wait()
        heart.cancel()
        self._loop.remove_reader(self._connection.fileno())
        if server is not None and self._told_to_stop:
            try:
                await _maybe(server.cleanup())
            except (Exception, SystemExit) as error:  # the edge, as above; the server ends all the same
                self._write(frame(("unclean", kind_of(error), text_of(error))))
        self._write(frame(("bye",)))

    def _read(self) -> None:
        try:
            count = self._connection.recv_into(self._buffer)
        except BlockingIOError:
            return
        except ConnectionResetError:
            count = 0
        if not count:
            self._ended.set()
            return
        for message in self._frames.feed(self._buffer[:count]):
            self._take(message)
        self._flush()

    def _take(self, message: Any) -> None:
        if message[0] != "calls":
            self._told_to_stop = True
            self._ended.set()
        elif self._servant.direct:
            flushed = time.perf_counter()
            servant = self._servant
            for fields in message[1]:
                if len(fields) == _PLAIN_FIELDS:
                    answer = servant.answer_plain(*fields)
                else:
                    answer = packed(servant.answer(Call(*fields)))
                self._answers.append(answer)
                if len(answer) > ANSWER_FIELDS or answer[_FAILURES] is not None:
                    self._look_after_failures(Answer(*answer))
                    if self._ended.is_set():
                        return
                if time.perf_counter() - flushed > _FLUSH_SECONDS:
                    self._flush()
                    flushed = time.perf_counter()
            servant.slot.stop()
            servant.slot.beat()
        else:
            for fields in message[1]:
                self._flights.begin(Call(*fields), self._reply)

    def _reply(self, answer: Answer) -> None:
        if not self._answers:
            self._loop.call_soon(self._flush)
        self._answers.append(packed(answer))
        self._look_after_failures(answer)

    def _look_after_failures(self, answer: Answer) -> None:
        if inside_worker() and ran_out_of_memory(answer):
            self._ended.set()

    def _flush(self) -> None:
        if self._answers:
            if os.getpid() != self._pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            answers, self._answers = self._answers, []
            self._write(frame(("answers", answers)))

    def _write(self, data: bytes) -> None:
        self._out += data
        self._send()

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                while self._out:
                    del self._out[: self._connection.send(memoryview(self._out)[:_READ_BYTES])]
            except (BrokenPipeError, ConnectionResetError):
                self._out.clear()
                self._ended.set()
        if bool(self._out) != self._writing:
            self._writing = bool(self._out)
            if self._writing:
                self._loop.add_writer(self._connection.fileno(), self._send)
            else:
                self._loop.remove_writer(self._connection.fileno())

    async def _beat(self) -> None:
        while True:
            self._servant.slot.beat()
            self._flights.sweep()
            await asyncio.sleep(_BEAT_SECONDS)


async def _maybe(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
