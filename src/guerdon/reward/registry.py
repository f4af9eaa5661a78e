"""Names for rewards, and the one place where a string becomes a reward."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, Any

from guerdon.errors import BindingError, ResolutionError, RewardError
from guerdon.reward.function import RewardFunction
from guerdon.reward.imports import import_target, is_path
from guerdon.types import text_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "guerdon.rewards"

_registered: dict[str, RewardFunction] = {}


def register_reward_function(name: str, reward: Any) -> RewardFunction:
    """Give a reward a name under which every part of Guerdon finds it in this process.

    ``reward`` is anything that becomes a RewardFunction; a name that is taken is given anew, also that
    of a reward of the catalogue. Raises BindingError for a name that could be mistaken for a path.

    >>> register_reward_function("always", lambda response: 1.0).name
    'always'
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or name.endswith(".py"):
        raise BindingError(f"{name!r} is no name for a reward: use letters, digits, - and _")
    found = resolve(reward)
    _registered[name] = found if found.name == name else found.named(name)
    return _registered[name]


def get_reward_function(name_or_path: Any, **parameters: Any) -> RewardFunction:
    """The reward behind a name or a path, with parameters set.

    Takes a registered name, ``pkg.mod:name``, ``pkg.mod.name``, ``file.py::name``, or a folder that holds
    ``main.py`` with ``evaluate``; also a function, a class or a reward as it is. Raises ResolutionError
    with close matches where nothing is found, BindingError where a parameter does not exist.
    """
    return resolve(name_or_path, **parameters)


def resolve(spec: Any, **parameters: Any) -> RewardFunction:
    """See get_reward_function."""
    if spec is None:
        raise BindingError("None is no reward: give a function, a class, a reward or the name of one")
    if isinstance(spec, str | os.PathLike):
        spec = _named(spec) if isinstance(spec, str) else import_target(os.fspath(spec))
    if isinstance(spec, RewardFunction) and not parameters:
        return spec
    name = spec.options.name if isinstance(spec, RewardFunction) else None
    return RewardFunction(spec, name=name, **parameters)


def registered_names() -> list[str]:
    """Every name there is: registered in this process, and offered by installed packages."""
    return sorted({*_registered, *_entry_points()})


def _named(text: str) -> Any:
    """What a string means: a registered name before a path."""
    if not text.strip():
        raise ResolutionError("the name of a reward is empty; see: guerdon rewards")
    found = _by_name(text)
    if found is None and not is_path(text):
        raise ResolutionError(_nothing_by_name(text), path=text)
    return import_target(text) if found is None else found


def _by_name(name: str) -> RewardFunction | None:
    if name in _registered:
        return _registered[name]
    point = _entry_points().get(name)
    if point is None:
        return None
    try:
        target = point.load()
    except (Exception, SystemExit) as error:  # the edge to another package's code
        if isinstance(error, RewardError):
            raise
        reason = str(error) if isinstance(error, ImportError) else text_of(error)
        raise ResolutionError(f"the reward {name!r} cannot be loaded from {point.value}: {reason}") from error
    reward = target if isinstance(target, RewardFunction) else RewardFunction(target)
    return reward if reward.name == name else reward.named(name)


def _entry_points() -> dict[str, EntryPoint]:
    # Here, since importing guerdon would cost a tenth more with it.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _nothing_by_name(name: str) -> str:
    names = registered_names()
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"registered are: {', '.join(names) or 'none'}"
    return f"there is no reward {name!r}; {hint} A path is written file.py::name, pkg.mod:name or folder"
