"""Names for rewards, and the one place where a string becomes a reward."""

from __future__ import annotations

import difflib
import importlib
import os
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from guerdon.errors import BindingError, ResolutionError, RewardError
from guerdon.reward.function import RewardFunction
from guerdon.reward.modules import failed_import, load_file
from guerdon.types import text_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "guerdon.rewards"
FOLDER_FILE, FOLDER_FUNCTION = "main.py", "evaluate"

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
        found = _by_name(os.fspath(spec)) if isinstance(spec, str) else None
        spec = found if found is not None else import_target(os.fspath(spec))
    if isinstance(spec, RewardFunction) and not parameters:
        return spec
    name = spec.options.name if isinstance(spec, RewardFunction) else None
    return RewardFunction(spec, name=name, **parameters)


def registered_names() -> list[str]:
    """Every name there is: registered in this process, and offered by installed packages."""
    return sorted({*_registered, *_entry_points()})


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


def import_target(path: str) -> Any:
    """What a path leads to. Raises ResolutionError that says what was looked for and what is near."""
    if not path.strip():
        raise ResolutionError("the name of a reward is empty; see: guerdon rewards")
    if "::" in path:
        file, _, name = path.rpartition("::")
        return _from_file(file, name)
    if ":" in path:
        module, _, name = path.partition(":")
        return _attribute(_module(module, path), name, path)
    if os.path.isdir(path):
        return _from_folder(Path(path))
    if path.endswith(".py"):
        raise ResolutionError(f"{path} names a file but no function; write {path}::name", path=path)
    if "." in path and all(part.isidentifier() for part in path.split(".")):
        module, _, name = path.rpartition(".")
        return _attribute(_module(module, path), name, path)
    raise ResolutionError(_nothing_by_name(path), path=path)


def _nothing_by_name(name: str) -> str:
    names = registered_names()
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"registered are: {', '.join(names) or 'none'}"
    return f"there is no reward {name!r}; {hint} A path is written file.py::name, pkg.mod:name or folder"


def _from_file(file: str, name: str) -> Any:
    path = Path(file)
    if not os.path.isfile(path):
        folder = path.parent if path.parent.is_dir() else Path()
        near = difflib.get_close_matches(path.name, [p.name for p in folder.glob("*.py")], n=2, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ResolutionError(f"there is no file {file}{hint}", path=file)
    return _attribute(load_file(path), name, f"{file}::{name}")


def _from_folder(folder: Path) -> Any:
    if not (folder / FOLDER_FILE).is_file():
        raise ResolutionError(f"the folder {folder} has no {FOLDER_FILE}", path=str(folder))
    return _attribute(load_file(folder / FOLDER_FILE), FOLDER_FUNCTION, str(folder))


def _module(name: str, path: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ResolutionError(f"{path!r} leads nowhere: {name!r} is no name of a module", path=path)
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
