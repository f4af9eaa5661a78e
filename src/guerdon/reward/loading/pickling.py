"""How rewards are pickled: by their module's name for them, if there is one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from guerdon.errors import ResolutionError
from guerdon.reward.loading.modules import is_file_module, know_files, loaded_files


def pickled_by_cloudpickle(frame: FrameType | None) -> bool:
    """Whether the pickler at work is cloudpickle's, or that of a copy of it, such as Ray's."""
    while frame is not None and frame.f_globals.get("__name__") in ("copyreg", "pickle"):
        frame = frame.f_back
    return frame is not None and "cloudpickle" in str(frame.f_globals.get("__name__"))


def look_up(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


class LoadedFiles:
    """Is pickled before objects of files that were loaded by their paths, so that unpickling finds the files."""

    def __reduce__(self) -> tuple[Any, ...]:
        return know_files, (loaded_files(),)


def look_up_or_raise(module: str, qualname: str, files: Mapping[str, str] | None = None) -> Any:
    if files:
        know_files(files)
    importlib.import_module(module)
    found = look_up(module, qualname)
    if found is None:
        name = "the file" if is_file_module(module) else module
        raise ResolutionError(f"{name} has no {qualname}")
    return found
