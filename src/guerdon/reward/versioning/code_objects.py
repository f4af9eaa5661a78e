"""What a code object refers to: global names, and modules that it imports when it runs."""

from __future__ import annotations

import dis
import importlib.util
import types
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any


def global_names(code: types.CodeType) -> Iterator[str]:
    """The global names and attributes that the code and its inner functions name."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


def imported_modules(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[str]:
    """The modules that the code imports when it runs, by their full names."""
    level: int = 0
    listed: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            level, listed = (listed if isinstance(listed, int) else 0), step.argval
        elif step.opname == "IMPORT_NAME":
            module = step.argval
            if level:
                parents = str(names.get("__package__") or "").split(".")
                module = ".".join([*parents[: len(parents) - level + 1], *filter(None, [module])])
            yield module
            yield from (f"{module}.{name}" for name in listed or () if isinstance(listed, tuple))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from imported_modules(constant, names)


def source_file_of(module: str) -> Path | None:
    """The source file of a module, without importing it; None where there is none."""
    package, *rest = module.split(".")
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return None
    # Step by step, since asking for the whole name would import the package.
    for part in rest:
        if found is None or found.submodule_search_locations is None:
            return None
        package = f"{package}.{part}"
        found = PathFinder.find_spec(package, list(found.submodule_search_locations))
    origin = None if found is None else found.origin
    return Path(origin) if origin and origin.endswith(".py") and Path(origin).is_file() else None
