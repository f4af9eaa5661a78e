"""WebSocketClient: many requests over one WebSocket; none is lost when the connection drops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from guerdon.errors import DeadlineError, RemoteError, RewardError
from guerdon.retry_timing import retry_after
from guerdon.serve.client.codecs import InvalidFrameError, WebSocketCodec, WebSocketReply
from guerdon.serve.client.response import HttpResponse
from guerdon.serve.client.retries import RetryableError
from guerdon.serve.client.transport import Transport

if TYPE_CHECKING:
    import aiohttp

_HEARTBEAT = 30.0
_CLOSE_SECONDS = 1.0
_BUSY_WAIT = 0.05
_NO_SOCKET = frozenset({400, 404, 405, 426, 501})


class WebSocketUnsupportedError(RemoteError):
    """The server, or what is between, does not take WebSockets there."""


@dataclass(slots=True)
class _PendingFrame:
    text: str
    answer: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    times_busy: int = 0


class WebSocketClient:
    """Requests and answers over one WebSocket, matched by number.

    What was not answered when the connection dropped is sent again over the next one. A Guerdon server gets the
    session in the URL and scores no number of it twice; whatever the server does, each request has one answer.
    """

    def __init__(
        self, transport: Transport, codec: Callable[[], WebSocketCodec], path: str, session: str | None
    ) -> None:
        self._transport = transport
        self._codec = codec
        self.url = transport.address.socket(path)
        self._query = f"?session={session}" if session else ""
        self._heartbeat = _HEARTBEAT if session else None
        """Other servers may block their loop while they score, and would seem dead."""
        self._open: dict[int, _PendingFrame] = {}
        self._next = 0
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._runner: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        transport.before_close.append(self._drop)

    async def request(self, write: Callable[[int], str]) -> Any:
        """The answer to the question that ``write`` makes of its number.

        Raises the failure that the server answers; DeadlineError where it does not answer in time; RemoteError
        where the connection cannot be had any more; WebSocketUnsupportedError where it never can.
        """
        transport = self._transport
        async with transport.semaphore:
            deadline = transport.options.deadline()
            n, self._next = self._next, self._next + 1
            question = self._open[n] = _PendingFrame(write(n))
            try:
                async with asyncio.timeout(deadline.timeout()):
                    await self._send(question)
                    value = await question.answer
            except TimeoutError:
                raise DeadlineError(
                    f"{self.url} did not answer within {deadline.seconds:g} s", url=self.url
                ) from None
            finally:
                self._open.pop(n, None)
        if isinstance(value, RewardError):
            raise transport.redacted(value)
        return value

    async def connect(self) -> None:
        """Connect now. Raises RemoteError where that fails."""
        deadline, tries = self._transport.options.deadline(), 0
        while self._socket is None:
            tries += 1
            try:
                await self._connect()
            except RetryableError as error:
                await self._transport.wait_before_retry(error.fault, tries, error.wait, deadline)
        self._start()

    async def close(self) -> None:
        """Drop the connection; what is not answered fails."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await runner
        await self._drop()
        self._fail(RemoteError(f"{self.url}: the client was closed", url=self.url))

    async def _send(self, question: _PendingFrame) -> None:
        self._start()
        socket = self._socket
        if socket is not None:  # otherwise it is sent once there is a connection
            with contextlib.suppress(OSError, self._transport.aiohttp.ClientError):
                await socket.send_str(question.text)

    def _start(self) -> None:
        self._wanted.set()
        if self._runner is None or self._runner.done():
            self._runner = self._task(self._run())

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that ends with the connections."""
        task = asyncio.create_task(work)
        self._transport.tasks.add(task)
        task.add_done_callback(self._transport.tasks.discard)
        return task

    async def _run(self) -> None:
        """Keep a connection while there is something to ask, and hand out what comes over it."""
        try:
            await self._converse()
        finally:
            await self._drop()

    async def _converse(self) -> None:
        failures = 0
        while True:
            try:
                if self._socket is None:
                    await self._connect()
                    await self._send_all()
                answered = await self._listen()
                failures = 0 if answered else failures + 1
                fault, wait = self._dropped(), 0.0
            except RetryableError as error:
                failures += 1
                fault, wait = error.fault, error.wait
            except RewardError as error:
                self._fail(error)
                fault, wait, failures = error, 0.0, 0
            await self._drop()
            if failures > self._transport.backoff.retries:
                self._fail(type(fault)(f"{fault.message} ({failures} tries)", **fault.about))
                failures = 0
            if not self._open:
                self._wanted.clear()
                await self._wanted.wait()
            elif failures:
                await asyncio.sleep(max(wait, self._transport.backoff.wait(failures)))

    async def _connect(self) -> None:
        transport = self._transport
        aiohttp = transport.aiohttp
        try:
            async with asyncio.timeout(30.0):
                session = await transport.session()
                self._socket = await session.ws_connect(
                    self.url + self._query,
                    heartbeat=self._heartbeat,
                    max_msg_size=transport.options.max_response,
                    compress=0,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                )
        except aiohttp.WSServerHandshakeError as error:
            answer = HttpResponse(self.url, error.status, error.headers or {}, b"")
            if error.status in _NO_SOCKET:
                raise WebSocketUnsupportedError(
                    f"{self.url} takes no WebSocket ({error.status})", url=self.url
                ) from None
            if answer.is_retryable:
                raise RetryableError(answer.error(), retry_after(answer.headers) or 0.0) from None
            raise answer.error() from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            deadline = transport.options.deadline()
            raise RetryableError(transport.transient_error(error, self.url, deadline), 0.0) from None

    async def _send_all(self) -> None:
        socket = self._socket
        for n, question in list(self._open.items()):
            if socket is not None and n in self._open:
                with contextlib.suppress(OSError, self._transport.aiohttp.ClientError):
                    await socket.send_str(question.text)

    async def _listen(self) -> bool:
        """Hand out answers until the connection ends; whether there was any."""
        socket = self._socket
        answered = False
        codec = self._codec()
        if socket is None:
            return False
        text = self._transport.aiohttp.WSMsgType.TEXT
        while True:
            message = await socket.receive()
            if message.type is not text:
                return answered
            try:
                reply = codec.decode(message.data)
            except InvalidFrameError:
                return answered
            if reply is not None:
                answered = self._take(reply) or answered

    def _take(self, reply: WebSocketReply) -> bool:
        question = self._open.get(reply.n)
        if question is None or question.answer.done():
            return False  # an answer that came twice, or too late
        if reply.busy:
            question.times_busy += 1
            if question.times_busy <= self._transport.backoff.retries:
                wait = _BUSY_WAIT + self._transport.backoff.wait(question.times_busy)
                asyncio.get_running_loop().call_later(wait, self._send_again, reply.n)
                return True
        question.answer.set_result(reply.value)
        return True

    def _send_again(self, n: int) -> None:
        question = self._open.get(n)
        if question is not None and self._socket is not None:
            self._task(self._send(question))

    def _dropped(self) -> RewardError:
        return RemoteError(f"{self.url} drops the connection", url=self.url)

    async def _drop(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(OSError, TimeoutError, self._transport.aiohttp.ClientError):
                await socket.close()

    def _fail(self, error: RewardError) -> None:
        for question in self._open.values():
            if not question.answer.done():
                question.answer.set_result(error)
