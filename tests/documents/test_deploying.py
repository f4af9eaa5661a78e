"""What docs/deploying.md has a container do is done here without one: its command, its checks, its manifests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.docs_runner import Block, blocks
from support.served import Process, ask, free_port, running

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploying.md"
KEY = "a-key"


@pytest.fixture(scope="module")
def page() -> list[Block]:
    return blocks(PAGE.read_text(encoding="utf-8"))


def commands(page: list[Block]) -> list[list[str]]:
    """The health check's command and the image's own."""
    (image,) = (block.body for block in page if block.language == "dockerfile")
    lines = [line.strip() for line in image.splitlines()]
    return [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]


@pytest.fixture(scope="module")
def server(page: list[Block], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The image's command, on a port that is free."""
    folder = tmp_path_factory.mktemp("image")
    source = next(block.body for block in page if block.directives.get("file") == "my_rewards.py")
    (folder / "my_rewards.py").write_text(source, encoding="utf-8")
    port = free_port()
    _, command = commands(page)
    assert command[:2] == ["guerdon", "serve"]
    command = [sys.executable, "-m", "guerdon", *command[1:]]
    command[command.index("--port") + 1] = str(port)
    env = {k: v for k, v in os.environ.items() if not k.startswith("GUERDON_")}
    without_key = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert without_key.returncode == 2
    assert "API key" in without_key.stderr
    log, env = folder / "log.txt", {**env, "GUERDON_API_KEY": KEY}
    with running(Process(command, port, log, "/health/ready", env, folder)) as process:
        yield process
    assert process.popen.returncode in (0, -signal.SIGTERM), process.said()


def test_the_command_serves(server: Process) -> None:
    body = {"turns": [{"role": "assistant", "content": "word " * 40}]}
    assert ask(server.port, "POST", "/score", body)[0] == 401
    status, answer = ask(server.port, "POST", "/score", body, {"Authorization": f"Bearer {KEY}"})
    assert (status, answer["reward"]) == (200, 0.5)


@pytest.mark.parametrize("up", [True, False])
def test_the_health_check(page: list[Block], server: Process, up: bool) -> None:
    check, _ = commands(page)
    port = server.port if up else free_port()
    check = [sys.executable, *(part.replace(":8000/", f":{port}/") for part in check[1:])]
    assert (subprocess.run(check, capture_output=True, timeout=30).returncode == 0) is up


def test_the_manifests_fit_the_server(page: list[Block], server: Process) -> None:
    compose, *_ = (yaml.safe_load(b.body) for b in page if b.language == "yaml" and "services:" in b.body)
    assert list(compose["services"]["brief-reward"]["environment"]) == ["GUERDON_API_KEY"]
    (manifest,) = (b.body for b in page if b.language == "yaml" and "kind:" in b.body)
    service, deployment = yaml.safe_load_all(manifest)
    pod: dict[str, Any] = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    labels = pod["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == labels
    assert (
        [port["containerPort"] for port in container["ports"]]
        == [service["spec"]["ports"][0]["port"]]
        == [8000]
    )
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert server.status(container[probe]["httpGet"]["path"]) == 200
    metrics = pod["metadata"]["annotations"]["prometheus.io/path"]
    assert server.status(metrics) == 401
    assert ask(server.port, "GET", metrics, headers={"X-Api-Key": KEY})[0] == 200
