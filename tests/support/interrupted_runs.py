"""Runs of 10,000 samples by a served reward, while something happens beside them.

A sample's score is its own number, so an answer that went to another would show; the reward notes each call.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """The notes of the reward that ``numbered_server`` serves."""
    (tmp_path / "numbered.py").write_text(REWARD, encoding="utf-8")
    return Notes(tmp_path)


@pytest.fixture
def numbered_server(tmp_path: Path, notes: Notes) -> Iterator[Process]:
    """A server of two workers that score a sample by its number."""
    made = guerdon_serve("numbered.py::numbered", "--workers", "2", log=tmp_path / "log.txt", folder=tmp_path)
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


MODES = {"batch": by_batch, "stream": by_stream, "score": by_score, "socket": by_socket}


def scored_through(port: int, mode: str, disturb: Callable[[], None]) -> list[float | RewardError]:
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
            return await asyncio.wait_for(MODES[mode](client), 120)

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
