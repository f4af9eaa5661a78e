"""Peers and servers for the tests of interoperation: each runs in a process and an environment of its own."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interop.environments import PEERS, PeerError, environment, python_of
from support.served import Process, free_port, guerdon_serve, running

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples" / "servers"
OURS = {"PYTHONPATH": str(HERE.parent.parent / "src"), "OMP_NUM_THREADS": "1"}
"""The environment of a peer's process that uses guerdon itself."""
RUN_SECONDS = 180


@dataclass(frozen=True)
class Case:
    """A completion, its scary letter, and how often that occurs in it."""

    completion: str
    letter: str
    count: int

    @property
    def reward(self) -> float:
        return float(self.count == 0)

    @property
    def turns(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": "Tell me."}, {"role": "assistant", "content": self.completion}]


def cases(count: int = 500) -> list[Case]:
    """The same completions every time: empty ones, long ones, every alphabet, what JSON escapes."""
    source = random.Random(7)
    plain = "abcdefghijklmnopqrstuvwxyz ABC0123456789.,"
    awkward = "\n\t\"\\'{}[]<>&%$\u00e4\u00df\u03a9\u0436\u4e2d\U0001f600\x7f\u2028"
    alphabet = plain + awkward
    made = []
    for i in range(count):
        length = source.choice([0, 1, 5, 60, 300, 2000]) if i % 50 else 20_000
        # Half of the alphabet each time, so that a long completion may lack its letter, too.
        some = source.sample(alphabet, len(alphabet) // 2)
        letters = [source.choice(some) for _ in range(length)]
        letter = source.choice(alphabet)
        made.append(Case("".join(letters), letter, sum(c == letter for c in letters)))
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need an environment of their own, before ``-m`` chooses by marks."""
    for item in items:
        if "interpreter" in getattr(item, "fixturenames", ()):
            item.add_marker("peers")


@pytest.fixture(scope="session")
def samples() -> list[Case]:
    found = cases()
    assert 100 < sum(case.reward for case in found) < 400
    return found


Interpreter = Callable[[str], Path]


@pytest.fixture(scope="session")
def interpreter() -> Interpreter:
    """The interpreter of a peer's environment; the test is skipped where that cannot be made."""

    def of(peer: str) -> Path:
        try:
            return python_of(peer)
        except PeerError as error:
            pytest.skip(str(error))

    return of


Client = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def client(interpreter: Interpreter) -> Client:
    """Runs a peer's client on lines of JSON: ``client("adaptive", "adaptive_client.py", rows, url, "ws")``.

    Further keywords are environment variables.
    """

    def run(peer: str, script: str, rows: Sequence[Any], *arguments: str, **env: str) -> list[Any]:
        done = subprocess.run(
            [str(interpreter(peer)), str(PEERS / script), *arguments],
            input="".join(json.dumps(row) + "\n" for row in rows),
            env={**environment(), **env},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    return run


PeerServer = Callable[..., Process]


@pytest.fixture(scope="module")
def peer_server(interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerServer]:
    """Starts a peer's server: ``peer_server("reward_kit", "reward_kit_server.py", "app")``; once for each."""
    started: dict[tuple[str, ...], Process] = {}

    def start(peer: str, script: str, *arguments: str, **env: str) -> Process:
        key = (peer, script, *arguments, *env.values())
        if key not in started:
            port = free_port()
            command = [str(interpreter(peer)), str(PEERS / script), str(port), *arguments]
            log = tmp_path_factory.mktemp("peer") / "log.txt"
            process = Process(command, port, log, env={**environment(), **env})
            process.start()
            started[key] = process
        return started[key]

    yield start
    for process in started.values():
        process.stop()


@pytest.fixture(scope="module")
def our_class(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The scary letter as a RewardServer, served by ``guerdon serve``."""
    reward = f"{EXAMPLES / 'scary_letter.py'}::ScaryLetterServer"
    with running(guerdon_serve(reward, log=tmp_path_factory.mktemp("ours") / "log.txt")) as process:
        yield process


@pytest.fixture(scope="module")
def our_function(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The scary letter as a function, served by ``guerdon serve``."""
    reward = f"{HERE / 'rewards.py'}::scary"
    with running(guerdon_serve(reward, log=tmp_path_factory.mktemp("ours") / "log.txt")) as process:
        yield process
