"""Registering rewards under names, and resolving a name, a path or a function to a RewardFunction."""

from __future__ import annotations

import os
import re
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.function import RewardFunction
from guerdon.reward.names import by_name, by_path, registered


def register_reward_function(name: str, reward: Any) -> RewardFunction:
    """Give a reward a name under which every part of Guerdon finds it in this process.

    ``reward`` is anything that becomes a RewardFunction; a name that is taken is replaced, also that
    of a reward of the catalogue. Raises BindingError for a name that could be mistaken for a path.

    >>> register_reward_function("always", lambda response: 1.0).name
    'always'
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or name.endswith(".py"):
        raise BindingError(f"{name!r} is not a name for a reward: use letters, digits, - and _")
    found = resolve(reward)
    named = found if found.name == name else found.with_name(name)
    registered[name] = named
    return named


def get_reward_function(name_or_path: Any, **parameters: Any) -> RewardFunction:
    """The reward behind a name or a path, with parameters set.

    Takes a registered name, ``pkg.mod:name``, ``pkg.mod.name``, ``file.py::name``, ``file.py`` where that defines
    one reward, a folder that holds ``main.py`` with ``evaluate``, or the address of a server that scores; also a
    function, a class or a reward as it is. Raises ResolutionError with close matches where nothing is found,
    BindingError where a parameter does not exist.
    """
    return resolve(name_or_path, **parameters)


def resolve(spec: Any, /, **parameters: Any) -> RewardFunction:
    """See get_reward_function."""
    if spec is None:
        raise BindingError("None is not a reward: give a function, a class, a reward or the name of one")
    if isinstance(spec, str) and spec.startswith(("http://", "https://")):
        return RewardFunction(endpoint=spec, mode="remote", **parameters)
    name = spec.options.name if isinstance(spec, RewardFunction) else None
    if isinstance(spec, str) and (found := by_name(spec)) is not None:
        name, spec = spec, found
    elif isinstance(spec, str | os.PathLike):
        spec = by_path(spec)
        name = spec.options.name if isinstance(spec, RewardFunction) else None
    if isinstance(spec, RewardFunction) and not parameters:
        return spec if name in (None, spec.name) else spec.with_name(name)
    return RewardFunction.of_target(spec, parameters, name)
