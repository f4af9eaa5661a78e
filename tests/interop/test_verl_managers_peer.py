"""verl's own reward managers and its reward loop on Ray, configured with the lines that guerdon adapt prints."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon import get_reward_function
from guerdon.trainers import SetupRequest, find_trainer
from interop.conftest import OURS, Interpreter
from interop.environments import PEERS, environment
from interop.trainer_rows import ASYNC, COMBINED, ROWS, SECONDS, Expected
from support.served import Process, guerdon_serve, running

RUN_SECONDS = 480
MANAGER = "reward.reward_manager.name="
COMPONENTS = ["right", "right_form", "score"]


def overrides(spec: str, *more: str, **options: Any) -> list[str]:
    request = SetupRequest(spec=spec, reward=get_reward_function(spec), options=options)
    lines = find_trainer("verl").setup_guide(request).lines
    return [*shlex.split(lines.replace("\\\n", " ")), *more]


def rollouts(rows: tuple[Expected, ...]) -> list[dict[str, Any]]:
    """Columns in ``extra_info``, some as numpy's; two of them named like verl's own arguments."""
    return [
        {
            "response": row.response,
            "ground_truth": row.truth,
            "extra_info": {**row.columns, "ground_truth": "another", "data_source": "another"},
            "arrays": {"levels": [1, 2]},
        }
        for row in rows
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    log = tmp_path_factory.mktemp("combined") / "log.txt"
    with running(guerdon_serve(COMBINED, "--timeout", str(SECONDS), log=log)) as process:
        yield process


JOBS: dict[str, tuple[tuple[str, ...], dict[str, Any], bool]] = {
    "naive": ((), {}, False),
    "dapo": ((f"{MANAGER}dapo",), {}, False),
    "gdpo": ((f"{MANAGER}gdpo",), {}, False),
    "rate_limited": ((f"{MANAGER}rate_limited", "+reward.max_concurrent=4"), {}, False),
    "naive on Ray": ((), {}, True),
    "remote on Ray": (("reward.num_workers=1",), {"sync": True}, True),
}
"""Further overrides, options of the adapter, and whether verl's reward loop on Ray runs the manager."""


@pytest.fixture(scope="module")
def answers(
    interpreter: Interpreter, served: Process, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("verl")
    python = interpreter("verl_managers")
    jobs = {
        name: {"overrides": overrides(COMBINED, *more, timeout=SECONDS, **options), "rows": ROWS, "ray": ray}
        for name, (more, options, ray) in JOBS.items()
    }
    unlimited = (f"{MANAGER}rate_limited", "+reward.max_concurrent=64")
    jobs["async"] = {
        "overrides": overrides(ASYNC, *unlimited, timeout=SECONDS, on_failure=-1.0),
        "rows": ROWS * 8,
        "ray": False,
    }
    jobs["served"] = {
        "overrides": overrides(f"{served.url}/rewards/combined", components=COMPONENTS),
        "rows": ROWS,
        "ray": False,
    }
    file = folder / "mine.py"
    file.write_text(
        "import guerdon\n\n"
        f"compute_score = guerdon.get_reward_function({COMBINED!r}).to_verl(timeout={SECONDS})\n"
    )
    own = f"reward.custom_reward_function.path={file}"
    jobs["file"] = {"overrides": [own], "rows": ROWS, "ray": False}
    asked = [{**job, "rows": rollouts(job["rows"])} for job in jobs.values()]
    done = subprocess.run(
        [str(python), str(PEERS / "verl_managers.py"), str(folder)],
        input=json.dumps(asked),
        env={**environment(), **OURS},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(Path(folder / "answers.json").read_text())
    return dict(zip(jobs, found, strict=True))


def shown(row: Expected) -> dict[str, Any]:
    parts = {"right": row.right, "right_form": row.right_form, "metric_score": row.length}
    told = {"score": row.score, "failed": float(row.failed), **parts}
    return {
        "reward_score": pytest.approx(row.score),
        "reward_extra_info": {name: pytest.approx(value) for name, value in told.items()},
    }


@pytest.mark.parametrize("manager", JOBS)
def test_a_composition(answers: dict[str, list[dict[str, Any]]], manager: str) -> None:
    assert answers[manager] == [shown(row) for row in ROWS]


def test_a_file_of_the_user_s(answers: dict[str, list[dict[str, Any]]]) -> None:
    assert answers["file"] == [shown(row) for row in ROWS]


def test_an_async_reward_with_another_number_for_failures(answers: dict[str, list[dict[str, Any]]]) -> None:
    expected = [(-1.0 if row.failed else row.right, float(row.failed)) for row in ROWS]
    found = [(a["reward_score"], a["reward_extra_info"]["failed"]) for a in answers["async"]]
    assert found == expected * 8


def test_a_reward_that_a_server_scores(answers: dict[str, list[dict[str, Any]]]) -> None:
    found = answers["served"]
    assert [a["reward_score"] for a in found] == [pytest.approx(row.score) for row in ROWS]
    assert [a["reward_extra_info"]["failed"] for a in found] == [float(row.failed) for row in ROWS]
    assert {tuple(a["reward_extra_info"]) for a in found} == {
        ("score", "failed", "right", "right_form", "metric_score")
    }
