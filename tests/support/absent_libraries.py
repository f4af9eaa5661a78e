"""What a reward says where a library that it needs is not installed."""

from __future__ import annotations

import subprocess
import sys


def said_without(library: str, reward: str, **parameters: object) -> str:
    """The error of a sample, with its kind, in a process that cannot import the library."""
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from guerdon import get_reward_function\n"
        f"result = get_reward_function({reward!r}, **{parameters!r})(response='Der Zug kommt an.')\n"
        "print(result.error_kind, result.error)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
