"""A server that is told to stop: what is in flight is finished, the rest is told so, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import socket
import subprocess
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from guerdon.serve.http.server import stop_accepting
from support.command_work import PATIENCE, Caller, Later, Serve, Server, ask, sample, until


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_flight_is_finished(serve: Serve, number: signal.Signals) -> None:
    server = serve("rewards.py::held")
    idle = Caller(server)
    assert idle.ask("GET", "/health/ready")[0] == 200
    asked = Later(ask, server, "POST", "/v1/score", sample("a"))
    until(lambda: server.started("a"))

    server.signal(number)
    until(server.refuses_connections)
    status, body, headers = idle.score("b")
    assert (status, body["error"]["kind"], headers["connection"]) == (503, "draining", "close")
    assert int(headers["retry-after"]) > 0
    server.says("Stopping: 1 request in flight, waiting up to 30 s")

    server.go()
    status, body = asked.result()
    assert (status, body["score"]) == (200, 1.0)
    assert server.ended() == 0
    assert "Stopped: 1 request finished\n" in server.said
    assert not server.started("b")


def test_what_is_not_done_in_time_is_answered_503(serve: Serve) -> None:
    server = serve("rewards.py::held", "--drain", "300ms", "--timeout", "60")
    asked = Later(lambda: Caller(server).score("a"))
    waiting = Later(lambda: Caller(server).score("b"))
    until(lambda: server.started("a") or server.started("b"))
    stalled = begun_upload(server)
    server.signal()
    for status, body, headers in (
        asked.result(),
        waiting.result(),
        (*answer_of(stalled), {"retry-after": "1"}),
    ):
        assert (status, body["error"]["kind"], headers["retry-after"]) == (503, "draining", "1")
    assert server.ended() == 0
    assert "Stopped: 0 requests finished, 3 refused\n" in server.said


def begun_upload(server: Server) -> socket.socket:
    """A connection over which the first half of a request has been sent."""
    body = json.dumps(sample("up")).encode()
    connection = socket.create_connection(server.address, timeout=PATIENCE)
    head = f"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(100).startswith(b"HTTP/1.1 100")
    connection.sendall(body[:10])
    return connection


def finish_upload(connection: socket.socket) -> None:
    connection.sendall(json.dumps(sample("up")).encode()[10:])


def answer_of(connection: socket.socket) -> tuple[int, Any]:
    response = http.client.HTTPResponse(connection)
    response.begin()
    with connection:
        return response.status, json.loads(response.read())


def test_a_body_that_is_on_its_way_is_waited_for(serve: Serve) -> None:
    server = serve("rewards.py::length")
    connection = begun_upload(server)
    server.signal()
    until(server.refuses_connections)
    finish_upload(connection)
    status, body = answer_of(connection)
    assert (status, body["score"]) == (200, 0.2)
    assert server.ended() == 0


def socket_to(server: Server, path: str = "/v1/ws") -> ClientConnection:
    return connect(server.url.replace("http", "ws") + path, open_timeout=PATIENCE)


def test_a_socket_is_answered_and_then_closed_with_a_reason(serve: Serve) -> None:
    server = serve("rewards.py::held")
    with socket_to(server) as conversation:
        conversation.send(json.dumps({"n": 7, "sample": sample("a")}))
        until(lambda: server.started("a"))
        server.signal()
        until(server.refuses_connections)
        # Too late, and more of them than fit into the buffers between the two.
        late = Later(
            lambda: [conversation.send(json.dumps({"n": 8, "sample": sample("b" * 9000)})) for _ in range(99)]
        )
        server.go()
        answer = json.loads(conversation.recv(PATIENCE))
        assert (answer["n"], answer["result"]["score"]) == (7, 1.0)
        with pytest.raises(ConnectionClosed) as closed:
            conversation.recv(PATIENCE)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "the server is stopping")
        with contextlib.suppress(ConnectionClosed):  # the last of them came after the end
            late.result()
    assert server.ended() == 0
    assert "Stopped: 1 request finished, 1 socket closed" in server.said


@pytest.mark.sample(1, seconds=3)
@pytest.mark.parametrize(("path", "name"), [("/v1/ws", "n"), ("/ws", "id")])
def test_a_message_that_is_not_done_in_time_is_answered_by_its_number(
    serve: Serve, path: str, name: str
) -> None:
    server = serve("rewards.py::held", "--drain", "0", "--timeout", "60")
    adaptive = {"turns": [{"role": "assistant", "content": "a"}], "metadata": {}, "id": 7}
    with socket_to(server, path) as conversation:
        conversation.send(json.dumps({"n": 7, "sample": sample("a")} if name == "n" else adaptive))
        until(lambda: server.started("a"))
        server.signal()
        answer = json.loads(conversation.recv(PATIENCE))
        assert (answer[name], answer["error"]["kind"]) == (7, "draining")
    assert server.ended() == 0


def test_a_second_ctrl_c_ends_it_at_once(serve: Serve) -> None:
    server = serve("rewards.py::held", "--timeout", "60")
    asked = Later(ask, server, "POST", "/v1/score", sample("a"))
    until(lambda: server.started("a"))
    workers = children(server.process.pid)
    assert workers
    server.signal(signal.SIGINT)
    server.says("Ctrl-C stops at once")
    server.signal(signal.SIGINT)
    assert server.ended() == 130
    assert server.said.endswith("Interrupted\n")
    until(lambda: not any(is_running(pid) for pid in workers), "the end of the workers")
    with pytest.raises((http.client.HTTPException, OSError, AssertionError)):
        assert asked.result()[0] == 200


def test_another_sigterm_changes_nothing(serve: Serve) -> None:
    server = serve("rewards.py::held")
    asked = Later(ask, server, "POST", "/v1/score", sample("a"))
    until(lambda: server.started("a"))
    server.signal()
    server.says("Stopping")
    server.signal()
    server.go()
    assert asked.result()[0] == 200
    assert server.ended() == 0


def test_a_reward_server_cleans_up(serve: Serve) -> None:
    server = serve("rewards.py::Tidy")
    assert ask(server, "GET", "/info")[1]["name"] == "tidy"
    server.signal()
    assert server.ended() == 0
    assert (server.folder / "clean").exists()


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    return [child for child, (parent, _) in processes().items() if parent == pid]


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended, whoever is to take note of its end."""
    return not processes().get(pid, (0, "Z"))[1].startswith("Z")


def processes() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return {int(pid): (int(parent), state) for pid, parent, state, *_ in rows}


def test_a_connection_accepted_as_the_server_stops_is_served() -> None:
    async def main() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.sendall(b"served\n")
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # the loop has accepted it now, and has made no transport
            await stop_accepting([server])
            client.setblocking(False)
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 100), 10)

    assert asyncio.run(main()) == b"served\n"
