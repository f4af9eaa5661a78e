"""What is not a reward and what is not an option of one: a clear error."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from guerdon import Message, RewardFunction, reward_function
from guerdon.errors import BindingError, RewardError
from support.small_rewards import length

# What it is


class NoCall:
    pass


class Needs:
    def __init__(self, path: str) -> None: ...

    def __call__(self, response: str) -> float:
        return 1.0


class Explodes(Needs):
    def __init__(self) -> None:
        raise OSError("no such file")


class Unsigned:
    __signature__ = "nonsense"

    def __call__(self, response: str) -> float:
        return 1.0


def generator(response: str) -> Iterator[float]:
    yield 1.0


async def async_generator(response: str) -> Any:
    yield 1.0


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (None, "give either func or func_path"),
        (5, "this int is not a reward: give a function, a class or a reward"),
        ("a b", "there is no reward 'a b'"),
        ([len], "this list is not a reward"),
        (Message(role="user"), "this Message is not a reward"),
        (sys, "this module is not a reward"),
        (print, r"print takes its arguments as \*args"),
        (min, "min has no signature that can be read"),
        (int, "int"),
        (dict, "dict"),
        (object, "instances of object cannot be called"),
        (NoCall, "instances of NoCall cannot be called: give it a __call__ method"),
        (NoCall(), "this NoCall is not a reward"),
        (ValueError, "instances of ValueError cannot be called"),
        (Needs, "cannot make a Needs: .*path"),
        (Explodes, "cannot make a Explodes: OSError: no such file"),
        (generator, "generator is a generator function: return the score instead of yielding it"),
        (async_generator, "async_generator is a generator function"),
        (lambda *responses: 1.0, r"lambda takes its arguments as \*responses"),
        (lambda *args, key=1: 1.0, r"lambda takes its arguments as \*args"),
    ],
)
def test_what_is_no_reward(target: Any, says: str) -> None:
    with pytest.raises(RewardError, match=says) as caught:
        RewardFunction(target)(response="x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "remote"}, 'mode must be "pointwise" or "batch", not \'remote\''),
        ({"mode": ["batch"]}, "mode must be"),
        ({"on_error": "ignore"}, 'on_error must be "result" or "raise"'),
        ({"on_error": None}, "on_error must be"),
        ({"timeout": 0}, "timeout must be a positive number of seconds, not 0"),
        ({"timeout": -1}, "timeout must be"),
        ({"timeout": math.nan}, "timeout must be"),
        ({"timeout": math.inf}, "timeout must be"),
        ({"timeout": "5"}, "timeout must be"),
        ({"timeout": True}, "timeout must be"),
        ({"concurrency": 0}, "concurrency must be a whole number of 1 or more, not 0"),
        ({"concurrency": 1.5}, "concurrency must be"),
        ({"concurrency": True}, "concurrency must be"),
        ({"metadata_schema": dict}, "metadata_schema must be a pydantic model class"),
        ({"metadata_schema": {"type": "object"}}, "metadata_schema must be"),
        ({"name": ""}, "name must be a non-empty string"),
        ({"name": " "}, "name must be"),
        ({"name": 5}, "name must be"),
        ({"id": 5}, "id must be a string"),
        ({"requirements": 5}, "requirements must be"),
        ({"requirements": [5]}, "requirements must be"),
        ({"timout": 5}, "reward_function has no option timout; there are name, id, mode"),
        ({"model_id": "x", "endpoint": "y"}, "reward_function has no option endpoint, model_id"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], says: str) -> None:
    with pytest.raises(BindingError) as caught:
        reward_function(**options)(lambda response: 1.0)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("target", [5, "math", None, [len]])
def test_the_decorator_on_what_is_no_function(target: Any) -> None:
    if target is None:
        assert callable(reward_function(target))
        return
    with pytest.raises(BindingError, match="reward_function decorates functions, not a"):
        reward_function(target)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "give either func or func_path"),
        ({"func": len, "func_path": "a:b"}, "give either func or func_path"),
        ({"func": length, "mode": "remote"}, 'a reward in mode="remote" is not made of a function here'),
        ({"func": length, "mode": "batch"}, 'mode must be one of "local", "remote", "hosted"'),
        ({"func": length, "endpoint": "http://x"}, 'a reward in mode="remote" is not made of a function'),
        ({"func": length, "model_id": "m"}, 'model_id belongs to mode="hosted"'),
        ({"func": length + length, "scale": 2}, "is a composition and takes no parameters: scale"),
        ({"func": length, "name": ""}, "name must be a non-empty string"),
    ],
)
def test_arguments_of_a_reward_function_that_do_not_fit(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(BindingError, match=says):
        RewardFunction(**arguments)
