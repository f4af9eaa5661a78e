"""The journal over HTTP: what was asked, and the same scored again in place."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from websockets.sync.client import connect

from guerdon.serve.journal.reader import read_journal
from support.command_work import PATIENCE, Serve, ask, sample

ADAPTIVE = {"turns": [{"role": "assistant", "content": "abcd"}], "metadata": {}}


def test_recorded_requests_are_listed_and_scored_again_by_the_present_reward(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "serve" / "mine.py"
    file.write_text("def mine(response):\n    return len(response) / 10\n", encoding="utf-8")
    server = serve("mine.py::mine", "rewards.py::failing", "--journal", "j.db", "--reload")
    secret = {"Authorization": "Bearer s3cret", "X-Request-Id": "r-1"}
    assert ask(server, "POST", "/v1/score", sample("abc"), **secret)[1]["score"] == 0.3
    assert ask(server, "POST", "/score", ADAPTIVE)[1]["reward"] == 0.4
    assert ask(server, "POST", "/rewards/failing/v1/score", sample("abc"))[0] == 500
    with connect(server.url.replace("http", "ws") + "/v1/ws", open_timeout=PATIENCE) as conversation:
        conversation.send(json.dumps({"n": 7, "sample": sample("abcde")}))
        assert json.loads(conversation.recv(PATIENCE))["result"]["score"] == 0.5

    status, rows = ask(server, "GET", "/requests")
    assert status == 200
    assert [row["path"] for row in rows] == ["/v1/score", "/score", "/rewards/failing/v1/score", "/v1/ws"]
    assert rows[0]["id"] == "r-1"
    assert rows[0]["url"] == f"{server.url}/v1/score"
    assert json.loads(rows[1]["body"]) == ADAPTIVE
    assert "s3cret" not in json.dumps(rows)
    assert [row["path"] for row in ask(server, "GET", "/requests?last=1")[1]] == ["/v1/ws"]

    file.write_text("def mine(response):\n    return -len(response) / 10\n", encoding="utf-8")
    server.says("Reloaded: mine ")
    status, replays = ask(server, "POST", "/requests/replay_last/4")
    assert status == 200
    assert [(replay["status_code"], replay["request_id"]) for replay in replays] == [
        (status, row["id"]) for status, row in zip((200, 200, 500, 200), rows, strict=True)
    ]
    bodies = [json.loads(replay["body"]) for replay in replays]
    assert (bodies[0]["score"], bodies[1]["reward"], bodies[3]["result"]["score"]) == (-0.3, -0.4, -0.5)
    assert len(ask(server, "POST", "/requests/replay_last/2")[1]) == 2
    # Nothing of it is recorded anew.
    assert ask(server, "GET", "/requests")[1] == rows
    server.signal()
    assert server.ended() == 0
    recorded = list(read_journal(tmp_path / "serve" / "j.db"))
    assert [row.scores for row in recorded] == [[0.3], [0.4], ["exception"], [0.5]]


def test_nothing_is_sent_to_a_recorded_host(serve: Serve) -> None:
    server = serve("rewards.py::length", "--journal", "j.db")
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(PATIENCE)
        caught: list[object] = []
        host = f"127.0.0.1:{trap.getsockname()[1]}"
        watcher = threading.Thread(target=lambda: caught.append(trap.accept()[0].close()))
        watcher.start()
        assert ask(server, "POST", "/v1/score", sample("abc"), Host=host)[0] == 200
        (replay,) = ask(server, "POST", "/requests/replay_last/1")[1]
        assert replay["url"] == f"http://{host}/v1/score"
        assert json.loads(replay["body"])["score"] == 0.3
        assert not caught
        socket.create_connection(trap.getsockname(), timeout=PATIENCE).close()
        watcher.join(PATIENCE)
        assert len(caught) == 1


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("n", ["0", "1001", "x"])
def test_a_number_that_is_none_is_refused(serve: Serve, n: str) -> None:
    server = serve("rewards.py::length", "--journal", "j.db")
    status, body = ask(server, "POST", f"/requests/replay_last/{n}")
    assert (status, body["error"]["kind"]) == (422, "input")
    assert body["error"]["message"].startswith("path.n: ")


def test_a_key_is_needed_where_there_is_one(serve: Serve) -> None:
    server = serve("rewards.py::length", "--journal", "j.db", "--api-key", "s3cret")
    for method, path in (("GET", "/requests"), ("POST", "/requests/replay_last/1")):
        assert ask(server, method, path)[0] == 401
        assert ask(server, method, path, **{"X-Api-Key": "wrong"})[0] == 403
        assert ask(server, method, path, **{"X-Api-Key": "s3cret"}) == (200, [])
        assert ask(server, method, path, **{"X-Api-Key": "s3cret", "Host": "rewards.example"})[0] == 200


def test_without_a_key_a_name_that_leads_here_reads_nothing(serve: Serve) -> None:
    server = serve("rewards.py::length", "--journal", "j.db")
    assert ask(server, "GET", "/requests")[0] == 200
    assert ask(server, "GET", "/requests", Host="evil.example")[0] == 403


def test_without_a_journal_there_are_no_such_pages(serve: Serve) -> None:
    server = serve("rewards.py::length")
    assert ask(server, "GET", "/requests")[0] == 404
    assert ask(server, "POST", "/requests/replay_last/1")[0] == 404
