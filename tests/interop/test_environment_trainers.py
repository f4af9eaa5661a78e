"""Rewards inside NeMo Gym's resources server and OpenEnv's environments, each in its package's own process."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import support.environment_rewards as rewards
from guerdon import get_reward_function
from guerdon.trainers import SetupRequest, find_trainer
from interop.conftest import Client, Interpreter
from interop.environments import environment
from support.served import ask, guerdon_serve, running

FILE = Path(rewards.__file__)
SOURCES = str(Path(__file__).resolve().parents[2] / "src")
WHOLE = 1.0
"""The reward of the answer 4: all of its weight for being right, a half for being brief."""


def written(trainer: str, folder: Path, spec: str, **options: Any) -> list[Path]:
    """The thin files of a recipe, in a folder."""
    guide = find_trainer(trainer).setup_guide(
        SetupRequest(spec=spec, reward=get_reward_function(spec), options=options)
    )
    paths = [folder / name for name in guide.files]
    for path, text in zip(paths, guide.files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize("manner", ["sync", "async"])
def test_openenv(client: Client, tmp_path: Path, manner: str) -> None:
    written("openenv", tmp_path, f"{FILE}::both", on_failure=0.25, timeout=3)
    shown = {"question": "2 + 2?", "ground_truth": "4", "metadata": {"level": 2, "done": 1, "reward": 9}}
    texts = ["4", "no", "raise", "slow", *["4"] * 20]
    answers = client(
        "openenv", "openenv_rubric.py", [[t, shown] for t in texts], SOURCES, str(tmp_path), manner
    )
    scores = [score for score, *_ in answers]
    assert scores == pytest.approx([WHOLE, 0.5 / 3, 0.25, 0.25, *[WHOLE] * 20])
    assert [kind for _, _, kind, _ in answers[:5]] == [None, None, "exception", "timeout", None]
    assert all(set(parts) == {"right", "brief"} for _, parts, *_ in answers)
    assert answers[0][1] == {"right": 1.0, "brief": 0.5}
    assert answers[0][3] == {"reward": "both", "version": get_reward_function(f"{FILE}::both").version}


def rollout(text: str, **row: Any) -> list[Any]:
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    response = {
        "id": "r",
        "created_at": 1.0,
        "model": "m",
        "object": "response",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    asked = {"input": [{"role": "user", "content": "2 + 2?"}]}
    return ["/verify", {"responses_create_params": asked, "response": response, **row}]


CASES = [
    rollout("4", expected_answer="4"),
    rollout("no", expected_answer="4", level=3),
    rollout("raise", expected_answer="4"),
    rollout("slow", expected_answer="4"),
    # Columns named like NeMo Gym's own fields, and a row that was verified before.
    rollout(
        "4",
        ground_truth="4",
        reward=9,
        reward_components={"old": 9},
        mask_sample=True,
        metadata={"a": 1},
        id=7,
    ),
    *[rollout("4", expected_answer="4")] * 20,
]


def test_nemo_gym_verifies(client: Client, tmp_path: Path) -> None:
    app, *_ = written("nemo-gym", tmp_path, f"{FILE}::both", on_failure=0.25, timeout=3)
    *answers, finished = client("nemo_gym", "nemo_gym_server.py", CASES, SOURCES, str(app))
    assert [status for status, _ in answers] == [200] * len(CASES)
    bodies = [body for _, body in answers]
    assert [body["reward"] for body in bodies] == pytest.approx([WHOLE, 0.5 / 3, 0.25, 0.25, *[WHOLE] * 21])
    for body in bodies:
        assert sum(body["reward_components"].values()) == pytest.approx(body["reward"])
        assert set(body["reward_components"]) == {"right", "brief"}
        assert {"right", "brief", "failed"} <= set(body)
    assert [body["failed"] for body in bodies] == [0.0, 0.0, 1.0, 1.0, *[0.0] * 21]
    assert [body.get("failure_kind") for body in bodies[:4]] == [None, None, "exception", "timeout"]
    assert [body.get("mask_sample") for body in bodies[2:5]] == [True, True, None]
    assert bodies[4]["metadata"] == {"a": 1}
    assert finished[-1] == 3, "the slow sample held others up"


def test_nemo_gym_answers_500_where_failures_are_raised(client: Client, tmp_path: Path) -> None:
    app, *_ = written("nemo-gym", tmp_path, f"{FILE}::right", on_failure="raise")
    *answers, _ = client("nemo_gym", "nemo_gym_server.py", CASES[:3], SOURCES, str(app))
    assert [status for status, _ in answers] == [200, 200, 500]
    assert "asked to raise" in str(answers[2][1])


def test_nemo_gym_gives_what_the_server_gives(client: Client, tmp_path: Path) -> None:
    """The same rows in process, at ``guerdon serve`` and by way of its address: one verdict."""
    app, *_ = written("nemo-gym", tmp_path, f"{FILE}::both")
    cases = [CASES[0], CASES[1], CASES[4]]
    *inside, _ = client("nemo_gym", "nemo_gym_server.py", cases, SOURCES, str(app))
    with running(guerdon_serve(f"{FILE}::both", log=tmp_path / "log.txt")) as process:
        served = [ask(process.port, "POST", *case) for case in cases]
        assert _verdicts(served) == _verdicts(inside)


def _verdicts(answers: list[Any]) -> list[dict[str, Any]]:
    names = ("reward", "reward_components", "right", "brief")
    return [{name: body[name] for name in names} for _, body in answers]


def test_nemo_gym_accepts_the_configuration(interpreter: Interpreter, tmp_path: Path) -> None:
    *_, config = written("nemo-gym", tmp_path, f"{FILE}::both")
    gym = interpreter("nemo_gym").parent / "gym"
    command = [str(gym), "env", "validate", f"+config_paths=[{config.relative_to(tmp_path)}]"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
