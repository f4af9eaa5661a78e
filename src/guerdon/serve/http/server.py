"""HttpServer: listens, runs the request pipeline and its dispatchers, and drains at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn

from guerdon.errors import InputError
from guerdon.scoring.process.handle import WorkerHandle
from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.http.access_log import ServerLog
from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import ApiKeys
from guerdon.serve.http.app import create_app
from guerdon.serve.http.connections import ConnectionLimit, Evictable, IdleSocket, connection_limit
from guerdon.serve.http.fast_protocol import FastHttpProtocol
from guerdon.serve.http.metrics import Gauges, Metrics
from guerdon.serve.http.pipeline import RequestPipeline
from guerdon.serve.http.replies import STOPPING
from guerdon.serve.http.timed_protocol import SWEEP_SECONDS
from guerdon.serve.http.tracing import configured_tracing
from guerdon.serve.http.websocket import CLOSE_SECONDS
from guerdon.serve.journal.store import Journal
from guerdon.serve.options import ServeOptions, is_loopback
from guerdon.serve.redaction import add_secrets
from guerdon.serve.runtime import tune_gc, uvloop_factory
from guerdon.serve.shutdown_report import ShutdownReport

_POLL = 0.02
_SWEEP_SOCKETS_SECONDS = 1.0
"""A revoked key ends an idle WebSocket within about this time."""
_HANDOVER_SECONDS = 5.0
"""How long connections that are kept open are still answered once another process has taken over."""


@dataclass(frozen=True, slots=True)
class RewardMount:
    """One reward that is served: its name, who answers for it, and within what limits."""

    name: str
    version: str
    spawn_worker: Callable[[], WorkerHandle]
    limits: DispatchLimits


class HttpServer:
    """A server's parts, put together; ``run`` serves until it is asked to stop."""

    def __init__(self, options: ServeOptions, mounts: Sequence[RewardMount], log: ServerLog) -> None:
        self._options, self._log = options, log
        self.dispatchers = {
            mount.name: Dispatcher(mount.name, mount.spawn_worker, mount.limits) for mount in mounts
        }
        self._journal = Journal(options.journal, max_bytes=options.journal_bytes) if options.journal else None
        self._tracing = configured_tracing()
        add_secrets(options.keys)
        keys = ApiKeys(options.keys, options.api_keys_file)
        versions = {mount.name: mount.version for mount in mounts}
        self.pipeline = RequestPipeline(
            self.dispatchers,
            AdmissionControl(
                keys,
                max_body=options.max_body,
                max_buffered=options.max_buffered,
                local=is_loopback(options.host),
                hosts=options.allowed_hosts,
            ),
            metrics=Metrics(versions, self._gauges(self._journal)),
            log=log,
            tracing=self._tracing,
            journal=self._journal,
        )
        self.report = ShutdownReport()
        self._hands_over = False
        self._on_stop: Callable[[int], None] = _ignore
        self._server = _UvicornServer(self._config(), self)

    def _gauges(self, journal: Journal | None) -> Gauges:
        dispatchers = self.dispatchers.values()
        return Gauges(
            queue_depth=lambda: sum(dispatcher.queued for dispatcher in dispatchers),
            in_flight=lambda: sum(dispatcher.in_flight for dispatcher in dispatchers),
            sockets=lambda: len(self.pipeline.sockets),
            workers=lambda: sum(dispatcher.workers for dispatcher in dispatchers),
            restarts=lambda: _summed(dispatcher.restarts for dispatcher in dispatchers),
            draining=lambda: self.pipeline.admission.draining,
            journal_dropped=None if journal is None else lambda: journal.dropped,
        )

    def _config(self) -> uvicorn.Config:
        """Raises InputError for a certificate that cannot be used."""
        options = self._options
        workers = sum(dispatcher.limits.workers for dispatcher in self.dispatchers.values())
        limit = ConnectionLimit(connection_limit(options.max_connections, workers), self._evictable)
        protocol = type(
            "BoundHttpProtocol", (FastHttpProtocol,), {"request_pipeline": self.pipeline, "limit": limit}
        )
        config = uvicorn.Config(
            create_app(self.pipeline),
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=2,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
            ssl_keyfile_password=options.tls_key_password,
        )
        try:
            config.load()
        except (ssl.SSLError, OSError) as error:
            reason = getattr(error, "reason", None) or error.strerror or error
            raise InputError(
                f"cannot use the certificate {options.tls_cert} with its key: {reason}"
            ) from None
        return config

    def _evictable(self) -> list[Evictable]:
        """The connections that may have to make room for others."""
        return [*self._protocols(), *map(IdleSocket, self.pipeline.sockets)]

    def run(
        self,
        listener: socket.socket,
        on_ready: Callable[[], None],
        on_stop: Callable[[int], None] | None = None,
    ) -> ShutdownReport:
        """Serve on a bound socket until SIGTERM, SIGINT or ``stop``, and report how that went.

        ``on_ready`` is called once connections are accepted, ``on_stop`` with the number of requests that are in
        flight when it is asked to stop. Raises the RewardError for which a reward does not load.
        """
        handler = self._log.handler()
        logger = logging.getLogger("guerdon.serve")
        logger.addHandler(handler)
        logging.getLogger("uvicorn.error").addHandler(handler)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        logger.propagate = logging.getLogger("uvicorn.error").propagate = False
        self._server.on_ready = on_ready
        self._on_stop = on_stop or _ignore
        try:
            with asyncio.Runner(loop_factory=uvloop_factory()) as runner:
                runner.run(self._serve(listener))
        finally:
            logger.removeHandler(handler)
            logging.getLogger("uvicorn.error").removeHandler(handler)
            if self._journal is not None:
                self._journal.close()
            if self._tracing is not None:
                self._tracing.close()
        return self.report

    async def _serve(self, listener: socket.socket) -> None:
        try:
            await asyncio.gather(*(dispatcher.start() for dispatcher in self.dispatchers.values()))
            tune_gc()
            sweeping = asyncio.create_task(self._sweep())
            await self._server.serve([listener])
            sweeping.cancel()
        finally:
            for dispatcher in self.dispatchers.values():
                dispatcher.close()

    async def _sweep(self) -> None:
        next_sweep = 0.0
        while True:
            await asyncio.sleep(_SWEEP_SOCKETS_SECONDS)
            now = time.monotonic()
            for open_socket in list(self.pipeline.sockets):
                open_socket.sweep(now)
            if now < next_sweep:
                continue
            next_sweep = now + SWEEP_SECONDS
            for connection in list(self._server.server_state.connections):
                if isinstance(connection, FastHttpProtocol):
                    connection.sweep(now)

    def quit(self) -> None:
        """End at once, since the process that answers is gone; from any thread."""
        if self._journal is not None:
            self._journal.close()
        os._exit(1)

    def stop(self) -> None:
        """Have ``run`` return once what is in flight is done; from any thread."""
        self._hands_over = False
        self._server.should_exit = True

    def hand_over(self) -> None:
        """As ``stop``, where another process has taken over the listening socket; from any thread.

        Connections that are still open are answered a last time, rather than refused.
        """
        self._hands_over = True
        self._server.should_exit = True

    async def drain(self) -> None:
        """Finish what is in flight, answer the rest with 503, close the sockets, let the workers clean up."""
        began, pipeline = time.monotonic(), self.pipeline
        until = began + self._options.drain
        in_flight, sockets = self._in_flight(), len(pipeline.sockets)
        self._on_stop(in_flight)
        pipeline.closes_connections = True
        for open_socket in list(pipeline.sockets):
            open_socket.stop_reading()
        if self._hands_over:
            await self._close_connections(min(until, began + _HANDOVER_SECONDS))
        pipeline.admission.draining = True
        # What is in flight ends elsewhere, in many ways.
        while self._in_flight() and time.monotonic() < until and not self._forced:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        refused = self._in_flight()
        for dispatcher in self.dispatchers.values():
            dispatcher.refuse_all(503, "draining", STOPPING)
        for protocol in self._protocols():
            protocol.refuse_arriving()
        for open_socket in list(pipeline.sockets):
            open_socket.close("the server is stopping")
        finished = max(0, in_flight - refused)
        if not self._forced:
            await self._close()
        self.report = ShutdownReport(finished, refused, sockets, time.monotonic() - began, self._forced)

    async def _close_connections(self, until: float) -> None:
        """Answer what still comes over open connections, and close each of them after that."""
        while self._hands_over and (self._protocols() or self.pipeline.sockets) and time.monotonic() < until:
            for open_socket in list(self.pipeline.sockets):
                if open_socket.idle:
                    open_socket.close("the server was reloaded; connect again")
            await asyncio.sleep(_POLL)

    async def _close(self) -> None:
        until = time.monotonic() + CLOSE_SECONDS
        await asyncio.gather(*(dispatcher.stop() for dispatcher in self.dispatchers.values()))
        while self.pipeline.sockets and time.monotonic() < until and not self._forced:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)

    def _in_flight(self) -> int:
        """Requests that wait, are in the works, or whose body or response is on its way."""
        dispatched = sum(dispatcher.in_flight for dispatcher in self.dispatchers.values())
        arriving = sum(protocol.is_arriving for protocol in self._protocols())
        return max(dispatched + arriving, len(self._server.server_state.tasks))

    def _protocols(self) -> list[FastHttpProtocol]:
        return [
            protocol
            for protocol in self._server.server_state.connections
            if isinstance(protocol, FastHttpProtocol)
        ]

    @property
    def _forced(self) -> bool:
        return self._server.force_exit


def _ignore(in_flight: int) -> None:
    pass


def _summed(counts: Any) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for cause, count in each.items():
            total[cause] = total.get(cause, 0) + count
    return total


async def stop_accepting(servers: Sequence[asyncio.Server]) -> None:
    """Close listening servers, and serve the connections that they have accepted.

    Python 3.11's ``asyncio.Server.close`` leaves a connection without a transport where it was accepted in the same
    turn of the loop: nobody reads from it and nobody closes it.
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    await asyncio.sleep(0)
    for server in servers:
        server.close()


class _UvicornServer(uvicorn.Server):
    on_ready: Callable[[], None]

    def __init__(self, config: uvicorn.Config, server: HttpServer) -> None:
        super().__init__(config)
        self._http_server = server

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # First of all: who connects from here on is refused at once, rather than left to wait for an answer.
        await stop_accepting(self.servers)
        for listener in sockets or []:
            listener.close()
        await self._http_server.drain()
        if not self.force_exit:
            await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """uvicorn's own raises a signal again at the end, which would end the process before it is cleaned up."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal has the server drain; a Ctrl-C after it has it end at once."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
