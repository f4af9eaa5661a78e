"""Direct calls: arguments by position and by name, of one sample and of batches."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from guerdon import RewardFunction, reward_function
from guerdon.errors import BindingError, InputError, RewardError
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


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"completions": ["4", "5"], "ground_truth": ["4"]}, "'ground_truth' has 1 values for 2 completions"),
        ({"completions": ["4", "5"], "ground_truth": ["4"] * 3}, "'ground_truth' has 3 values for 2"),
        ({"completions": ["4", "5"], "level": [1]}, "'level' has 1 values for 2 completions"),
        ({"completions": ["4", "5"], "ground_truth": "45"}, "ground_truth must be a list"),
        ({"completions": "45"}, "completions must be a list with one entry for each sample, not str"),
        ({"completions": {"4": 1}}, "completions must be a list"),
        ({"completions": (c for c in "45")}, "completions must be a list"),
        ({"completions": None}, "completions must be a list"),
        ({"completions": ["4", 5]}, r"completions\[1\] must be text or a list of messages, not int"),
        ({"completions": [MESSAGES[-1:], MESSAGES[:1]]}, "the conversation ends with"),
        ({"response": ["4", "5"]}, "needs 'completions'"),
        ({"response": 5}, "response must be text, not int"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_lists_that_are_no_batch(kwargs: dict[str, Any], says: str) -> None:
    def lenient(completions, ground_truth=None, **columns):
        return [1.0 for _ in completions]

    for function in (lenient, as_async(lenient)):
        with pytest.raises(RewardError, match=says):
            asyncio.run(value_of(RewardFunction(function)(**kwargs)))


def test_a_setting_has_a_length_of_its_own() -> None:
    def listed(completions, words=("a",)):
        return [c in words for c in completions]

    found = RewardFunction(listed)(completions=["a", "b"], words=["b", "c", "d"])
    assert [result.score for result in found] == [0.0, 1.0]


@pytest.mark.parametrize("name", ["response", "completion", "solution_str"])
@pytest.mark.parametrize(
    "value", [["4", "5"], None, 5, b"4", MESSAGES[-1], {"4"}], ids=lambda v: type(v).__name__
)
def test_a_response_is_text(name: str, value: Any) -> None:
    def size(**given):
        return 1.0

    function = RewardFunction(lambda response: float(len(response)))
    for call in (function, 0.5 * function, RewardFunction(size)):
        with pytest.raises(InputError, match=f"{name} must be text, not"):
            call(**{name: value})


def test_a_conversation_without_a_response_is_not_scored() -> None:
    def size(response):
        return float(len(response))

    def turns(messages):
        return float(len(messages))

    for reward in (RewardFunction(size), 0.5 * RewardFunction(size), RewardFunction(size) + turns):
        with pytest.raises(InputError, match='ends with a message of the role "system"'):
            reward(messages=MESSAGES[:1])
    assert reward_function(size, allow_any_ending=True)(messages=MESSAGES[:1]).score is not None
    assert RewardFunction(turns)(MESSAGES[:1]).score == 1.0  # it sees the roles
