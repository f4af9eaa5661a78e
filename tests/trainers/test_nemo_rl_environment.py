"""What NeMo RL's environment does between NeMo RL's interface, which is in no registry, and the engine."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import numpy
import pytest
import yaml

import support.environment_rewards as rewards
from guerdon import EvaluateResult, get_reward_function, product
from guerdon.errors import BindingError, InputError, MissingExtraError
from guerdon.trainers import Adapter, SetupRequest, find_trainer
from guerdon.trainers.nemo_rl import EnvironmentStep, NemoRlAdapter, adapter_of, make, tensors_of
from guerdon.trainers.weighted_parts import WeightedParts

torch = pytest.importorskip("torch", reason="no torch: it comes with the extra dev")
pytestmark = pytest.mark.torch
FILE = Path(rewards.__file__)


def log(text: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "2 + 2?"}, *more, {"role": "assistant", "content": text}]


TEXTS = ["4", "no", "raise", "slow"]
TRUTH: list[Any] = [
    {"ground_truth": "4"},
    {
        "ground_truth": numpy.str_("4"),
        "level": numpy.int64(2),
        "messages": 1,
        "metadata": 2,
        "rewards": [1.0],
    },
    {"ground_truth": "4"},
    {"ground_truth": "4"},
]


def test_a_step_scores_the_batch() -> None:
    adapter = NemoRlAdapter(rewards.both, on_failure=0.25, timeout=1.5, named_rewards=True)
    step = adapter.step([log(text) for text in TEXTS], TRUTH)
    assert step.rewards == pytest.approx([1.0, 0.5 / 3, 0.25, 0.25])
    assert step.parts is not None
    assert set(step.parts) == {"reward/right", "reward/brief"}
    assert [sum(row) for row in zip(*step.parts.values(), strict=True)] == pytest.approx(step.rewards)
    assert {message["role"] for message in step.observations} == {"environment"}
    assert all(message["content"] for message in step.observations)
    assert adapter.metrics() == {"failed": 0.5, "failed/exception": 0.25, "failed/timeout": 0.25}


def test_tensors_are_finite_and_as_long_as_the_batch() -> None:
    told = tensors_of(EnvironmentStep(rewards=[1.0, 1e300, -1e300], parts=None, observations=[]))
    assert told["rewards"].dtype is torch.float32
    assert told["rewards"].shape == told["terminateds"].shape == (3,)
    assert torch.isfinite(told["rewards"]).all()
    assert told["terminateds"].bool().all()
    told = tensors_of(
        EnvironmentStep(rewards=[1.0], parts={"reward/a": [0.75], "reward/b": [0.25]}, observations=[])
    )
    assert torch.equal(sum(told["rewards"].values()), torch.tensor([1.0]))


@pytest.mark.parametrize(
    ("reward", "keys"),
    [
        (rewards.both, ("right", "brief")),
        (rewards.both + 1.0, ("both", "constant")),
        (rewards.right, ()),
        (product(rewards.right, rewards.brief), ()),
    ],
)
def test_parts_add_up_to_the_reward(reward: Any, keys: tuple[str, ...]) -> None:
    adapter = Adapter(reward, workers=0, on_failure=0.125)
    sums = WeightedParts(adapter)
    assert sums.keys == keys
    results = [EvaluateResult(error="no")]
    for text in ("4", "no"):
        results += adapter.results([_sample(text)])
    for result in results if keys else []:
        number = adapter.number(result)
        assert number is not None
        parts = sums.parts(result, number)
        assert tuple(parts) == keys
        assert math.isclose(sum(parts.values()), number)


def _sample(text: str) -> Any:
    from guerdon.trainers.columns import sample_of

    return sample_of("2 + 2?", text, {"ground_truth": "4"})


def test_a_conversation_of_several_turns_ends_with_its_completion() -> None:
    more = ({"role": "assistant", "content": "3"}, {"role": "environment", "content": "Wrong."})
    adapter = NemoRlAdapter(rewards.prompted, workers=0)
    assert adapter.step([log("4", *more)], [None]).rewards == [4.0]
    # Where the model was cut off before it said a thing, the answer is empty.
    assert adapter.step([log("4")[:1]], [{}]).rewards == [2.0]
    with pytest.raises(InputError, match="2 conversations and 1 items"):
        adapter.step([log("4"), log("4")], [{}])


def test_the_configuration_names_the_reward() -> None:
    spec = f"{FILE}::both"
    request = SetupRequest(
        spec=spec, reward=get_reward_function(spec), options={"on_failure": 0.5, "timeout": 3}
    )
    guide = find_trainer("nemo-rl").setup_guide(request)
    configuration = yaml.safe_load(guide.lines.partition("\n\n")[0])
    assert configuration["data"]["default"]["env_name"] == "guerdon"
    adapter = adapter_of(configuration["env"]["guerdon"])
    assert adapter.reward.version == request.reward.version
    assert adapter.step([log("raise")], [{"ground_truth": "4"}]).rewards == [0.5]
    (launcher,) = guide.files.values()
    compile(launcher, "run_with_guerdon.py", "exec")


@pytest.mark.parametrize(
    ("configuration", "says"),
    [
        ({}, "does not name a reward"),
        ({"reward": f"{FILE}::right", "named_rewards": True}, "not a weighted sum"),
        ({"reward": f"{FILE}::right", "on_failure": "skip"}, "cannot skip"),
    ],
)
def test_a_configuration_that_will_not_do(configuration: dict[str, Any], says: str) -> None:
    with pytest.raises((InputError, BindingError), match=says):
        adapter_of(configuration)


def test_parameters_come_from_the_configuration() -> None:
    adapter = adapter_of({"reward": "contains", "parameters": {"case_sensitive": True}})
    assert adapter.reward.parameters["case_sensitive"] is True


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_the_adapter_goes_to_an_actor(pickler: Any) -> None:
    adapter = pickler.loads(pickler.dumps(NemoRlAdapter(rewards.both, on_failure=0.5, named_rewards=True)))
    step = adapter.step([log("4"), log("raise")], [{"ground_truth": "4"}] * 2)
    assert step.rewards == [1.0, 0.5]
    assert step.parts is not None


def test_without_nemo_rl_the_error_says_where_it_is() -> None:
    with pytest.raises(MissingExtraError, match=r"github\.com/NVIDIA-NeMo/RL"):
        make(rewards.right)
    assert json.dumps(find_trainer("nemorl").title)
