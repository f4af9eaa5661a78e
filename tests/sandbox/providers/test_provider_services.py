"""SandboxFusion, Piston and E2B: what is asked of them, and what their answers mean."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.sandbox.execution import Execution
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import E2B, Piston, Provider, Retries, SandboxFusion, provider_of
from support.provider_services import (
    E2BService,
    FusionService,
    Handler,
    PistonService,
    Service,
    cut,
    drop,
    served,
    status,
)

QUICK = Retries(attempts=3, first_wait_s=0.01)
UPPER = "import sys\nprint(sys.stdin.read().strip().upper(), open('data/x.txt').read(), sys.argv[1:])"


def made(service: Service) -> Provider:
    if isinstance(service, FusionService):
        return SandboxFusion(service.address, retries=QUICK)
    if isinstance(service, PistonService):
        return Piston(service.address, retries=QUICK)
    return E2B(service.address, sandbox_address=service.address, api_key="e2b_secret", retries=QUICK)


@pytest.fixture(params=[FusionService, PistonService, E2BService], ids=["fusion", "piston", "e2b"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with served(request.param()) as service:
        yield service


@pytest.fixture
def provider(service: Service) -> Iterator[Provider]:
    with made(service) as provider:
        yield provider


@pytest.fixture
def fusion() -> Iterator[tuple[FusionService, SandboxFusion]]:
    with served(FusionService()) as service, SandboxFusion(service.address, retries=QUICK) as provider:
        yield service, provider


@pytest.fixture
def piston() -> Iterator[tuple[PistonService, Piston]]:
    with served(PistonService()) as service, Piston(service.address, retries=QUICK) as provider:
        yield service, provider


@pytest.fixture
def e2b() -> Iterator[tuple[E2BService, E2B]]:
    with served(E2BService()) as service, made(service) as provider:
        yield service, provider


def test_a_program_with_input_and_files(provider: Provider) -> None:
    arguments = () if provider.name == "SandboxFusion" else ("-a", "b c")
    done = provider.run(UPPER, stdin="grün\n", files={"data/x.txt": b"file"}, arguments=arguments)
    assert (done.status, done.exit_code, done.stderr) == ("ok", 0, "")
    assert done.stdout == f"GRÜN file {list(arguments)}\n"
    assert done.tier == "remote"
    assert 0 < done.wall_s < 5


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("", ("ok", 0)),
        ("import sys; sys.exit(3)", ("error", 3)),
        ("raise ValueError('x')", ("error", 1)),
        ("import time; time.sleep(20)", ("timeout", None)),
        ("while True: pass", ("timeout", None)),
    ],
)
def test_how_programs_end(provider: Provider, program: str, expected: tuple[str, int | None]) -> None:
    done = provider.run(program, limits=Limits(wall_s=0.6, cpu_s=0.5))
    assert (done.status, done.exit_code) == expected
    if "ValueError" in program:
        assert done.stderr.endswith("ValueError: x\n")


def test_output_without_end(provider: Provider) -> None:
    done = provider.run("while True: print('x' * 1000)", limits=Limits(wall_s=0.5, cpu_s=2, output_kb=50))
    assert done.status in ("output_limit", "timeout")
    assert len(done.stdout) <= 50 << 10


def test_output_over_the_limit(provider: Provider) -> None:
    done = provider.run("print('x' * 60_000)", limits=Limits(output_kb=50))
    assert done.status == "output_limit"
    assert done.stdout == "x" * (50 << 10)
    assert provider.run("print('x' * 60_000)", limits=Limits(output_kb=60)).status == "ok"


def test_many_threads_at_once(provider: Provider) -> None:
    answers: dict[int, Execution] = {}

    def ask(number: int) -> None:
        answers[number] = provider.run(f"print({number} * 2)")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: done.stdout for number, done in answers.items()} == {n: f"{n * 2}\n" for n in range(8)}


@pytest.mark.parametrize("fault", [status(503), status(500), drop, cut], ids=["503", "500", "drop", "cut"])
def test_a_failure_that_passes_is_not_seen(service: Service, provider: Provider, fault: object) -> None:
    service.faults.append(fault)  # type: ignore[arg-type]
    assert provider.run("print(1)").stdout == "1\n"


def test_a_closed_provider_is_unavailable(service: Service) -> None:
    provider = made(service)
    provider.close()
    done = provider.run("print(1)")
    assert done.status == "unavailable"
    assert "was closed" in done.detail
    assert service.sent == []


def test_unknown_languages_and_what_is_no_text(service: Service, provider: Provider) -> None:
    done = provider.run("x", language="cobol")
    assert done.status == "unavailable"
    assert "runs no cobol: it runs python" in done.detail
    assert provider.run("print('\udc80')").status == "error"
    assert service.sent == []


@pytest.mark.parametrize("path", ["", "/etc/x", "../x", "a/../../x", "a\0b", "a\nb"])
def test_files_stay_in_the_folder(provider: Provider, path: str) -> None:
    with pytest.raises(InputError):
        provider.run("print(1)", files={path: b""})


def test_a_file_with_the_name_of_the_program(provider: Provider) -> None:
    done = provider.run("print(open('main.py').read())", files={"main.py": b"mine"})
    if provider.name != "SandboxFusion":  # which names the program by chance
        assert done.stdout == "mine\n"


# SandboxFusion


def test_fusion_asks_in_the_services_own_units(fusion: tuple[FusionService, SandboxFusion]) -> None:
    service, provider = fusion
    service.canned = {"status": "Success", "run_result": {"status": "Finished", "return_code": 0}}
    limits = Limits(wall_s=3.5, cpu_s=1, memory_mb=300)
    assert provider.run("int main(){}", language="c++", stdin="7", files={"a/b": b"\xff"}, limits=limits).ok
    assert service.sent[0].json() == {
        "code": "int main(){}",
        "language": "cpp",
        "stdin": "7",
        "files": {"a/b": "/w=="},
        "fetch_files": [],
        "compile_timeout": 30.0,
        "run_timeout": 3.5,
        "memory_limit_MB": 300,
    }
    provider.run("1", language="node", limits=limits)
    request = service.sent[1].json()
    assert (request["language"], request["memory_limit_MB"]) == ("nodejs", -1)


def finished(**more: Any) -> dict[str, Any]:
    return {"status": "Finished", "return_code": 0, "stdout": "", "stderr": "", **more}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"status": "Success", "run_result": finished(stdout="4\n", execution_time=0.25)},
            {"status": "ok", "exit_code": 0, "stdout": "4\n", "wall_s": 0.25},
        ),
        (
            {"status": "Success", "run_result": finished(cpu_time=0.5, stdout="\ud800é")},
            {"status": "ok", "cpu_s": 0.5, "stdout": "\ufffdé"},
        ),
        (
            {"status": "Failed", "run_result": finished(return_code=1, stderr="a\nMemoryError\n")},
            {"status": "memory_limit", "exit_code": 1},
        ),
        (
            {"status": "Failed", "run_result": finished(return_code=-11)},
            {"status": "killed", "exit_code": None},
        ),
        (
            {"status": "Failed", "run_result": finished(return_code=137)},
            {"status": "error", "exit_code": 137},
        ),
        (
            {"status": "Failed", "run_result": {"status": "TimeLimitExceeded", "stdout": "so far"}},
            {"status": "timeout", "stdout": "so far", "exit_code": None},
        ),
        (
            {"status": "Success", "run_result": finished(stdout="x" * (1 << 20))},
            {"status": "output_limit", "detail": "1024 KiB of output or more"},
        ),
        (
            {
                "status": "Failed",
                "compile_result": finished(return_code=1, stderr="no ;"),
                "run_result": None,
            },
            {"status": "error", "exit_code": 1, "stderr": "no ;", "detail": "the program does not compile"},
        ),
        (
            {"status": "Failed", "compile_result": {"status": "TimeLimitExceeded"}},
            {"status": "error", "exit_code": None, "detail": "the compiler overran its time"},
        ),
        (
            {"status": "SandboxError", "message": "exception on running code print(1)\nno space left"},
            {"status": "unavailable"},
        ),
        ({"status": "Success"}, {"status": "unavailable"}),
        ({"status": "Success", "run_result": "fine"}, {"status": "unavailable"}),
        ({"status": "Success", "run_result": finished(stdout=7)}, {"status": "unavailable"}),
        ({"status": "Success", "run_result": finished(return_code=None)}, {"status": "unavailable"}),
        ({"status": "Success", "run_result": {"status": "Error", "stderr": "x"}}, {"status": "unavailable"}),
        ({"status": "Failed", "compile_result": finished()}, {"status": "unavailable"}),
    ],
)
def test_what_fusion_answers(
    fusion: tuple[FusionService, SandboxFusion], answer: dict[str, Any], expected: dict[str, Any]
) -> None:
    service, provider = fusion
    service.canned = answer
    done = asdict(provider.run("print(1)"))
    assert {name: done[name] for name in expected} == expected
    if answer["status"] == "SandboxError":
        assert done["detail"].endswith("could not run the program: no space left")
        assert len(service.sent) == 2


def test_what_fusion_cannot_take(fusion: tuple[FusionService, SandboxFusion]) -> None:
    service, provider = fusion
    assert "passes no arguments" in provider.run("print(1)", arguments=("x",)).detail
    assert "UTF-8 input only" in provider.run("print(1)", stdin=b"\xff").detail
    assert service.sent == []


# Piston


def test_piston_takes_the_newest_version_and_asks_in_its_units(piston: tuple[PistonService, Piston]) -> None:
    service, provider = piston
    limits = Limits(wall_s=3.5, cpu_s=1.25, memory_mb=2)
    provider.run("print(1)", stdin="in", files={"d": b"\xff"}, arguments=("-x",), limits=limits)
    provider.run("print(1)", limits=limits)
    assert [sent.path for sent in service.sent] == ["/api/v2/runtimes", *["/api/v2/execute"] * 2]
    assert service.sent[1].json() == {
        "language": "python",
        "version": "3.12.0",
        "files": [
            {"name": "main.py", "content": "print(1)", "encoding": "utf8"},
            {"name": "d", "content": "/w==", "encoding": "base64"},
        ],
        "stdin": "in",
        "args": ["-x"],
        "run_timeout": 3500,
        "run_cpu_time": 1250,
        "run_memory_limit": 2097152,
    }


def test_piston_with_a_path_and_a_key() -> None:
    with served(PistonService()) as service:
        with Piston(service.address + "/api/v2/", api_key="k1", retries=QUICK) as provider:
            assert provider.run("print(1)").stdout == "1\n"
        assert {sent.headers["authorization"] for sent in service.sent} == {"k1"}


def stage(**more: Any) -> dict[str, Any]:
    return {"code": 0, "signal": None, "stdout": "", "stderr": "", "output": "", "status": None, **more}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"run": stage(stdout="4\n", cpu_time=70, wall_time=90, memory=3 << 20)},
            {
                "status": "ok",
                "exit_code": 0,
                "stdout": "4\n",
                "cpu_s": 0.07,
                "wall_s": 0.09,
                "memory_mb": 3.0,
            },
        ),
        ({"run": stage(code=2, status="RE")}, {"status": "error", "exit_code": 2}),
        ({"run": stage(code=None, signal="SIGKILL", status="TO")}, {"status": "timeout"}),
        (
            {"run": stage(code=None, signal="SIGKILL", status="OL", stdout="x" * 1_000_000)},
            {"status": "output_limit", "detail": "more than 1024 KiB of output"},
        ),
        (
            {"run": stage(code=None, signal="SIGKILL", status="EL", stderr="x" * (1 << 20))},
            {"status": "output_limit"},
        ),
        (
            {"run": stage(code=None, signal="SIGKILL", status="OL", stdout="x" * 1024)},
            {"status": "unavailable"},
        ),
        ({"run": stage(code=None, signal="SIGSEGV", status="SG")}, {"status": "killed", "exit_code": None}),
        (
            {"run": stage(code=None, signal="SIGKILL", status="SG", memory=512 << 20)},
            {"status": "memory_limit"},
        ),
        ({"run": stage(code=None, signal="SIGKILL", status="SG", memory=5 << 20)}, {"status": "killed"}),
        (
            {"run": {"code": None, "signal": "SIGKILL", "stdout": "", "stderr": ""}},
            {
                "status": "killed",
                "detail": "ended by SIGKILL (time, memory or PISTON_OUTPUT_MAX_SIZE: this Piston does not say)",
            },
        ),
        (
            {"compile": stage(code=1, stderr="no ;"), "run": stage(code=1, stderr="no ;")},
            {"status": "error", "exit_code": 1, "stderr": "no ;", "detail": "the program does not compile"},
        ),
        ({"compile": stage(), "run": stage(stdout="1")}, {"status": "ok", "stdout": "1"}),
        ({"run": stage(code=None, status="XX", message="box")}, {"status": "unavailable"}),
        ({"compile": stage(code=None, status="XX")}, {"status": "unavailable"}),
        ({"run": stage(code=None)}, {"status": "unavailable"}),
        ({"message": "Public access is over"}, {"status": "unavailable"}),
        ({"run": [1]}, {"status": "unavailable"}),
    ],
)
def test_what_piston_answers(
    piston: tuple[PistonService, Piston], answer: dict[str, Any], expected: dict[str, Any]
) -> None:
    service, provider = piston
    service.canned = answer
    done = asdict(provider.run("print(1)"))
    assert {name: done[name] for name in expected} == expected
    if "message" in answer:
        assert "Public access is over" in done["detail"]


def test_piston_says_which_of_its_settings_is_too_low(piston: tuple[PistonService, Piston]) -> None:
    service, provider = piston
    service.most_ms = 3000
    done = provider.run("print(1)", limits=Limits(wall_s=10))
    assert done.status == "unavailable"
    assert done.detail.endswith(
        "allows no run_timeout over 3000: start it with PISTON_RUN_TIMEOUT=10000 (in milliseconds) "
        "or use Limits(wall_s=3)"
    )
    assert provider.run("print(1)", limits=Limits(wall_s=3)).ok


def test_a_services_own_limit_of_output_is_no_verdict(
    piston: tuple[PistonService, Piston], fusion: tuple[FusionService, SandboxFusion]
) -> None:
    service, provider = piston
    service.output_max_size = 1024
    done = provider.run("print('x' * 2000)", limits=Limits(output_kb=200))
    assert done.status == "unavailable"
    assert "PISTON_OUTPUT_MAX_SIZE=204800 or use a lower Limits(output_kb=…)" in done.detail
    assert provider.run("print('x' * 1000)", limits=Limits(output_kb=200)).ok
    done = fusion[1].run("print('x' * 2_000_000)", limits=Limits(output_kb=4096))
    assert done.status == "unavailable"
    assert "keeps 1024 KiB of output: use Limits(output_kb=1024)" in done.detail


def test_piston_without_the_language_and_with_another_version(piston: tuple[PistonService, Piston]) -> None:
    service, provider = piston
    assert "has no rust: install it" in provider.run("x", language="rust").detail
    assert provider.run("print(1)").ok
    service.runtimes = [{"language": "python", "version": "3.13.1", "aliases": []}]
    assert provider.run("print(1)").status == "unavailable"
    assert provider.run("print(1)").ok
    service.faults.append(status(200, {"not": "a list"}))
    assert "lists no runtimes" in provider.run("x", language="go").detail


# E2B


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


# Names


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("piston", Piston),
        ("piston:http://host:2000", Piston),
        ("Sandbox-Fusion:https://host/path", SandboxFusion),
        ("sandbox_fusion:http://[::1]:8080", SandboxFusion),
        ("sandboxfusion", SandboxFusion),
    ],
)
def test_names_of_providers(text: str, kind: type[Provider]) -> None:
    provider = provider_of(text)
    assert type(provider) is kind
    assert provider_of(provider) is provider


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "docker",
            "no provider 'docker': write NAME or NAME:ADDRESS with a name of sandboxfusion, piston, e2b",
        ),
        ("http://host:2000", "no provider"),
        ("", "no provider ''"),
        ("piston:", "has no address: write piston:http://HOST:PORT"),
        ("piston:host:2000", "is no address"),
        ("piston:http://secret@host", "give a key as api_key"),
        (7, "a text or a Provider, not int"),
    ],
)
def test_names_that_are_none(text: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        provider_of(text)
    assert "secret" not in str(caught.value)


def test_keys_and_addresses_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    with pytest.raises(InputError, match="set E2B_API_KEY"):
        provider_of("e2b")
    monkeypatch.setenv("E2B_API_KEY", "e2b_secret")
    with served(E2BService()) as service:
        monkeypatch.setenv("E2B_SANDBOX_URL", service.address)
        with provider_of(f"e2b:{service.address}") as provider:
            assert provider.run("print(1)").stdout == "1\n"
    with served(PistonService()) as service:
        monkeypatch.setenv("PISTON_ENDPOINT", service.address)
        monkeypatch.setenv("PISTON_API_KEY", "k2")
        with provider_of("piston") as provider:
            assert provider.run("print(1)").stdout == "1\n"
        assert service.sent[0].headers["authorization"] == "k2"
    with served(FusionService()) as service:
        monkeypatch.setenv("SANDBOX_FUSION_ENDPOINT", service.address)
        monkeypatch.setenv("SANDBOX_FUSION_API_KEY", "k3")
        with provider_of("sandboxfusion") as provider:
            assert provider.run("print(1)").stdout == "1\n"
        assert service.sent[0].headers["authorization"] == "Bearer k3"
