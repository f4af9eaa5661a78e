"""Parameters of a reward that no column supplies, and columns that are given as parameters."""

from __future__ import annotations

from typing import Any

import pytest

import guerdon
from guerdon.errors import BindingError, InputError
from guerdon.reward.function import RewardFunction
from guerdon.train.data.problem import Problem
from guerdon.train.data.problems import _check, _Rows


def groundtruth(response: str, groundtruth: str | None = None) -> float:
    return float(groundtruth == response)


def shouted(response: str, GROUND_TRUTH: str | None = None) -> float:  # noqa: N803
    return float(response == GROUND_TRUTH)


def solutions(completions: list[str], solutions: list[str] | None = None, **kwargs: Any) -> list[float]:
    return [float(solutions is not None) for _ in completions]


def both(response: str, ground_truth: str, answers: list[str] | None = None) -> float:
    return float(response in (ground_truth, *(answers or ())))


def whole_row(response: str, metadata: dict[str, Any], ground_truths: str = "") -> float:
    return float(metadata["level"] == 1)


def numbered(response: str, level_1: int = 0) -> float:
    return float(level_1)


def row(**columns: Any) -> dict[str, Any]:
    return {"prompt": "2 + 2?", "response": "4", **columns}


MISSPELT = [
    (groundtruth, row(ground_truth="4"), "groundtruth", "ground_truth"),
    (shouted, row(ground_truth="4"), "GROUND_TRUTH", "ground_truth"),
    (solutions, row(solution="4"), "solutions", "solution"),
]
FINE = [
    (groundtruth, row(groundtruth="4"), 1.0),
    (both, row(answer="4"), 1.0),
    (both, row(answer="5", ground_truth="4"), 1.0),
    (whole_row, row(ground_truth="4", level=1), 1.0),
    (numbered, row(level_2=3), 0.0),
    ("exact_match", row(answer="5", ground_truth="4", model="m"), 1.0),
]


@pytest.mark.parametrize(("reward", "given", "parameter", "column"), MISSPELT)
def test_a_misspelt_optional_parameter_is_no_score(
    reward: Any, given: dict[str, Any], parameter: str, column: str
) -> None:
    with pytest.raises(BindingError, match=f"parameter '{parameter}'.* did you mean '{column}'"):
        guerdon.score(reward, [given], workers=0)
    nothing: dict[str, Any] = {parameter: None}
    (result,) = guerdon.score(reward, [given], workers=0, **nothing)
    assert result.score == 0.0  # which is what it would have been in silence


def test_a_component_with_a_misspelt_parameter() -> None:
    reward = 0.5 * RewardFunction(groundtruth) + 0.5 * RewardFunction(both)
    with pytest.raises(BindingError, match="groundtruth has a parameter 'groundtruth'"):
        guerdon.score(reward, [row(ground_truth="4")], workers=0)


@pytest.mark.parametrize(("reward", "given", "score"), FINE)
def test_a_default_that_no_column_resembles_holds(reward: Any, given: dict[str, Any], score: float) -> None:
    assert guerdon.score(reward, [given], workers=0).scores == [score]


def test_trainers_refuse_a_misspelt_parameter() -> None:
    with pytest.raises(BindingError, match="did you mean 'ground_truth'"):
        RewardFunction(groundtruth).to_trl()(prompts=["2 + 2?"], completions=["4"], ground_truth=["4"])
    rows = _Rows()
    rows.good[1] = Problem(1, "2 + 2?", {"ground_truth": "4"})
    with pytest.raises(BindingError, match="did you mean 'ground_truth'"):
        _check({"train": rows}, RewardFunction(groundtruth), None)


@pytest.mark.parametrize(
    "parameters", [{"ground_truth": ["4", "5"]}, {"ground_truth": ("4", "5")}, {"prompt": ["a", "b"]}]
)
def test_a_value_for_each_sample_is_no_parameter(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give each sample its own in rows"):
        guerdon.score("exact_match", ["5", "4"], workers=0, **parameters)
    with pytest.raises(InputError, match="give each sample its own in rows"):
        next(guerdon.stream("exact_match", ["5", "4"], workers=0, **parameters))


def test_accepted_answers_for_all_samples_are_a_parameter() -> None:
    assert guerdon.score("exact_match", ["5", "6"], workers=0, ground_truth=["4", "5", "7"]).scores == [
        1.0,
        0.0,
    ]
    assert guerdon.score("exact_match", ["5"], workers=0, ground_truth=["5"]).scores == [1.0]


@pytest.mark.parametrize("name", ["respnse", "reponse", "groundtruth", "promt"])
def test_a_misspelt_role_is_named(name: str) -> None:
    given = [{"prompt": "2 + 2?", "completion": "4", "answer": "4"}]
    with pytest.raises(InputError, match=f'nothing reads "{name}"; did you mean'):
        guerdon.score("exact_match", given, workers=0, columns={name: "completion"})
