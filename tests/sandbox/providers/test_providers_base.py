"""What all providers do alike: SandboxFusion, Piston and E2B."""

from __future__ import annotations

import threading

import pytest

from guerdon.errors import InputError
from guerdon.sandbox.execution import Execution
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import Piston, Provider, SandboxFusion
from support.provider_services import (
    FusionService,
    PistonService,
    Service,
    cut,
    drop,
    provider_for,
    status,
)

UPPER = "import sys\nprint(sys.stdin.read().strip().upper(), open('data/x.txt').read(), sys.argv[1:])"


def test_a_program_with_input_and_files(provider: Provider) -> None:
    arguments = () if provider.name == "SandboxFusion" else ("-a", "b c")
    done = provider.run(UPPER, stdin="grün\n", files={"data/x.txt": b"file"}, arguments=arguments)
    assert (done.status, done.exit_code, done.stderr) == ("ok", 0, "")
    assert done.stdout == f"GRÜN file {list(arguments)}\n"
    assert done.tier == "remote"
    assert 0 < done.wall_s < 5


@pytest.mark.sample(5, seconds=1)
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
    limits = Limits(wall_s=0.6, cpu_s=0.5) if expected[0] == "timeout" else Limits(wall_s=30, cpu_s=15)
    done = provider.run(program, limits=limits)
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


@pytest.mark.sample(1, seconds=1)
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


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize("fault", [status(503), status(500), drop, cut], ids=["503", "500", "drop", "cut"])
def test_a_failure_that_passes_is_not_seen(service: Service, provider: Provider, fault: object) -> None:
    service.faults.append(fault)  # type: ignore[arg-type]
    assert provider.run("print(1)").stdout == "1\n"


def test_a_closed_provider_is_unavailable(service: Service) -> None:
    provider = provider_for(service)
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
