"""SkyRL-gym's own registry and environments, with a reward behind them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy
import pytest

import support.environment_rewards as rewards
from guerdon import get_reward_function
from guerdon.errors import BindingError
from guerdon.trainers import SetupRequest, find_trainer

skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is a development dependency")
FILE = Path(rewards.__file__)
ASKED = [{"role": "user", "content": "2 + 2?"}]


@pytest.fixture
def registered() -> Iterator[list[str]]:
    before = set(skyrl_gym.registry)
    names: list[str] = []
    yield names
    for name in set(skyrl_gym.registry) - before:
        skyrl_gym.envs.deregister(name)


def extras(**columns: Any) -> dict[str, Any]:
    return {"reward_spec": {"method": "rule", "ground_truth": "4"}, "max_turns": 1, **columns}


def played(environment: Any, action: str, prompt: Any = ASKED) -> tuple[dict[str, Any], dict[str, float]]:
    assert environment.init(prompt) == (prompt, {})
    step = environment.step(action)
    assert step["observations"] == []
    assert step["done"] is True
    return step, environment.get_metrics()


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize(
    ("action", "columns", "reward", "right", "failed"),
    [
        ("4", {}, 1.0, 1.0, 0.0),
        ("no", {}, 0.5 / 3, 0.0, 0.0),
        ("4", {"level": numpy.int64(3), "ground_truth": numpy.str_("4")}, 1.0, 1.0, 0.0),
        # Columns named like the trainer's own things, and like a sample's.
        (
            "4",
            {"metadata": "x", "messages": 1, "id": 0.5, "reward": 9, "done": 1, "env_config": 2},
            1.0,
            1.0,
            0.0,
        ),
        ("4", {"extra_info": {"level": 3, "ground_truth": "4"}, "reward_spec": {}}, 1.0, 1.0, 0.0),
        ("raise", {}, 0.25, 0.25, 1.0),
        ("slow", {}, 0.25, 0.25, 1.0),
        ("hang", {}, 0.25, 0.25, 1.0),
    ],
)
def test_a_step_scores_the_answer(
    registered: list[str], action: str, columns: dict[str, Any], reward: float, right: float, failed: float
) -> None:
    made = rewards.both.to_skyrl(on_failure=0.25, timeout=1.5)
    skyrl_gym.register(id="both", entry_point=made)
    environment = skyrl_gym.make("both", env_config={}, extras=extras(**columns))
    step, metrics = played(environment, action)
    assert step["reward"] == pytest.approx(reward)
    assert type(step["reward"]) is float
    assert metrics["reward/right"] == right
    assert set(metrics) == {"reward/right", "reward/brief", "failed"}
    assert metrics["failed"] == step["metadata"]["failed"] == failed
    assert made.aggregate_metrics([metrics, metrics])["failed"] == failed
    told = step["metadata"]["guerdon"]
    assert (told["reward"], told["version"]) == ("both", rewards.both.version)
    assert told.get("error_kind") == {"raise": "exception", "slow": "timeout", "hang": "timeout"}.get(action)


def test_a_failure_is_raised_where_it_is_asked_for() -> None:
    made = rewards.right.to_skyrl(on_failure="raise")
    with pytest.raises(Exception, match="asked to raise"):
        made(extras=extras()).step("raise")
    with pytest.raises(BindingError, match="cannot skip"):
        rewards.right.to_skyrl(on_failure="skip")


def test_environments_in_threads_share_the_workers(registered: list[str]) -> None:
    made = rewards.both.to_skyrl()
    skyrl_gym.register(id="threads", entry_point=made)

    def one(i: int) -> float:
        environment = skyrl_gym.make("threads", extras=extras())
        return float(played(environment, "4" if i % 2 else "no", "2 + 2?")[0]["reward"])

    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(one, range(64)))
    assert found == pytest.approx([1.0 if i % 2 else 0.5 / 3 for i in range(64)])
    environments = [made(extras=extras()) for _ in range(2)]
    assert environments[0].adapter is environments[1].adapter
    assert environments[0].adapter.failures.calls == 64


def test_rewards_of_one_name_keep_apart(registered: list[str]) -> None:
    one, other = rewards.right.to_skyrl(), rewards.right_again.to_skyrl()
    skyrl_gym.register(id="one", entry_point=one)
    skyrl_gym.register(id="other", entry_point=other)
    assert played(skyrl_gym.make("one", extras=extras()), "4")[0]["reward"] == 1.0
    assert played(skyrl_gym.make("other", extras=extras()), "4")[0]["reward"] == 0.0
    assert one.__qualname__ != other.__qualname__


def test_the_class_goes_to_another_process(tmp_path: Path) -> None:
    file = tmp_path / "class.pkl"
    file.write_bytes(cloudpickle.dumps(rewards.both.to_skyrl(on_failure=0.5)))
    code = (
        f"import sys, pickle; sys.path.insert(0, {str(FILE.parents[1])!r})\n"
        f"made = pickle.loads(open({str(file)!r}, 'rb').read())\n"
        "env = made(extras={'reward_spec': {'ground_truth': '4'}})\n"
        "print(env.step('4')['reward'], env.step('raise')['reward'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["1.0", "0.5"], done.stderr


def test_the_recipe_loads_in_skyrl(
    registered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"{FILE}::both"
    guide = find_trainer("skyrl-gym").setup_guide(
        SetupRequest(spec=spec, reward=get_reward_function(spec), options={"on_failure": 0.5})
    )
    for name, text in guide.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    registration = next(line for line in guide.lines.splitlines() if "register(" in line)
    exec(registration, {"skyrl_gym": skyrl_gym})
    environment = skyrl_gym.make("guerdon-both", env_config={}, extras=extras())
    assert played(environment, "4")[0]["reward"] == 1.0
    assert played(environment, "raise")[0]["reward"] == 0.5
    assert "environment.env_class=guerdon-both" in guide.lines
    assert pickle.loads(pickle.dumps(environment.adapter)).number(_failed()) == 0.5


def _failed() -> Any:
    from guerdon import EvaluateResult

    return EvaluateResult(error="no")
