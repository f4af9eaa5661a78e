"""The thin file that plugs a reward into a trainer that wants one."""

from __future__ import annotations

import keyword
import os
from collections.abc import Mapping
from typing import Any

from guerdon.trainers.registry import Wanted


def absolute(spec: str) -> str:
    """A reward's name with the file in it as an absolute path: trainers work in folders of their own.

    >>> absolute("math"), absolute("/rewards/mine.py::brief")
    ('math', '/rewards/mine.py::brief')
    """
    path, colons, name = spec.partition("::")
    if colons or path.endswith(".py") or (os.sep in path and os.path.isdir(path)):
        return f"{os.path.abspath(path)}{colons}{name}"
    return spec


def thin_file(wanted: Wanted, *, title: str, attribute: str, trainer: str) -> str:
    """The text of a module whose ``attribute`` is the reward as ``trainer`` takes it; ``title`` is its own name."""
    method = f"to_{trainer.replace('-', '_')}"
    found = call("get_reward_function", [absolute(wanted.spec)], wanted.parameters)
    return (
        f'"""{wanted.reward.name} for {title}."""\n\n'
        "from guerdon import get_reward_function\n\n"
        f"{attribute} = {found}.{call(method, [], wanted.options)}\n"
    )


def call(function: str, values: list[Any], named: Mapping[str, Any]) -> str:
    """The source of a call.

    >>> call("get", ["math"], {"tolerance": 0.1, "class": 1})
    "get('math', tolerance=0.1, **{'class': 1})"
    """
    fit = {
        name: value for name, value in named.items() if name.isidentifier() and not keyword.iskeyword(name)
    }
    rest = {name: value for name, value in named.items() if name not in fit}
    parts = [repr(value) for value in values] + [f"{name}={value!r}" for name, value in fit.items()]
    return f"{function}({', '.join([*parts, f'**{rest!r}'] if rest else parts)})"
