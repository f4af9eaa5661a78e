"""The rewards that a file defines, for a path that names the file alone."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from guerdon.errors import ResolutionError
from guerdon.reward.binding.conventions import BATCH_NAMES, COMPLETION_NAMES
from guerdon.reward.identity import RewardIdentity
from guerdon.reward.loading.callables import ServerLike
from guerdon.reward.loading.imports import check_file
from guerdon.reward.loading.modules import load_file

_FILE_AND_NAME = re.compile(r"(.+\.py):([A-Za-z_][\w.]*)", re.DOTALL)
_TEXT_RETURNS = ("str", "bytes", "list[str]")
_COMPOUND = (ast.If, ast.Try, ast.With)


def full_path(path: str) -> str:
    """A path with the function in it: ``file.py:name`` as ``file.py::name``, and ``file.py`` with its only reward.

    Any other text is given back as it is. Raises ResolutionError for a file that defines none or several, with
    the several as ``rewards``.

    >>> full_path("mine.py:brief"), full_path("mine.py::brief"), full_path("pkg.mod:brief"), full_path("math")
    ('mine.py::brief', 'mine.py::brief', 'pkg.mod:brief', 'math')
    """
    if found := _FILE_AND_NAME.fullmatch(path):
        return f"{found[1]}::{found[2]}"
    if not path.endswith(".py") or ":" in path or os.path.isdir(path):
        return path
    return f"{path}::{_only_reward(path)}"


def rewards_in(module: ModuleType, source: str) -> list[str]:
    """The rewards that a module defines: those decorated, else its public functions and classes shaped like one.

    What it imports is not among them, nor a function that returns text.
    """
    named = [(name, getattr(module, name, None)) for name in defined_names(source)]
    decorated = [name for name, value in named if isinstance(value, RewardIdentity)]
    return decorated or [name for name, value in named if _is_shaped_like_a_reward(value)]


def defined_names(source: str) -> list[str]:
    """The public names that a source text defines at its top level, in order; not those that it imports.

    >>> defined_names("import re\\ndef exact(response): ...\\nshort = lambda response: 1\\n_half = 0.5")
    ['exact', 'short']
    """
    return list(dict.fromkeys(n for n in _bound(ast.parse(source).body) if not n.startswith("_")))


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(statement, _COMPOUND):
            for part in ("body", "orelse", "finalbody"):
                yield from _bound(getattr(statement, part, []))


def _is_shaped_like_a_reward(value: Any) -> bool:
    if isinstance(value, type):
        if all(hasattr(value, name) for name in ("make_request", "score")):
            return not inspect.isabstract(value)
        call = next((vars(base)["__call__"] for base in value.__mro__ if "__call__" in vars(base)), None)
        return isinstance(call, FunctionType) and _reads_a_response(call)
    if isinstance(value, ServerLike):
        return True
    return callable(value) and _reads_a_response(value)


def _reads_a_response(function: Any) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    returns = signature.return_annotation
    shown = returns if isinstance(returns, str) else inspect.formatannotation(returns)
    if shown.startswith(_TEXT_RETURNS) or inspect.isgeneratorfunction(function):
        return False
    return bool(signature.parameters.keys() & (COMPLETION_NAMES | BATCH_NAMES))


def _only_reward(file: str) -> str:
    check_file(file)
    names = rewards_in(load_file(file), Path(file).read_text(encoding="utf-8", errors="replace"))
    if not names:
        raise ResolutionError(
            f"{file} defines no reward: a function with a parameter response or completions; "
            f"name one that is called otherwise: {file}::name",
            path=file,
        )
    if len(names) > 1:
        others = ", ".join(f"{file}::{name}" for name in names)
        raise ResolutionError(
            f"{file} defines {len(names)} rewards; name one of them: {others}", path=file, rewards=names
        )
    return names[0]
