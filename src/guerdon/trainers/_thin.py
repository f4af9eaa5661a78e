"""What thin files and configurations are written from: a reward and its options as source text."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.trainers.registry import Wanted


def located(spec: str) -> str:
    """A spec that holds in any folder: the path of a file made absolute, anything else as it is.

    >>> located("math"), located("https://example.com/score"), located("pkg.rewards:exact")
    ('math', 'https://example.com/score', 'pkg.rewards:exact')
    """
    if spec.startswith(("http://", "https://")):
        return spec
    path, mark, name = spec.partition("::")
    if mark or os.sep in path or Path(path).exists():
        return f"{Path(path).expanduser().resolve()}{mark}{name}"
    return spec


def reward_source(wanted: Wanted) -> str:
    """The Python expression that makes the reward; it needs ``from guerdon import get_reward_function``.

    Raises InputError for a parameter that no literal can stand for.
    """
    return f"get_reward_function({', '.join([repr(located(wanted.spec)), *_keywords(wanted.parameters)])})"


def options_source(options: Mapping[str, Any]) -> str:
    """The adapter's options as keyword arguments.

    >>> options_source({"on_failure": 0.5, "workers": 2})
    'on_failure=0.5, workers=2'
    """
    return ", ".join(_keywords(options))


def slug(name: str) -> str:
    """A reward's name as a Python module, a function or a variable may have it.

    >>> slug("accuracy-format v1"), slug("class"), slug("2nd")
    ('accuracy_format_v1', 'reward_class', 'reward_2nd')
    """
    found = re.sub(r"\W+", "_", name).strip("_")
    return f"reward_{found}".rstrip("_") if not found.isidentifier() or keyword.iskeyword(found) else found


def word(wanted: Wanted) -> str:
    """The reward's name as a Python name."""
    return slug(wanted.reward.name)


def module_name(wanted: Wanted, trainer: str) -> str:
    """The thin file's name without its suffix; with the trainer's, so that it hides no module of that name."""
    return f"{word(wanted)}_{trainer}"


def expression(wanted: Wanted, method: str) -> str:
    """The Python expression for what the trainer takes; it needs ``from guerdon import get_reward_function``."""
    return f"{reward_source(wanted)}.{method}({options_source(wanted.options)})"


def module_text(wanted: Wanted, title: str, method: str) -> str:
    """The thin file for a trainer that imports a reward by its name."""
    return (
        f'"""The reward {wanted.reward.name} for {title}."""\n\n'
        "from guerdon import get_reward_function\n\n"
        f"{word(wanted)} = {expression(wanted, method)}\n"
    )


def _keywords(values: Mapping[str, Any]) -> list[str]:
    for name, value in values.items():
        if not _is_literal(value):
            raise InputError(
                f"{name}={value!r} cannot be written to a file; fix it in a reward of your own and name that"
            )
    if all(name.isidentifier() for name in values):
        return [f"{name}={value!r}" for name, value in values.items()]
    return [f"**{dict(values)!r}"]


def _is_literal(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_literal(k) and _is_literal(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_literal, value))
    return value is None or type(value) in (str, int, float, bool)
