"""Workers, servers and connections that really die in the middle of 10,000 samples, and what the client then has.

A sample's score is its own number, so an answer that went to another would show; the reward notes each call.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon import AsyncRewardClient, Request, Turn
from guerdon.errors import RewardError
from support.served import Process, guerdon_serve, running

SAMPLES = 10_000
REWARD = """
import os
import time
from pathlib import Path

NOTES = Path(__file__).with_name("notes.txt")


def numbered(response):
    with open(NOTES, "ab", buffering=0) as notes:
        notes.write(f"{os.getpid()} {response}\\n".encode())
    time.sleep(0.0001)
    return float(response)
"""


class Notes:
    """What the reward noted: the process and the sample of each call."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "notes.txt"
        self._path.touch()

    def read(self) -> list[tuple[int, int]]:
        lines = self._path.read_text(encoding="ascii").split("\n")[:-1]
        return [(int(pid), int(number)) for pid, number in map(str.split, lines)]

    def wait_for(self, count: int, seconds: float = 60) -> None:
        """Until so many calls have been made."""
        end = time.monotonic() + seconds
        while self._path.read_bytes().count(b"\n") < count:
            assert time.monotonic() < end, f"only {len(self.read())} calls"
            time.sleep(0.005)


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
        self._server.close()
        self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*tasks, return_exceptions=True)

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


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    (tmp_path / "chaos.py").write_text(REWARD, encoding="utf-8")
    return Notes(tmp_path)


@pytest.fixture
def server(tmp_path: Path, notes: Notes) -> Iterator[Process]:
    made = guerdon_serve("chaos.py::numbered", "--workers", "2", log=tmp_path / "log.txt", folder=tmp_path)
    with running(made) as process:
        yield process


async def by_batch(client: AsyncRewardClient) -> list[float | RewardError]:
    responses = await client.batch_score(requests(), on_error="return")
    return [r if isinstance(r, RewardError) else r.reward for r in responses]


async def by_stream(client: AsyncRewardClient) -> list[float | RewardError]:
    rows = ({"messages": [{"role": "assistant", "content": str(i)}], "id": i} for i in range(SAMPLES))
    found: list[float | RewardError] = []
    async for result in client.stream_scores(rows):
        found.append(RewardError(str(result.error)) if result.score is None else result.score)
    return found


async def by_score(client: AsyncRewardClient) -> list[float | RewardError]:
    async def one(request: Request) -> float | RewardError:
        try:
            return (await client.score(request)).reward
        except RewardError as error:
            return error

    return await asyncio.gather(*map(one, requests()))


async def by_socket(client: AsyncRewardClient) -> list[float | RewardError]:
    await client.connect_websocket()
    return await by_score(client)


def requests() -> list[Request]:
    return [Request(turns=[Turn(role="assistant", content=str(i))]) for i in range(SAMPLES)]


WAYS = {"batch": by_batch, "stream": by_stream, "score": by_score, "socket": by_socket}


def scored_through(port: int, way: str, disturb: Callable[[], None]) -> list[float | RewardError]:
    """What the client has for every sample, while something happens beside it."""
    raised: list[BaseException] = []

    def beside() -> None:
        try:
            disturb()
        except BaseException as error:
            raised.append(error)

    async def ask() -> list[float | RewardError]:
        url = f"http://127.0.0.1:{port}"
        async with AsyncRewardClient(url, retries=8, timeout=60) as client:
            return await asyncio.wait_for(WAYS[way](client), 120)

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        found = asyncio.run(ask())
    finally:
        thread.join()
    assert raised == []
    return found


def failures(found: list[float | RewardError]) -> int:
    """How many samples are reported as failed; every other has its own score, and none is missing."""
    assert len(found) == SAMPLES
    wrong = [(i, value) for i, value in enumerate(found) if not isinstance(value, RewardError) and value != i]
    assert wrong == []
    return sum(isinstance(value, RewardError) for value in found)


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_worker(server: Process, notes: Notes, way: str) -> None:
    killed: list[int] = []

    def kill() -> None:
        for count in (1000, 3000, 5000, 7000):
            notes.wait_for(count)
            pid, _ = notes.read()[-1]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    found = scored_through(server.port, way, kill)
    assert len(killed) >= 3
    # One sample for each may be blamed for the death of the process that ran it.
    failed = failures(found)
    assert failed <= len(killed)
    times = Counter(number for _, number in notes.read())
    assert len(times) >= SAMPLES - failed
    # What a dead worker had in hand and had not answered runs again, and nothing else does.
    assert max(times.values()) <= 3
    assert sum(times.values()) - SAMPLES <= len(killed) * 512


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_comes_back(server: Process, notes: Notes, way: str, number: signal.Signals) -> None:
    def restart() -> None:
        notes.wait_for(3000)
        server.kill(number)
        assert server.status("/health/live") is None
        server.start()

    assert failures(scored_through(server.port, way, restart)) == 0
    times = Counter(number for _, number in notes.read())
    assert len(times) == SAMPLES
    if number == signal.SIGTERM:
        # What it had taken it finished and answered; the rest was for the next one.
        assert max(times.values()) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_network_that_breaks(server: Process, notes: Notes, way: str) -> None:
    with Proxy(server.port) as proxy:

        def cut() -> None:
            for count in range(1000, 10_000, 2000):
                notes.wait_for(count)
                proxy.cut()

        assert failures(scored_through(proxy.port, way, cut)) == 0
        assert proxy.cuts >= 5
    times = Counter(number for _, number in notes.read())
    assert len(times) == SAMPLES
    if way == "stream":
        # A stream that was cut off is begun again with what had not come yet, scored or not.
        assert sum(times.values()) - SAMPLES <= 5 * 4 * 256
    else:
        # A request that is sent again is answered from memory.
        assert max(times.values()) == 1


def test_a_server_that_stays_away(server: Process, notes: Notes) -> None:
    def kill() -> None:
        notes.wait_for(3000)
        server.kill()

    async def ask() -> list[float | RewardError]:
        async with AsyncRewardClient(server.url, retries=1, timeout=10) as client:
            return await by_batch(client)

    thread = threading.Thread(target=kill)
    thread.start()
    found = asyncio.run(ask())
    thread.join()
    assert 0 < failures(found) < SAMPLES
