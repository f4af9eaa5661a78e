"""Parameters that nothing supplies and arguments that no function takes, said with what there is."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import guerdon
from guerdon import (
    RewardFunction,
    Sample,
)
from guerdon.errors import BindingError
from support.convention_rewards import (
    MESSAGES,
    Callable_,
    response_only,
    trl_strings,
)


@pytest.mark.parametrize(
    ("function", "row", "says"),
    [
        (lambda response, rubric: 1, {}, "lambda needs 'rubric', which nothing supplies and which has no default; "
         "the columns there are: messages"),
        (lambda response, ground_truth: 1, {}, "needs 'ground_truth'"),
        (lambda response, levl: 1, {"level": 3}, "map one to it, such as levl=level"),
        (lambda completions, rubric: [1], {}, "needs 'rubric'"),
        (lambda queries, prompts, labels: [1], {}, "needs 'labels'"),
        (lambda response, id: 1, {}, "needs 'id'"),
        (lambda response, x: 1, {f"c{i:02}": i for i in range(30)}, "and 11 more"),
    ],
)  # fmt: skip
def test_a_missing_parameter_is_named_with_the_columns(function: Any, row: dict[str, Any], says: str) -> None:
    row = {"messages": MESSAGES, **row}
    reward = RewardFunction(function)
    with pytest.raises(BindingError) as caught:
        guerdon.score(reward, [row], workers=0)
    assert says in str(caught.value)
    result = reward.evaluate(Sample.from_row(row))
    assert (result.score, result.error_kind) == (None, "binding")
    assert says in str(result.error)


@pytest.mark.parametrize("target", [response_only, trl_strings, Callable_, functools.partial(response_only)])
def test_a_fixed_argument_that_does_not_exist(target: Any) -> None:
    name = "ending" if target is Callable_ else "ground_truth"
    wrong = name[:-1]
    if target is trl_strings:
        assert RewardFunction(target, anything=1).parameters == {"anything": 1}
        return
    with pytest.raises(BindingError, match=f"no parameter '{wrong}'; did you mean '{name}'"):
        RewardFunction(target, **{wrong: "4"})
