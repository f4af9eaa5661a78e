"""TimedHttpProtocol: uvicorn's HTTP protocol, with a bound to what a caller may take of time and memory."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from guerdon.serve.http.connections import ConnectionLimit
from guerdon.serve.http.fast_cycle import SHORT_BYTES, FastRequestCycle
from guerdon.serve.http.pipeline import RequestPipeline

_HEAD_SECONDS = 20.0
"""How long a request's head may take to arrive, and how long its body may take whatever its size."""
_BODY_BYTES_PER_SECOND = 8_192
"""What a body that takes longer must bring on average."""
_IDLE_SECONDS = 75.0
"""How long a connection is kept on which no request comes."""
_UNREAD_SECONDS = 30.0
"""How long a caller may leave a response unread."""
SWEEP_SECONDS = 5.0
_LINGER_SECONDS = 2.0
"""How long a body that is refused is read on, so that its sender, who is busy sending, sees the answer."""
_SLOW_BODY_SECONDS = 1.0
"""After how long a body that still arrives may make room for another connection."""


class TimedHttpProtocol(HttpToolsProtocol):
    """A connection that is closed where its caller is too slow, and that makes room for others."""

    request_pipeline: RequestPipeline
    limit: ConnectionLimit

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._arriving = self._in_head = True
        self._closing = False
        """The last response has been written; what still comes is thrown away."""
        self._since = monotonic()
        """Since when a request has been arriving, or none has."""
        self._body_bytes = self._length = 0
        """Of the body, what is there and what is announced; -1 where that is not known."""
        self._current: Any = None
        """The cycle that is answered now, or was last."""
        self._unread = 0
        """Bytes of responses that the caller did not take, as the budget counts them."""
        self._unread_since = self._ended = 0.0

    def enqueue(self, cycle: FastRequestCycle) -> None:
        """Start a cycle, or have it wait for the responses before it."""
        current = self._current
        self.cycle = cycle  # type: ignore[assignment]
        if current is None or current.response_complete:
            self._current = cycle
            cycle.started = True
        else:
            self.pipeline.appendleft((cycle, None))  # type: ignore[arg-type]

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._current = cycle
        if isinstance(cycle, FastRequestCycle):
            cycle.begin()
        else:
            super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in (self._current, self.cycle, *(cycle for cycle, _ in self.pipeline)):
            if isinstance(cycle, FastRequestCycle):
                cycle.drop()
            elif cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        self._release_unread()
        super().connection_lost(exc)

    def _is_long(self) -> bool:
        """Whether so much of the body is left that it is not read to its end once the response is there."""
        return self._length < 0 or self._length - self._body_bytes > SHORT_BYTES

    def pause_writing(self) -> None:
        """The caller does not take its response: what it leaves unread counts as held."""
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._unread_since = monotonic()
        if not self.request_pipeline.admission.buffered.take(self._unread):
            self._unread = 0
            self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._release_unread()

    def _release_unread(self) -> None:
        self.request_pipeline.admission.buffered.release(self._unread)
        self._unread = 0

    def _linger(self) -> None:
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(_LINGER_SECONDS, self._close)

    def _close(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def _is_answering(self) -> bool:
        """Whether the caller waits for a response to a request that it has sent whole."""
        current = self._current
        if current is None or current.response_complete:
            return False
        return current is not self.cycle or not self._arriving

    def rank(self, now: float) -> tuple[int, float] | None:
        """How soon this connection makes room for another one: idle ones first, then those that are slow to ask."""
        if self._is_answering() or self.transport.is_closing():
            return None
        if not self._arriving:
            return (0, self._since)
        if self._in_head:
            return (1, self._since)
        return (2, self._since) if now - self._since > _SLOW_BODY_SECONDS else None

    def evict(self) -> None:
        """Make room for another connection."""
        self._close()

    def sweep(self, now: float) -> None:
        """Close a connection whose request does not end, whose response is not read, or on which nothing comes."""
        if self.transport.is_closing():
            # What it was sent last may never be read.
            self._ended = self._ended or now
            if now - self._ended > _UNREAD_SECONDS:
                self.transport.abort()
        elif self._unread and self._is_unread(now):
            self.transport.abort()
        elif not self._closing and not self._is_answering():
            patience = _HEAD_SECONDS if self._arriving else _IDLE_SECONDS
            if self._arriving and not self._in_head:
                patience += self._body_bytes / _BODY_BYTES_PER_SECOND
            if now - self._since > patience:
                self._close()

    def _is_unread(self, now: float) -> bool:
        left = self.transport.get_write_buffer_size()
        if left < self._unread:
            self.request_pipeline.admission.buffered.release(self._unread - left)
            self._unread, self._unread_since = left, now
        return now - self._unread_since > _UNREAD_SECONDS
