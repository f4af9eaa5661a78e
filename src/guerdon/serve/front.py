"""Front: the process that listens, lets requests in and hands them to those that answer."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn

from guerdon.serve.app import create_app
from guerdon.serve.desk import Desk, DeskLimits, Peer
from guerdon.serve.gate import Gate
from guerdon.serve.journal import Journal
from guerdon.serve.keys import Keys
from guerdon.serve.lane import Lane
from guerdon.serve.logs import Log
from guerdon.serve.metrics import Gauges, Metrics
from guerdon.serve.options import ServeOptions
from guerdon.serve.resident import fast_loop

_KEEP_ALIVE = 75
_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Stall:
    """One reward that is served: its name, who answers for it, and within what limits."""

    name: str
    version: str
    hire: Callable[[], Peer]
    limits: DeskLimits


class Front:
    """A server's parts, put together; ``run`` serves until it is told to stop."""

    def __init__(self, options: ServeOptions, stalls: Sequence[Stall], log: Log) -> None:
        self._options, self._log = options, log
        self.desks = {stall.name: Desk(stall.name, stall.hire, stall.limits) for stall in stalls}
        journal = Journal(options.journal, max_bytes=options.journal_bytes) if options.journal else None
        versions = {stall.name: stall.version for stall in stalls}
        self.gate = Gate(
            self.desks,
            keys=Keys(options.keys, options.api_keys_file),
            metrics=Metrics(versions, self._gauges(journal)),
            log=log,
            max_body=options.max_body,
            journal=journal,
        )
        self._server = _Server(self._config(), self)

    def _gauges(self, journal: Journal | None) -> Gauges:
        desks = self.desks.values()
        return Gauges(
            queue_depth=lambda: sum(desk.waiting for desk in desks),
            in_flight=lambda: sum(desk.in_hand for desk in desks),
            sockets=lambda: len(self.gate.sockets),
            workers=lambda: sum(desk.workers for desk in desks),
            restarts=lambda: _summed(desk.restarts for desk in desks),
            draining=lambda: self.gate.draining,
            journal_dropped=None if journal is None else lambda: journal.dropped,
        )

    def _config(self) -> uvicorn.Config:
        options = self._options
        lane = type("BoundLane", (Lane,), {"gate": self.gate})
        return uvicorn.Config(
            create_app(self.gate),
            http=lane,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=options.max_connections,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=2,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
            ssl_keyfile_password=options.tls_key_password,
        )

    def run(self, listener: socket.socket, on_ready: Callable[[], None]) -> None:
        """Serve on a bound socket until SIGTERM, SIGINT or ``stop``; ``on_ready`` is called once it accepts.

        Raises the RewardError for which a reward does not load.
        """
        handler = self._log.handler()
        logger = logging.getLogger("guerdon.serve")
        logger.addHandler(handler)
        logging.getLogger("uvicorn.error").addHandler(handler)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        logger.propagate = logging.getLogger("uvicorn.error").propagate = False
        self._server.on_ready = on_ready
        try:
            with asyncio.Runner(loop_factory=fast_loop()) as runner:
                runner.run(self._serve(listener))
        finally:
            logger.removeHandler(handler)
            logging.getLogger("uvicorn.error").removeHandler(handler)
            if self.gate.journal is not None:
                self.gate.journal.close()

    async def _serve(self, listener: socket.socket) -> None:
        try:
            await asyncio.gather(*(desk.start() for desk in self.desks.values()))
            await self._server.serve([listener])
        finally:
            for desk in self.desks.values():
                desk.close()

    def stop(self) -> None:
        """Have ``run`` return once what is in flight is done; from any thread."""
        self._server.should_exit = True

    async def drain(self) -> None:
        """Finish what is in flight, answer the rest with 503, close the sockets, let the workers clean up."""
        self.gate.draining = True
        for open_socket in list(self.gate.sockets):
            open_socket.stop_reading()
        until = time.monotonic() + self._options.drain
        # What is in flight ends elsewhere, in many ways.
        while self._busy and time.monotonic() < until and not self._server.force_exit:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        for desk in self.desks.values():
            desk.refuse_all(503, "draining", "the server is stopping; ask again")
        for open_socket in list(self.gate.sockets):
            open_socket.close("the server is stopping")
        await asyncio.sleep(_POLL)
        if not self._server.force_exit:
            await asyncio.gather(*(desk.stop() for desk in self.desks.values()))

    @property
    def _busy(self) -> bool:
        return any(desk.in_hand for desk in self.desks.values())


def _summed(counts: Any) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for cause, count in each.items():
            total[cause] = total.get(cause, 0) + count
    return total


class _Server(uvicorn.Server):
    on_ready: Callable[[], None]

    def __init__(self, config: uvicorn.Config, front: Front) -> None:
        super().__init__(config)
        self._front = front

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await self._front.drain()
        await super().shutdown(sockets)
