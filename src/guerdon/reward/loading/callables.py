"""The callables that become rewards besides plain functions: classes, instances, reward servers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from guerdon.checks import text_of
from guerdon.errors import BindingError, RewardError
from guerdon.types import Message


@runtime_checkable
class ServerLike(Protocol):
    """The part of a RewardServer that is used: its ``score`` and a request built for it."""

    def make_request(self, messages: list[Message], metadata: Mapping[str, Any]) -> Any: ...

    async def score(self, request: Any) -> Any: ...


class ServerScore:
    """A reward server as a pointwise function: the conversation becomes its turns.

    A field of the metadata class that is not a column is looked for among what every sample has, such as
    ``ground_truth``. Raises InputError where the metadata does not fit the server's metadata class.
    """

    def __init__(self, server: ServerLike) -> None:
        self.server = server

    async def __call__(self, messages: list[Message], metadata: dict[str, Any], **offered: Any) -> Any:
        fields = getattr(getattr(self.server, "metadata_cls", None), "model_fields", ())
        known = {name: value for name, value in offered.items() if name in fields and value is not None}
        result: Any = self.server.score(self.server.make_request(messages, {**known, **metadata}))
        return await result if inspect.isawaitable(result) else result  # a plain function will do


def callable_behind(target: Any, fixed: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function to call for a target, and the fixed arguments that are left for it.

    A class is instantiated with those fixed arguments that its constructor names; a RewardServer
    subclass is built without being started. Raises BindingError for what cannot be called.
    """
    left = dict(fixed)
    if isinstance(target, type):
        target = _instance(target, left)
    if isinstance(target, ServerLike) and not inspect.isroutine(target):
        return ServerScore(target), left
    if not callable(target):
        raise BindingError(
            f"this {type(target).__name__} is not a reward: give a function, a class or a reward"
        )
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise BindingError(
            f"{name_of(target)} is a generator function: return the score instead of yielding it"
        )
    return target, left


def _instance(cls: type, left: dict[str, Any]) -> Any:
    build = getattr(cls, "detached", cls)
    # Asked of the class itself, `__call__` would be found on its metaclass.
    if build is cls and not any("__call__" in vars(base) for base in cls.__mro__):
        raise BindingError(f"instances of {cls.__name__} cannot be called: give it a __call__ method")
    names = constructor_names(cls)
    mine = {name: left.pop(name) for name in list(left) if name in names}
    try:
        return build(**mine)
    except RewardError:
        raise
    except Exception as error:  # the edge to the user's own constructor
        reason = str(error) if isinstance(error, TypeError) else text_of(error)
        raise BindingError(f"cannot make a {cls.__name__}: {reason}") from error


def constructor_names(cls: type) -> list[str]:
    """The parameters of a class's constructor, without ``self``."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return []
    gathered = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind not in gathered]


def name_of(target: Any) -> str:
    """The name by which a target is known: a function's, a class's, ``lambda`` for a lambda."""
    if isinstance(target, functools.partial):
        return name_of(target.func)
    name = getattr(target, "__name__", None) or type(target).__name__
    return "lambda" if name == "<lambda>" else str(name)


def is_async_callable(target: Any) -> bool:
    """Whether calling the target gives an awaitable."""
    if isinstance(target, functools.partial):
        return is_async_callable(target.func)
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)
    )
