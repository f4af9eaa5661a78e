"""Direct calls: arguments by position and by name, of one sample and of batches."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from guerdon import (
    RewardFunction,
)
from guerdon.errors import BindingError
from support.convention_rewards import (
    MESSAGES,
    OBJECTS,
    Callable_,
    agent_tunix,
    as_async,
    names,
    pointwise,
    pointwise_dicts,
    positional,
    response_only,
    reward_kit_batch,
    trl_chat,
    trl_strings,
    tunix_kwargs,
    value_of,
    verl,
)


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (pointwise, (MESSAGES, MESSAGES[:-1], "4"), {}),
        (pointwise, (OBJECTS,), {"ground_truth": "4"}),
        (pointwise, (), {"messages": tuple(OBJECTS), "ground_truth": "4", "anything": 1}),
        (pointwise, (MESSAGES, None, "4"), {}),
        (pointwise_dicts, (MESSAGES, "4"), {}),
        (pointwise_dicts, (OBJECTS,), {"ground_truth": "4"}),
        (response_only, ("It is 4", "4"), {}),
        (response_only, (), {"response": "It is 4", "ground_truth": "4"}),
        (response_only, (), {"messages": MESSAGES, "ground_truth": "4"}),
        (response_only, ("It is 4",), {"answer": "4"}),
        (agent_tunix, ("It is 4", "2 + 2?", "4"), {}),
        (agent_tunix, (), {"messages": MESSAGES, "answer": "4"}),
        (tunix_kwargs, ("It is 4",), {"prompt": "2 + 2?", "answer": "4"}),
        (verl, ("gsm8k", "It is 4", "4"), {"extra_info": {"level": 3}}),
        (positional, (MESSAGES, "4"), {}),
        (positional, (), {"messages": MESSAGES, "ground_truth": "4"}),
        (Callable_, ("It is 4", "4"), {}),
        (lambda response, ground_truth: response.endswith(ground_truth), ("It is 4", "4"), {}),
        (trl_strings, (), {"messages": MESSAGES, "ground_truth": "4", "level": 3}),
        (trl_chat, (), {"messages": MESSAGES, "ground_truth": "4"}),
    ],
    ids=lambda value: names(value) if callable(value) else "",
)
def test_direct_calls(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    assert RewardFunction(target)(*args, **kwargs).unwrap() == 1.0
    if not isinstance(target, type):
        awaited = RewardFunction(as_async(target))(*args, **kwargs)
        assert inspect.isawaitable(awaited)
        assert asyncio.run(value_of(awaited)).unwrap() == 1.0


@pytest.mark.parametrize(
    ("target", "args", "kwargs"),
    [
        (trl_strings, (["p", "p"], ["a 4", "a 5"], ["4", "4"]), {"level": [3, 3]}),
        (
            trl_strings,
            (),
            {"prompts": ["p"] * 2, "completions": ["4", "5"], "ground_truth": ["4", "4"], "level": [3, 3]},
        ),
        (trl_chat, ([[{"role": "assistant", "content": c}] for c in "45"], ["4", "4"]), {}),
        (reward_kit_batch, ([MESSAGES, MESSAGES], ["4", "5"]), {}),
        (reward_kit_batch, (), {"rollouts_messages": [MESSAGES, OBJECTS], "ground_truth": ["4", "5"]}),
    ],
    ids=lambda value: names(value) if callable(value) else "",
)
def test_direct_calls_of_batches(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    assert [r.unwrap() for r in RewardFunction(target)(*args, **kwargs)] == [1.0, 0.0]
    awaited = RewardFunction(as_async(target))(*args, **kwargs)
    assert [r.unwrap() for r in asyncio.run(value_of(awaited))] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        (("a", "b", "c"), {}, "f takes 2 positional arguments, not 3"),
        (("a",), {"response": "b"}, "f got 'response' twice"),
        ((), {"respons": "a"}, "f has no parameter 'respons'; did you mean 'response'?"),
        ((), {"zzz": 1}, "f has no parameter 'zzz'; it takes response, level"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any], says: str) -> None:
    def f(response, level=1):
        return 1.0

    for function in (f, as_async(f)):
        with pytest.raises(BindingError) as caught:
            RewardFunction(function)(*args, **kwargs)
        assert str(caught.value) == says
