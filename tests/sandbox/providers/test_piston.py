"""Piston: what it is asked, and what its answers mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import Piston
from support.provider_services import (
    QUICK,
    PistonService,
    served,
    status,
)


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


def test_piston_without_the_language_and_with_another_version(piston: tuple[PistonService, Piston]) -> None:
    service, provider = piston
    assert "has no rust: install it" in provider.run("x", language="rust").detail
    assert provider.run("print(1)").ok
    service.runtimes = [{"language": "python", "version": "3.13.1", "aliases": []}]
    assert provider.run("print(1)").status == "unavailable"
    assert provider.run("print(1)").ok
    service.faults.append(status(200, {"not": "a list"}))
    assert "lists no runtimes" in provider.run("x", language="go").detail
