"""The dependencies that a version was computed from, so that a change is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COMPARED_SIZE = 1000
"""The most entries of a container whose contents are compared."""


class DependencySnapshot:
    """The globals and rewards that a version was computed from, as they were then.

    Running a notebook cell again, or reloading a module, rebinds a name; the
    function that refers to it stays the same object, and its version must not.
    """

    def __init__(self) -> None:
        self._globals: list[tuple[Mapping[str, Any], str, Any, Any]] = []
        self._rewards: list[tuple[Any, str]] = []

    def record_global(self, names: Mapping[str, Any], name: str, target: Any) -> None:
        """Remember what a global name stands for, and what a small container holds."""
        held = target.copy() if type(target) in (list, dict, set) and len(target) <= _COMPARED_SIZE else None
        self._globals.append((names, name, target, held))

    def record_reward(self, reward: Any) -> str:
        """Remember the version of a reward that this one is made of, and give it."""
        version: str = reward.version
        self._rewards.append((reward, version))
        return version

    def is_current(self) -> bool:
        """Whether no dependency has changed."""
        for names, name, target, held in self._globals:
            if names.get(name) is not target or (held is not None and not _same(target, held)):
                return False
        return all(reward.version == version for reward, version in self._rewards)


def _same(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # comparing runs the code of what the container holds
        return False
