"""SandboxFusion: what it is asked, and what its answers mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import SandboxFusion
from support.provider_services import (
    FusionService,
)


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
