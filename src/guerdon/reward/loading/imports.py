"""Importing what a path names: ``file.py::name``, ``pkg.mod:name``, ``pkg.mod.name``, or a folder."""

from __future__ import annotations

import difflib
import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from guerdon.errors import ResolutionError
from guerdon.reward.loading.modules import failed_import, load_file

FOLDER_FILE, FOLDER_FUNCTION = "main.py", "evaluate"


def is_path(text: str) -> bool:
    """Whether a text is written like a path to a reward rather than like a registered name."""
    return ":" in text or text.endswith(".py") or os.path.isdir(text) or _is_dotted(text)


def _is_dotted(text: str) -> bool:
    return "." in text and all(part.isidentifier() for part in text.split("."))


def import_target(path: str) -> Any:
    """What a path leads to. Raises ResolutionError that says what was looked for, with close matches."""
    if "::" in path:
        file, _, name = path.rpartition("::")
        return _from_file(file, name)
    if ":" in path:
        module, _, name = path.partition(":")
        return _attribute(_module(module, path), name, path)
    if os.path.isdir(path):
        return _from_folder(Path(path))
    if _is_dotted(path):
        module, _, name = path.rpartition(".")
        return _attribute(_module(module, path), name, path)
    raise ResolutionError(
        f"{path!r} is not a path to a reward: write file.py::name, pkg.mod:name, pkg.mod.name or a folder",
        path=path,
    )


def check_file(file: str) -> None:
    """Raises ResolutionError, with close matches, where there is no such file."""
    path = Path(file)
    if not os.path.isfile(path):
        folder = path.parent if path.parent.is_dir() else Path()
        near = difflib.get_close_matches(path.name, [p.name for p in folder.glob("*.py")], n=2, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ResolutionError(f"there is no file {file}{hint}", path=file)


def _from_file(file: str, name: str) -> Any:
    check_file(file)
    return _attribute(load_file(file), name, f"{file}::{name}")


def _from_folder(folder: Path) -> Any:
    if not (folder / FOLDER_FILE).is_file():
        raise ResolutionError(f"the folder {folder} has no {FOLDER_FILE}", path=str(folder))
    return _attribute(load_file(folder / FOLDER_FILE), FOLDER_FUNCTION, str(folder))


def _module(name: str, path: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ResolutionError(f"{path!r} leads nowhere: {name!r} is not a module name", path=path)
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the edge to the user's module
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and name.split(".")[: len(absent.split("."))] == absent.split("."):
            raise ResolutionError(
                f"{path!r} leads nowhere: there is no module {absent!r} here or on PYTHONPATH", path=path
            ) from None
        raise failed_import(error, name) from error


def _attribute(module: ModuleType, name: str, path: str) -> Any:
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is None:
        there = [n for n, v in vars(module).items() if not n.startswith("_") and _is_own(v, module)]
        close = difflib.get_close_matches(name, there, n=3, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else f"it has: {', '.join(there) or 'nothing to call'}"
        )
        raise ResolutionError(f"there is no {name!r} in {path}; {hint}", path=path)
    return target


def _is_own(value: Any, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__
