"""What thin files and configurations are written from: a reward and its options as source text."""

from __future__ import annotations

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
    """A reward's name as a Python module may have it.

    >>> slug("accuracy-format v1")
    'accuracy_format_v1'
    """
    return re.sub(r"\W+", "_", name).strip("_").lower() or "reward"


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
