"""No client of the corpus stops the server, takes others' answers, or makes it hold more than it may."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from support.served import Process, free_port, running
from support.server_attacks import Bystander, ServerAttack, Target, attacks, forget_peak, peak_mb

ALL = attacks()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "rewards.py").write_text(
        "import time\n"
        "def length(response: str) -> float:\n    return float(len(response))\n"
        "def nap(response: str) -> float:\n    time.sleep(1)\n    return 1.0\n"
    )
    port = free_port()
    command = [sys.executable, "-m", "guerdon", "serve", "rewards.py::length", "nap=rewards.py::nap"]
    command += ["--port", str(port), "--max-buffered", "100MB"]
    with running(Process(command, port, folder / "log.txt", folder=folder)) as process:
        yield process


@pytest.mark.sample(15, seconds=2)
@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_an_attack_on_the_server_gets_nothing(server: Process, attack: ServerAttack) -> None:
    pid = server.popen.pid
    forget_peak(pid)
    before = peak_mb(pid)
    other = Bystander(server.port)
    with other.at_work():
        attack.run(Target(server.port))
    assert other.wrong == []
    assert other.answered > 0
    assert server.status("/health/ready", timeout=20) == 200
    assert peak_mb(pid) - before < attack.most_mb
    assert server.popen.poll() is None
    assert "Traceback" not in server.said()


def test_every_attack_says_what_it_does() -> None:
    assert all(attack.claim.endswith(".") for attack in ALL)
