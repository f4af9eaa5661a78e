"""The names of rewards: registered in this process, offered by installed packages, or written as paths."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.checks import text_of
from guerdon.errors import ResolutionError, RewardError
from guerdon.reward.loading.imports import import_target, is_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "guerdon.rewards"

registered: dict[str, Any] = {}
"""What this process registered, by name."""


def registered_names() -> list[str]:
    """Every name there is: registered in this process, and offered by installed packages."""
    return sorted({*registered, *_entry_points()})


def is_registered(name: str) -> bool:
    """Whether a name is registered in this process or offered by an installed package; loads nothing."""
    return name in registered or name in _entry_points()


def find_target(spec: str | os.PathLike[str]) -> Any:
    """What a string or a path means: a registered name before a path.

    Raises ResolutionError with close matches where it means nothing.
    """
    found = by_name(spec) if isinstance(spec, str) else None
    return by_path(spec) if found is None else found


def by_name(name: str) -> Any:
    """What is registered under a name; None where nothing is."""
    if name in registered:
        return registered[name]
    point = _entry_points().get(name)
    return None if point is None else _loaded(point)


def by_path(path: str | os.PathLike[str]) -> Any:
    """What a path leads to. Raises ResolutionError, which offers names where it looks like one."""
    text = os.fspath(path)
    if not text.strip():
        raise ResolutionError("the name of a reward is empty; see: guerdon rewards")
    if isinstance(path, str) and not is_path(text):
        raise ResolutionError(_nothing_by_name(text), path=text)
    if os.path.isfile(text) and not text.endswith(".py"):
        raise ResolutionError(
            f"{text} is a file, and not of Python: a reward is written file.py, file.py::name or pkg.mod:name",
            path=text,
        )
    # Here: it knows what samples are, and a list of names should not wait for that.
    from guerdon.reward.discovery import full_path

    return import_target(full_path(text))


def docstrings() -> dict[str, str | None]:
    """Every name with its docstring, as far as one is read from the source; None where the reward must be loaded.

    That is what Guerdon's own are read from: loading them all takes a second.
    """
    points = _entry_points()
    return {
        name: None if name in registered else _docstring_in_source(points[name])
        for name in sorted({*registered, *points})
    }


def _docstring_in_source(point: EntryPoint) -> str | None:
    if not point.module.startswith("guerdon."):
        return None  # another package's reward may fail to load, which only loading shows
    spec = importlib.util.find_spec(point.module)
    if spec is None or spec.origin is None:
        return None
    for statement in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == point.attr:
            return ast.get_docstring(statement)
    return None


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # the edge to another package's code
        if isinstance(error, RewardError):
            raise
        reason = str(error) if isinstance(error, ImportError) else text_of(error)
        raise ResolutionError(
            f"the reward {point.name!r} cannot be loaded from {point.value}: {reason}"
        ) from error


def _entry_points() -> dict[str, EntryPoint]:
    # Here, since importing guerdon would cost a tenth more with it.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _nothing_by_name(name: str) -> str:
    names = registered_names()
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(close)}?" if close else f"registered are: {', '.join(names) or 'none'}."
    )
    return f"there is no reward {name!r}; {hint} A path is written file.py, file.py::name, pkg.mod:name or folder"
