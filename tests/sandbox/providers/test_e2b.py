"""E2B: what it is asked, and what its answers mean."""

from __future__ import annotations

import base64
import json
import threading
import time
from dataclasses import asdict
from typing import Any

import pytest

from guerdon.sandbox.execution import Execution
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import E2B
from support.provider_services import (
    E2BService,
    Handler,
    drop,
    served,
    status,
)


def test_e2b_makes_a_sandbox_for_each_program_and_kills_it(e2b: tuple[E2BService, E2B]) -> None:
    service, provider = e2b
    assert provider.run("open('left', 'w').write('x')").ok
    assert provider.run("import os; print(os.listdir())").stdout == "['main.py']\n"
    provider.run("import sys; sys.exit(1)")
    assert service.made == ["sandbox0", "sandbox1", "sandbox2"]
    assert service.folders == {}
    first = service.sent[0]
    assert first.json() == {
        "templateID": "code-interpreter-v1",
        "timeout": 100,
        "allow_internet_access": False,
        "metadata": {"made-by": "guerdon"},
    }
    keys = [sent.headers["idempotency-key"] for sent in service.sent if sent.path == "/v2/sandboxes"]
    assert len(set(keys)) == 3


def test_e2b_sends_the_key_to_the_api_only(e2b: tuple[E2BService, E2B]) -> None:
    service, provider = e2b
    provider.run("print(1)")
    with_key = {sent.path for sent in service.sent if "e2b_secret" in json.dumps(sent.headers)}
    assert with_key == {"/v2/sandboxes", "/sandboxes/sandbox0"}


def test_e2b_kills_what_runs_when_it_is_closed(e2b: tuple[E2BService, E2B]) -> None:
    service, provider = e2b
    seen: list[Execution] = []
    limits = Limits(wall_s=3)
    thread = threading.Thread(
        target=lambda: seen.append(provider.run("import time; time.sleep(9)", limits=limits))
    )
    thread.start()
    while len(service.sent) < 3:
        time.sleep(0.01)
    provider.close()
    assert service.folders == {}
    thread.join()
    assert seen[0].status == "unavailable"
    assert provider.run("print(1)").status == "unavailable"


def test_e2b_kills_what_is_just_being_made_when_it_is_closed(e2b: tuple[E2BService, E2B]) -> None:
    service, provider = e2b
    asked = threading.Event()

    def late(handler: Handler) -> None:
        asked.set()
        time.sleep(0.3)
        service.answer(handler, service.sent[0])

    service.faults.append(late)
    seen: list[Execution] = []
    thread = threading.Thread(target=lambda: seen.append(provider.run("print(1)")))
    thread.start()
    asked.wait()
    provider.close()
    thread.join()
    assert service.made == ["sandbox0"]
    assert service.folders == {}
    assert seen[0].status == "unavailable"


def test_e2b_kills_the_sandbox_when_the_stream_breaks(e2b: tuple[E2BService, E2B]) -> None:
    service, provider = e2b
    service.faults.extend([lambda handler: service.answer(handler, service.sent[-1])] * 2)
    service.faults.append(drop)  # the program's stream; a fresh sandbox does the second attempt
    assert provider.run("print(1)").stdout == "1\n"
    assert len(service.made) == 2
    assert service.folders == {}


@pytest.mark.sample(1, seconds=8)
@pytest.mark.parametrize(
    ("program", "limits", "expected"),
    [
        ("while True: pass", Limits(cpu_s=0.5, wall_s=40), ("timeout", "over 0.5 s of processor")),
        ("import os; os.kill(os.getpid(), 9)", Limits(), ("killed", "ended by signal: killed")),
        ("x = bytearray(1 << 30)", Limits(memory_mb=200), ("memory_limit", "over 200 MiB")),
    ],
)
def test_e2b_limits(
    e2b: tuple[E2BService, E2B], program: str, limits: Limits, expected: tuple[str, str]
) -> None:
    done = e2b[1].run(program, limits=limits)
    assert (done.status, done.detail) == expected


def test_e2b_takes_any_input(e2b: tuple[E2BService, E2B]) -> None:
    done = e2b[1].run("import sys; print(sys.stdin.buffer.read())", stdin=b"\xff\0\r\n--x")
    assert done.stdout == "b'\\xff\\x00\\r\\n--x'\n"


def test_e2b_other_languages(e2b: tuple[E2BService, E2B]) -> None:
    assert (
        e2b[1].run("read x; echo $x $1", language="bash", stdin="7\n", arguments=("a;b",)).stdout == "7 a;b\n"
    )
    for language, tool in (("c", "gcc"), ("node", "node")):
        done = e2b[1].run("x", language=language)
        assert done.status == "unavailable"
        assert f"has no {tool}: choose one that has it" in done.detail


def stream(*messages: tuple[int, Any]) -> bytes:
    framed = b""
    for flags, message in messages:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        framed += bytes([flags]) + len(data).to_bytes(4, "big") + data
    return framed


def ended(**end: Any) -> tuple[int, Any]:
    return 0, {"event": {"end": end}}


OUT = (0, {"event": {"data": {"stdout": base64.b64encode(b"hi").decode()}}})


@pytest.mark.sample(5, seconds=1)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (stream(OUT, ended(exited=True), (2, {})), {"status": "ok", "stdout": "hi", "exit_code": 0}),
        (stream((0, {"event": {"keepalive": {}}}), OUT, ended(exited=True, exitCode=4)), {"status": "error"}),
        (
            stream(ended(exitCode=-1, status="signal: aborted (core dumped)")),
            {"detail": "ended by signal: aborted"},
        ),
        (stream(OUT, (2, {"error": {"code": "deadline_exceeded"}})), {"status": "timeout", "stdout": "hi"}),
        (stream((2, {"error": {"code": "internal", "message": "no cgroup"}})), {"status": "unavailable"}),
        (stream(OUT, (2, {})), {"status": "unavailable"}),
        (stream(OUT), {"status": "unavailable"}),
        (stream((0, b"nonsense")), {"status": "unavailable"}),
        (stream((0, b"[]")), {"status": "unavailable"}),
        (stream((1, {})), {"status": "unavailable"}),
        (b"\0\xff\xff\xff\xff", {"status": "unavailable"}),
        (stream((0, {"event": {"data": {"stdout": "%"}}})), {"status": "unavailable"}),
        (stream((0, {"event": {"data": {"stdout": 7}}})), {"status": "unavailable"}),
        (stream((0, {"event": "start"})), {"status": "unavailable"}),
        (b"", {"status": "unavailable"}),
    ],
)
def test_streams_of_e2b(e2b: tuple[E2BService, E2B], body: bytes, expected: dict[str, Any]) -> None:
    service, provider = e2b
    usual = [lambda handler: service.answer(handler, service.sent[-1])]
    for _ in range(2):  # what breaks off is tried twice
        service.faults.extend([*usual * 2, status(200, body), *usual])
    done = asdict(provider.run("print(1)"))
    assert {name: done[name] for name in expected} == expected


def test_e2b_with_a_wrong_key() -> None:
    with served(E2BService()) as service:
        with E2B(service.address, sandbox_address=service.address, api_key="e2b_wrong") as provider:
            done = provider.run("print(1)")
        assert done.status == "unavailable"
        assert "(401): set E2B_API_KEY to a valid key" in done.detail
        assert "e2b_wrong" not in done.detail
        assert len(service.sent) == 1


@pytest.mark.parametrize("made", [{}, {"sandboxID": "../x"}, {"sandboxID": "a", "domain": "evil/"}])
def test_e2b_answers_that_name_no_sandbox(e2b: tuple[E2BService, E2B], made: dict[str, str]) -> None:
    service, provider = e2b
    service.faults.append(status(201, made))
    assert provider.run("print(1)").status == "unavailable"
