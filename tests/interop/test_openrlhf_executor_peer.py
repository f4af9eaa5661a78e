"""OpenRLHF's own executor with a reward: from the thin file, from a server, and from a file that asks a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon import get_reward_function
from guerdon.trainers import SetupGuide, SetupRequest, find_trainer
from interop.conftest import OURS, Client
from interop.trainer_rows import ASYNC, COMBINED, ROWS, SECONDS, Expected
from support.served import Process, guerdon_serve, running


def rollouts(rows: tuple[Expected, ...]) -> list[dict[str, Any]]:
    return [
        {"prompt": "How many? ", "response": row.response, "label": json.dumps(row.columns)} for row in rows
    ]


def setup_guide(spec: str, **options: Any) -> SetupGuide:
    return find_trainer("openrlhf").setup_guide(
        SetupRequest(spec=spec, reward=get_reward_function(spec), options=options)
    )


def written(guide: SetupGuide, folder: Path) -> str:
    ((name, text),) = guide.files.items()
    (folder / name).write_text(text)
    assert guide.lines.split()[:2] == ["--reward.remote_url", name]
    return str(folder / name)


def shown(row: Expected) -> dict[str, Any]:
    parts = {"right": row.right, "right_form": row.right_form, "metric_score": row.length}
    logs = {"failed": float(row.failed), **parts}
    return {
        "reward": [pytest.approx(row.score)],
        "scores": [pytest.approx(row.score)],
        "extra_logs": {name: [pytest.approx(value)] for name, value in logs.items()},
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    log = tmp_path_factory.mktemp("combined") / "log.txt"
    with running(guerdon_serve(COMBINED, "--timeout", str(SECONDS), log=log)) as process:
        yield process


def test_a_composition_from_the_file(client: Client, tmp_path: Path) -> None:
    endpoint = written(setup_guide(COMBINED, timeout=SECONDS), tmp_path)
    answers = client("trainers", "openrlhf_executor.py", rollouts(ROWS), endpoint, **OURS)
    assert answers == [shown(row) for row in ROWS]


def test_an_async_reward_with_another_number_for_failures(client: Client, tmp_path: Path) -> None:
    endpoint = written(setup_guide(ASYNC, timeout=SECONDS, on_failure=-1.0), tmp_path)
    answers = client("trainers", "openrlhf_executor.py", rollouts(ROWS * 8), endpoint, **OURS)
    expected = [[-1.0 if row.failed else row.right] for row in ROWS]
    assert [answer["reward"] for answer in answers] == expected * 8
    assert [answer["extra_logs"] for answer in answers[:3]] == [
        {"failed": [0.0]},
        {"failed": [0.0]},
        {"failed": [1.0]},
    ]


def test_a_server_that_the_executor_asks(client: Client, served: Process) -> None:
    lines = setup_guide(f"{served.url}/rewards/combined").lines
    rows = tuple(row for row in ROWS if not row.failed)
    answers = client("trainers", "openrlhf_executor.py", rollouts(rows), lines.split()[1])
    assert [answer["reward"] for answer in answers] == [[pytest.approx(row.score)] for row in rows]
    assert [answer["extra_logs"]["right"] for answer in answers] == [[row.right] for row in rows]


def test_a_file_that_asks_a_server(client: Client, served: Process, tmp_path: Path) -> None:
    guide = setup_guide(f"{served.url}/rewards/combined", components=["right", "right_form", "score"])
    endpoint = written(guide, tmp_path)
    answers = client("trainers", "openrlhf_executor.py", rollouts(ROWS), endpoint, **OURS)
    assert [answer["reward"] for answer in answers] == [[pytest.approx(row.score)] for row in ROWS]
    assert [answer["extra_logs"]["failed"] for answer in answers] == [[float(row.failed)] for row in ROWS]
