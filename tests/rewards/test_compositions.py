"""The published compositions: their formulas, worked out by hand, and their parameters."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import guerdon
from guerdon.errors import BindingError, InputError
from guerdon.testing import assert_cases

NAMES = ("accuracy_length", "accuracy_format", "accuracy_overlong", "accuracy_target_length")


def made(name: str, **parameters: Any) -> guerdon.RewardFunction:
    """The composition with an accuracy that needs no worker: is 42 among the words?"""
    return guerdon.get_reward_function(name, accuracy="keywords", required="42", **parameters)


def words(count: int, *, right: bool) -> str:
    return " ".join(["42" if right else "41"] * count)


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize("name", NAMES)
def test_cases(name: str) -> None:
    assert_cases(name, Path(__file__).parent / "cases" / f"{name}.jsonl", workers=1)


@pytest.mark.parametrize(
    ("count", "right", "score"),
    [
        # From 1 to 0.5, and from -1 to -0.5; cos 45° is half the root of 2.
        (0, False, -1.0),
        (2, True, 0.5 + 0.5 * (0.5 + 2**0.5 / 4)),
        (2, False, -0.5 - 0.5 * (0.5 + 2**0.5 / 4)),
        (4, True, 0.75),
        (4, False, -0.75),
        (8, True, 0.5),
        (8, False, -0.5),
        # Beyond the maximum the cosine of open-r1 is back at its beginning at 16.
        (16, True, 0.5),
        (16, False, -0.5),
    ],
)
def test_the_cosine_of_open_r1(count: int, right: bool, score: float) -> None:
    reward = made("accuracy_length", maximum=8)
    assert reward(response=words(count, right=right)).unwrap() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("count", "right", "score"),
    [(4, True, 1.5), (4, False, -5.0), (8, True, 1.0), (8, False, 0.0), (9, True, -10.0), (9, False, -10.0)],
)
def test_the_cosine_of_the_paper(count: int, right: bool, score: float) -> None:
    values: Mapping[str, Any] = {
        "min_value_correct": 1,
        "max_value_correct": "2",
        "min_value_wrong": "-10",
        "max_value_wrong": 0,
        "exceeded": -10,
    }
    reward = made("accuracy_length", maximum=8, **values)
    assert reward.options.scale == (-10, 2)
    assert reward(response=words(count, right=right)).unwrap() == pytest.approx(score, abs=1e-12)


def test_the_mixture_of_reward_kit_is_a_sum() -> None:
    """Seven tenths for accuracy, three for its cosine, with the values of reward-kit."""
    cosine = made(
        "accuracy_length",
        maximum=8,
        min_value_correct=0.5,
        max_value_correct=1,
        min_value_wrong=0,
        max_value_wrong=0.3,
    )
    accuracy = guerdon.get_reward_function("keywords", required="42")
    mixture = 0.7 * accuracy + 0.3 * cosine
    assert mixture(response=words(4, right=True)).unwrap() == pytest.approx(0.7 + 0.3 * 0.75)
    assert mixture(response=words(4, right=False)).unwrap() == pytest.approx(0.3 * 0.15)


def test_partial_accuracy_is_not_right() -> None:
    reward = guerdon.get_reward_function("accuracy_length", accuracy="keywords", required="42, 43", maximum=8)
    assert reward(response="42").unwrap() < 0
    lenient = guerdon.get_reward_function(
        "accuracy_length", accuracy="keywords", required="42, 43", maximum=8, threshold="0.5"
    )
    assert lenient(response="42").unwrap() > 0


@pytest.mark.parametrize(
    ("response", "parameters", "score"),
    [
        ("<think>a</think><answer>42</answer>", {}, 1.5),
        ("<think>a</think><answer>42</answer>", {"format_weight": "1"}, 2.0),
        ("<think>a</think> 42", {"template": "think", "outside": "after"}, 1.5),
        ("<think>a</think> 42", {"scoring": "fraction"}, 1.2),
        ("a</think><answer>42</answer>", {"prefix": "<think>"}, 1.5),
        ("42", {"accuracy_weight": 3}, 3.0),
    ],
)
def test_accuracy_and_format(response: str, parameters: dict[str, Any], score: float) -> None:
    assert made("accuracy_format", **parameters)(response=response).unwrap() == pytest.approx(score)


@pytest.mark.parametrize(
    ("response", "parameters", "score"),
    [
        ("<answer>[1, 2]</answer>", {"accuracy_scoring": "fraction"}, 0.8),
        ("<answer>[1, 2]</answer>", {"scoring": "fraction"}, 0.2),
        ("<answer>[1, 2]</answer>", {"scoring": "fraction", "accuracy_scoring": "fraction"}, 1.0),
    ],
)
def test_partial_credit_of_each_part(response: str, parameters: dict[str, Any], score: float) -> None:
    """Half of the format's weight is for two tags and the rest; one tag of two is 2 of 5."""
    reward = guerdon.get_reward_function("accuracy_format", accuracy="number_list", **parameters)
    assert reward(response=response, ground_truth=[1, 2, 3]).unwrap() == pytest.approx(score)


def test_the_example_of_dapo() -> None:
    """Of 20,480 with a cache of 4,096, here in words: free to 16,384, half the penalty at 18,432."""
    reward = made("accuracy_overlong", maximum=20_480, cache=4_096)
    scores = [reward(response=words(n, right=True)).score for n in (16_384, 18_432, 20_480, 30_000)]
    assert scores == [1.0, 0.5, 0.0, 0.0]
    assert made("accuracy_overlong", maximum=20_480)(response=words(18_432, right=True)).score == 0.5


def test_length_control_takes_alpha_for_each_word() -> None:
    reward = made("accuracy_target_length", target=100)
    for count in (1, 50, 100, 150, 500):
        by_hand = 1 - 0.0003 * abs(100 - count)
        assert reward(response=words(count, right=True)).unwrap() == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("accuracy_length", (-1, 1)),
        ("accuracy_format", (0, 1.5)),
        ("accuracy_overlong", (-2, 1)),
        ("accuracy_target_length", (-1, 1)),
    ],
)
def test_scales(name: str, scale: tuple[float, float]) -> None:
    assert guerdon.get_reward_function(name).options.scale == scale


def test_scales_follow_the_parameters() -> None:
    assert made("accuracy_overlong", wrong=0).options.scale == (-1, 1)
    assert made("accuracy_format", format_weight=2).options.scale == (0, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_composition_travels_with_its_parameters(name: str) -> None:
    for reward in (guerdon.get_reward_function(name), made(name)):
        for module in (pickle, cloudpickle):
            again = module.loads(module.dumps(reward))
            assert (again.name, again.version, again.parameters) == (name, reward.version, reward.parameters)


def test_versions_follow_what_decides() -> None:
    assert made("accuracy_length", maximum=8).version == made("accuracy_length", maximum=8).version
    assert made("accuracy_length", maximum=8).version != made("accuracy_length", maximum=9).version


@pytest.mark.parametrize(
    ("name", "parameters", "error", "says"),
    [
        (
            "accuracy_length",
            {"min_value_wrong": "low"},
            InputError,
            "min_value_wrong must be a finite number",
        ),
        ("accuracy_length", {"exceeded": math.inf}, InputError, "exceeded must be a finite number"),
        ("accuracy_format", {"format_weight": None}, InputError, "format_weight must be a finite number"),
        ("accuracy_overlong", {"right": True}, InputError, "right must be a finite number"),
        ("accuracy_target_length", {"alpha": 0}, InputError, "alpha must be more than 0"),
        (
            "accuracy_length",
            {"case_sensitive": True, "maximal": 5},
            BindingError,
            "accuracy_length has no parameter 'maximal'; did you mean 'maximum'",
        ),
        ("accuracy_length", {"alpha": 5}, BindingError, "keywords has no parameter 'alpha'"),
    ],
)
def test_parameters_that_make_no_composition(
    name: str, parameters: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        made(name, **parameters)
