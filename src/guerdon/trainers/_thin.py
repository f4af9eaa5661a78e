"""The thin file in which a trainer finds a reward, for the trainers that import one."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from guerdon.trainers.registry import Wanted


def word(wanted: Wanted) -> str:
    """The reward's name as a Python name."""
    name = re.sub(r"\W", "_", wanted.reward.name)
    return f"reward_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name


def module_name(wanted: Wanted, trainer: str) -> str:
    """The thin file's name without its suffix; with the trainer's, so that it hides no module of that name."""
    return f"{word(wanted)}_{trainer}"


def located(spec: str) -> str:
    """How a reward is named from wherever the trainer runs: a file by its whole path.

    >>> located("math"), located("https://rewards.example/math")
    ('math', 'https://rewards.example/math')
    """
    path, separator, name = spec.partition("::")
    if spec.startswith(("http://", "https://")) or not (separator or path.endswith(".py")):
        return spec
    return f"{Path(path).resolve()}{separator}{name}"


def expression(wanted: Wanted, method: str) -> str:
    """The Python expression for what the trainer takes, such as ``guerdon.get_reward_function("math").to_trl()``."""
    given = [repr(located(wanted.spec)), *(f"{n}={v!r}" for n, v in wanted.parameters.items())]
    options = ", ".join(f"{name}={value!r}" for name, value in wanted.options.items())
    return f"guerdon.get_reward_function({', '.join(given)}).{method}({options})"


def module_text(wanted: Wanted, title: str, method: str) -> str:
    """The thin file for a trainer that imports a reward by its name."""
    return (
        f'"""The reward {wanted.reward.name} for {title}."""\n\n'
        "import guerdon\n\n"
        f"{word(wanted)} = {expression(wanted, method)}\n"
    )
