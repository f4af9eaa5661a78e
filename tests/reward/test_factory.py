"""Compositions with parameters: made anew for what is given, and otherwise like any reward."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import cloudpickle
import pytest

import guerdon
from guerdon.errors import BindingError, InputError
from guerdon.reward.compose import weighted
from guerdon.reward.factory import composition_factory
from guerdon.reward.function import RewardFunction
from guerdon.reward.options import RewardOptions
from guerdon.rewards.length import length


@composition_factory
def brief_or_loud(loud: float = 0.5, *, maximum: int | None = None) -> RewardFunction:
    """Scores brevity and loudness.

    Scale: 0 to 1.
    """
    share = float(loud)
    if not 0 <= share <= 1:
        raise InputError(f"loud must be from 0 to 1, not {share:g}")
    brief = RewardFunction(length, **({} if maximum is None else {"maximum": maximum}))
    loudly = RewardFunction(lambda response: response.isupper(), name="loudly")
    made = weighted(brief, loudly, weights=[1 - share, share])
    return RewardFunction.of_scorer(made.scorer, RewardOptions(scale=(0, 1) if share < 1 else (0, 2)))


def test_it_is_a_reward_with_a_name_a_docstring_and_parts() -> None:
    assert (brief_or_loud.name, brief_or_loud.options.scale) == ("brief_or_loud", (0, 1))
    assert (brief_or_loud.__doc__ or "").startswith("Scores brevity")
    assert {c.name: c.weight for c in brief_or_loud.components} == {"length": 0.5, "loudly": 0.5}
    result = brief_or_loud(response="YES")
    assert (result.score, list(result.metrics)) == (1.0, ["length", "length/words", "loudly"])


def test_parameters_make_another_composition() -> None:
    louder = guerdon.get_reward_function(brief_or_loud, loud="0.75")
    assert (louder.name, louder(response="yes").score) == ("brief_or_loud", 0.25)
    both = guerdon.get_reward_function(louder, maximum=1)
    assert both(response="yes or no").score == 0.0
    assert both.parameters["loud"] == "0.75"
    assert guerdon.get_reward_function(brief_or_loud, loud=1).options.scale == (0, 2)
    assert brief_or_loud(response="yes").score == 0.5
    assert len({brief_or_loud.version, louder.version, both.version}) == 3


def test_what_is_not_fixed_comes_from_the_row_or_the_call() -> None:
    row: dict[str, Any] = {"messages": [{"role": "assistant", "content": "yes or no"}], "maximum": 2}
    assert guerdon.score(brief_or_loud, [row], workers=0)[0].score == 0.25
    assert brief_or_loud(response="yes or no", maximum=2).score == 0.25
    fixed = guerdon.get_reward_function(brief_or_loud, maximum=3)
    assert guerdon.score(fixed, [row], workers=0)[0].score == 0.5


def test_it_scores_in_workers_and_travels() -> None:
    louder = guerdon.get_reward_function(brief_or_loud, loud=0.75)
    row = {"messages": [{"role": "assistant", "content": "YES"}]}
    assert guerdon.score(louder, [row] * 3, workers=1)[0].score == 1.0
    for module in (pickle, cloudpickle):
        again = module.loads(module.dumps(louder))
        assert (again, again(response="yes").score) == (louder, 0.25)
        assert module.loads(module.dumps(brief_or_loud)).version == brief_or_loud.version


def test_a_factory_outside_a_module_is_pickled_by_value() -> None:
    factor = 0.25

    @composition_factory
    def scaled(times: float = 1) -> RewardFunction:
        return times * factor * RewardFunction(length)

    twice = guerdon.get_reward_function(scaled, times=2)
    again = cloudpickle.loads(cloudpickle.dumps(twice))
    assert (again(response="a").score, again.version) == (0.5, twice.version)
    assert guerdon.get_reward_function(again, times=4)(response="a").score == 1.0


def test_it_composes_and_keeps_its_name() -> None:
    total = 2 * brief_or_loud + 1
    result = total(response="YES")
    assert result.score == 3.0
    assert list(result.metrics)[:2] == ["brief_or_loud", "brief_or_loud/length"]


def test_one_of_async_parts_is_async() -> None:
    async def slow(response: str) -> float:
        await asyncio.sleep(0)
        return 0.5

    @composition_factory
    def twice(factor: float = 2) -> RewardFunction:
        return factor * RewardFunction(slow)

    assert asyncio.run(twice(response="a")).score == 1.0
    row = {"messages": [{"role": "assistant", "content": "a"}]}
    assert guerdon.score(guerdon.get_reward_function(twice, factor=3), [row], workers=0)[0].score == 1.5


def test_one_of_batched_parts_is_batched() -> None:
    def batch(completions: list[str], **columns: Any) -> list[float]:
        return [float(len(completion)) for completion in completions]

    @composition_factory
    def longer(factor: float = 1) -> RewardFunction:
        return factor * RewardFunction(batch, name="batch")

    rows = [{"messages": [{"role": "assistant", "content": text}]} for text in ("a", "abc")]
    assert longer.is_batch
    scored = guerdon.score(guerdon.get_reward_function(longer, factor=2), rows, workers=0)
    assert [result.score for result in scored] == [2.0, 6.0]


def test_a_parameter_that_it_lacks() -> None:
    with pytest.raises(BindingError, match="brief_or_loud has no parameter 'lout'; did you mean 'loud'"):
        guerdon.get_reward_function(brief_or_loud, lout=1)


def test_a_parameter_that_makes_no_sense() -> None:
    with pytest.raises(InputError, match="loud must be from 0 to 1, not 2"):
        guerdon.get_reward_function(brief_or_loud, loud=2)


def test_every_parameter_needs_a_default() -> None:
    def bare(weight: float) -> RewardFunction:
        return weight * RewardFunction(length)

    with pytest.raises(BindingError, match="bare has none for weight"):
        composition_factory(bare)


def test_a_plain_composition_still_takes_no_parameters() -> None:
    with pytest.raises(BindingError, match="is a composition and takes no parameters"):
        guerdon.get_reward_function(2 * RewardFunction(length), maximum=5)
