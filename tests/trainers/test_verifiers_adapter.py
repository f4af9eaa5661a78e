"""The adapter for verifiers where its package is not installed."""

from __future__ import annotations

import tomllib

import pytest

from guerdon import RewardFunction, get_reward_function
from guerdon.errors import BindingError, MissingExtraError
from guerdon.trainers import SetupRequest, find_trainer
from guerdon.trainers.verifiers import VerifiersReward


def right(response: str, answer: str) -> bool:
    return response == answer


def test_the_lines_for_verifiers_are_toml() -> None:
    request = SetupRequest(spec="exact_match", reward=get_reward_function("exact_match"))
    rewards = tomllib.loads(find_trainer("verifiers").setup_guide(request).lines)["env"]["taskset"]["task"][
        "rewards"
    ]
    assert rewards == {"exact_match": {"fn": "exact_match_verifiers:exact_match", "weight": 1.0}}


def test_a_mark_of_verifiers_leaves_the_reward_in_place() -> None:
    adapter = RewardFunction(right).to_verifiers()
    adapter.reward = True  # as vf.reward does
    adapter._vf_weight = 2.0
    assert isinstance(adapter, VerifiersReward)
    assert adapter.reward.name == "right"


def test_verifiers_needs_a_number_and_does_not_skip() -> None:
    with pytest.raises(BindingError, match="needs a number for every sample"):
        RewardFunction(right).to("verifiers", on_failure="skip")


def test_a_rubric_names_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="pip install"):
        RewardFunction(right).to_verifiers().rubric()
