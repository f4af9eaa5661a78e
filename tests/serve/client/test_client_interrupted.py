"""Servers and connections that die in the midst of 10,000 samples, and what the client then has."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest

from guerdon import AsyncRewardClient
from guerdon.errors import RewardError
from guerdon.serve.http.server import stop_accepting
from support.interrupted_runs import MODES, SAMPLES, Notes, by_batch, failures, scored_through
from support.marks import some_of
from support.misbehaving import aborted_at_the_end
from support.served import Process


class Proxy:
    """Passes connections on to a port, and cuts all of them when told to, wherever they are."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open: set[asyncio.StreamWriter] = set()
        self.cuts = 0

    def __enter__(self) -> Proxy:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.port = self._on_loop(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._on_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        self.cuts += len(self._open)
        for writer in list(self._open):
            writer.transport.abort()

    def _on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        await stop_accepting([self._server])
        self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        with aborted_at_the_end():
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.02)  # what was accepted meanwhile is closed, too

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            their_reader, their_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, their_writer}
        self._open |= both
        await asyncio.gather(self._pass_on(reader, their_writer), self._pass_on(their_reader, writer))
        self._open -= both

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()
        with contextlib.suppress(OSError):
            await sink.wait_closed()


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_comes_back(
    numbered_server: Process, notes: Notes, mode: str, number: signal.Signals
) -> None:
    def restart() -> None:
        notes.wait_for(3000)
        numbered_server.kill(number)
        assert numbered_server.status("/health/live") is None
        numbered_server.start()

    assert failures(scored_through(numbered_server.port, mode, restart)) == 0
    times = Counter(number for _, number in notes.read())
    assert len(times) == SAMPLES
    if number == signal.SIGTERM:
        # What it had taken it finished and answered; the rest was for the next one.
        assert max(times.values()) == 1


@pytest.mark.parametrize("mode", some_of(MODES, "stream", seconds=6))
def test_a_network_that_breaks(numbered_server: Process, notes: Notes, mode: str) -> None:
    with Proxy(numbered_server.port) as proxy:

        def cut() -> None:
            for count in range(1000, 10_000, 2000):
                notes.wait_for(count)
                proxy.cut()

        assert failures(scored_through(proxy.port, mode, cut)) == 0
        assert proxy.cuts >= 5
    times = Counter(number for _, number in notes.read())
    assert len(times) == SAMPLES
    if mode == "stream":
        # A stream that was cut off is begun again with what had not come yet, scored or not.
        assert sum(times.values()) - SAMPLES <= 5 * 4 * 256
    else:
        # A request that is sent again is answered from memory.
        assert max(times.values()) == 1


def test_a_server_that_stays_away(numbered_server: Process, notes: Notes) -> None:
    def kill() -> None:
        notes.wait_for(3000)
        numbered_server.kill()

    async def ask() -> list[float | RewardError]:
        async with AsyncRewardClient(numbered_server.url, retries=1, timeout=10) as client:
            return await by_batch(client)

    thread = threading.Thread(target=kill)
    thread.start()
    found = asyncio.run(ask())
    thread.join()
    assert 0 < failures(found) < SAMPLES
