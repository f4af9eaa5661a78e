"""--reload: a change is served without a request being refused, and one that does not load is not."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from support.command_work import PATIENCE, Caller, Later, Serve, Server, ask, sample, until
from support.marks import some_of


def score(server: Server) -> float:
    status, body = ask(server, "POST", "/v1/score", sample("abc"))
    assert status == 200, body
    found: float = body["score"]
    return found


def write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def put_in_place(file: Path, text: str) -> None:
    """As editors save: a new file takes the old one's name."""
    write(file.with_suffix(".new"), text)
    os.replace(file.with_suffix(".new"), file)


def put_after_removal(file: Path, text: str) -> None:
    file.rename(file.with_suffix(".py~"))
    write(file, text)


@pytest.mark.parametrize("save", some_of([write, put_in_place, put_after_removal], put_in_place, seconds=6))
def test_a_change_is_served_and_no_request_is_refused(
    serve: Serve, save: Callable[[Path, str], None], tmp_path: Path
) -> None:
    file = tmp_path / "serve" / "mine.py"
    write(file, "def mine(response):\n    return 1.0\n")
    server = serve("mine.py::mine", "--reload")
    caller, stop = Caller(server), threading.Event()

    def ask_all_the_time() -> list[float]:
        """Over a connection that is kept open, and over new ones."""
        seen = []
        while not stop.is_set():
            seen.append(caller.score("abc")[1]["score"])
            seen.append(score(server))
        return seen

    asking = Later(ask_all_the_time)
    save(file, "def mine(response):\n    return 0.25\n")
    server.says("Reloaded: mine ")
    until(lambda: score(server) == 0.25)
    stop.set()
    seen = asking.result()
    assert set(seen) == {1.0, 0.25}
    server.signal()
    assert server.ended() == 0


@pytest.mark.slow(seconds=10)
def test_what_does_not_load_is_told_and_the_server_goes_on(serve: Serve, tmp_path: Path) -> None:
    file, helper = tmp_path / "serve" / "mine.py", tmp_path / "serve" / "helper.py"
    write(helper, "SCORE = 1.0\n")
    write(file, "import helper\n\ndef mine(response):\n    return helper.SCORE\n")
    server = serve("mine.py::mine", "--reload")
    assert score(server) == 1.0
    write(helper, "SCORE = = 0.5\n")
    server.says("Not reloaded: helper.py, line 1: invalid syntax; the previous version keeps serving")
    assert score(server) == 1.0
    write(helper, "SCORE = 0.5\n")
    server.says("Reloaded: mine ")
    assert score(server) == 0.5
    write(file, "import another\n\ndef mine(response):\n    return another.SCORE\n")
    server.says("No module named 'another'")
    write(helper.with_name("another.py"), "SCORE = 0.25\n")
    write(file, "import another\n\ndef mine(response):\n    return another.SCORE / 1\n")
    until(lambda: score(server) == 0.25)
    assert "Traceback" not in server.said


def test_what_is_in_flight_is_answered_by_the_server_before(serve: Serve, tmp_path: Path) -> None:
    server = serve("rewards.py::held", "--reload", "--timeout", "60")
    file = tmp_path / "serve" / "rewards.py"
    asked = Later(ask, server, "POST", "/v1/score", sample("a"))
    with connect(server.url.replace("http", "ws") + "/v1/ws", open_timeout=PATIENCE) as conversation:
        conversation.send(json.dumps({"n": 7, "sample": sample("b")}))
        until(lambda: server.started("a") or server.started("b"))
        write(file, file.read_text(encoding="utf-8").replace("return 1.0\n", "return 0.75\n", 1))
        server.says("Reloaded: held ")
        server.go()
        assert json.loads(conversation.recv(PATIENCE))["result"]["score"] == 1.0
        with pytest.raises(ConnectionClosed) as closed:
            conversation.recv(PATIENCE)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
            1001,
            "the server was reloaded; connect again",
        )
    assert asked.result()[1]["score"] == 1.0
    assert score(server) == 0.75
    server.signal()
    assert server.ended() == 0


def test_a_reward_that_does_not_load_at_the_start_is_an_error_of_the_users(
    serve: Serve, tmp_path: Path
) -> None:
    write(tmp_path / "serve" / "mine.py", "def mine(response)\n")
    with pytest.raises(AssertionError, match=r"^Error: mine.py, line 1: expected ':'\n$"):
        serve("mine.py::mine", "--reload")


def test_ctrl_c_drains_and_a_second_one_does_not(serve: Serve) -> None:
    server = serve("rewards.py::held", "--reload", "--timeout", "60")
    Later(ask, server, "POST", "/v1/score", sample("a"))
    until(lambda: server.started("a"))
    server.signal(signal.SIGINT)
    server.says("Stopping: 1 request in flight")
    until(server.refuses_connections)
    server.signal(signal.SIGINT)
    assert server.ended() == 130


def test_a_server_whose_watcher_is_killed_ends(serve: Serve) -> None:
    server = serve("rewards.py::length", "--reload")
    assert score(server) == 0.3
    server.signal(signal.SIGKILL)
    until(server.refuses_connections)
