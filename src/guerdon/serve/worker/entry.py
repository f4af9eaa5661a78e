"""ServeWorker: what a worker process, or a thread beside a RewardServer, runs to answer the server's calls."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import socket
import time
from collections.abc import Sequence
from typing import Any

from guerdon.checks import text_of
from guerdon.errors import RewardError, kind_of
from guerdon.reward.function import RewardFunction
from guerdon.scoring.process.ipc import BEAT_SECONDS, FrameDecoder, StatusPage, frame
from guerdon.scoring.process.program import WorkerProgram
from guerdon.scoring.worker.connection import FLUSH_SECONDS, receive, resident_bytes
from guerdon.scoring.worker.entry import inside_worker
from guerdon.serve.messages import WorkerReply, WorkerRequest
from guerdon.serve.runtime import tune_gc, uvloop_factory
from guerdon.serve.worker.async_executor import ConcurrentExecutor
from guerdon.serve.worker.describe import Description, describe
from guerdon.serve.worker.handler import ANSWER_FIELDS, RequestHandler, packed, ran_out_of_memory

_READ_BYTES = 1 << 18
_FAILURES = WorkerReply._fields.index("failures")
_PLAIN_FIELDS = 3
"""How many fields of a WorkerRequest there are where it is no more than a body."""


class ServeWorker(WorkerProgram):
    """Answers calls for one reward until its socket closes or a message says to stop."""

    def __init__(self, reward: RewardFunction, timeout: float, concurrency: int) -> None:
        self._reward, self._timeout, self._concurrency = reward, timeout, concurrency

    def prepare(self) -> None:
        self._reward.prepare()

    def run(
        self, connection: socket.socket, frames: FrameDecoder, status_page: StatusPage, pending: list[Any]
    ) -> None:
        tune_gc()
        handler = RequestHandler(self._reward, status_page)
        if self._reward.is_async or handler.server is not None:
            runner = asyncio.Runner(loop_factory=uvloop_factory())
            with runner:
                runner.run(self.serve(handler, connection, frames, pending))
                os._exit(0)  # a task may hold on, and nobody waits for its result any more
        _ready(connection, describe(handler))
        _serve(handler, connection, frames, pending)

    async def serve(
        self, handler: RequestHandler, connection: socket.socket, frames: FrameDecoder, pending: list[Any]
    ) -> None:
        """Answer calls on this event loop."""
        await _Loop(handler, connection, frames, self._timeout, self._concurrency).serve(pending)


def _ready(connection: socket.socket, description: Description) -> None:
    connection.sendall(frame(("ready", resident_bytes(), description)))


def _serve(
    handler: RequestHandler, connection: socket.socket, frames: FrameDecoder, pending: list[Any]
) -> None:
    """One call after the other; answers go back when a few milliseconds' worth have gathered."""
    pid = os.getpid()
    while (message := receive(connection, frames, pending, None)) is not None and message[0] == "requests":
        answers: list[Sequence[Any]] = []
        flushed = time.perf_counter()
        for fields in message[1]:
            answer = handler.answer(WorkerRequest(*fields))
            if os.getpid() != pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            answers.append(packed(answer))
            if ran_out_of_memory(answer):
                connection.sendall(frame(("replies", answers)) + frame(("exiting",)))
                return
            if time.perf_counter() - flushed > FLUSH_SECONDS:
                connection.sendall(frame(("replies", answers)))
                answers, flushed = [], time.perf_counter()
        if answers:
            connection.sendall(frame(("replies", answers)))


class _Loop:
    """The calls of one connection, on an event loop."""

    def __init__(
        self,
        handler: RequestHandler,
        connection: socket.socket,
        frames: FrameDecoder,
        timeout: float,
        concurrency: int,
    ) -> None:
        self._handler, self._connection, self._frames = handler, connection, frames
        self._executor = ConcurrentExecutor(handler, timeout, concurrency)
        self._answers: list[Sequence[Any]] = []
        self._out = bytearray()
        # Kept: a fresh one for every read would be mapped and unmapped by the system each time.
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._writing = self._stop_requested = False
        self._pid = os.getpid()

    async def serve(self, pending: list[Any]) -> None:
        self._connection.setblocking(False)
        server = self._handler.server
        try:
            if server is not None:
                await _maybe(server.setup())
            description = describe(self._handler, None if server is None else await _maybe(server.info()))
        except (Exception, SystemExit) as error:  # the edge to the user's hooks: the server does not start
            message = str(error) if isinstance(error, RewardError) else text_of(error)
            self._write(frame(("setup_failed", kind_of(error), message)))
            return
        self._write(frame(("ready", resident_bytes(), description)))
        self._loop.add_reader(self._connection.fileno(), self._read)
        heart = self._loop.create_task(self._beat())
        for message in pending:
            self._take(message)
        await self._ended.wait()
        heart.cancel()
        self._loop.remove_reader(self._connection.fileno())
        if server is not None and self._stop_requested:
            try:
                await _maybe(server.cleanup())
            except (Exception, SystemExit) as error:  # the edge, as above; the server ends all the same
                self._write(frame(("cleanup_failed", kind_of(error), text_of(error))))
        self._write(frame(("exiting",)))

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
        if message[0] != "requests":
            self._stop_requested = True
            self._ended.set()
        elif self._handler.direct:
            flushed = time.perf_counter()
            handler = self._handler
            for fields in message[1]:
                if len(fields) == _PLAIN_FIELDS:
                    answer = handler.answer_plain(*fields)
                else:
                    answer = packed(handler.answer(WorkerRequest(*fields)))
                self._answers.append(answer)
                if len(answer) > ANSWER_FIELDS or answer[_FAILURES] is not None:
                    self._end_if_out_of_memory(WorkerReply(*answer))
                    if self._ended.is_set():
                        return
                if time.perf_counter() - flushed > FLUSH_SECONDS:
                    self._flush()
                    flushed = time.perf_counter()
            handler.status_page.stop()
            handler.status_page.beat()
        else:
            for fields in message[1]:
                self._executor.begin(WorkerRequest(*fields), self._reply)

    def _reply(self, answer: WorkerReply) -> None:
        if not self._answers:
            self._loop.call_soon(self._flush)
        self._answers.append(packed(answer))
        self._end_if_out_of_memory(answer)

    def _end_if_out_of_memory(self, answer: WorkerReply) -> None:
        if inside_worker() and ran_out_of_memory(answer):
            self._ended.set()

    def _flush(self) -> None:
        if self._answers:
            if os.getpid() != self._pid:
                os._exit(0)  # a child that the reward forked and let return: its parent has the result
            answers, self._answers = self._answers, []
            self._write(frame(("replies", answers)))

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
            self._handler.status_page.beat()
            self._executor.cancel_overdue()
            await asyncio.sleep(BEAT_SECONDS)


async def _maybe(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
