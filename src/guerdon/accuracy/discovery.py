"""Which suites there are, and where their data is."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from collections.abc import Sequence
from pathlib import Path

from guerdon.accuracy import suites as package
from guerdon.accuracy.suite import Suite
from guerdon.errors import InputError

DATA_VARIABLE = "GUERDON_DATA"


def find_suites() -> tuple[Suite, ...]:
    """The suites of ``guerdon.accuracy.suites``, by name: each module's ``SUITE`` or ``SUITES``.

    Modules that start with ``_`` are helpers.
    """
    found: list[Suite] = []
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        single: Suite | None = getattr(loaded, "SUITE", None)
        several: tuple[Suite, ...] = getattr(loaded, "SUITES", ())
        found += [single] if single is not None else several
    return tuple(sorted(found, key=lambda suite: suite.name))


def choose(names: Sequence[str], suites: Sequence[Suite]) -> list[Suite]:
    """The suites of these names, in the order of the names; all where there are none.

    Raises InputError for a name that no suite has.
    """
    by_name = {suite.name: suite for suite in suites}
    for name in names:
        if name not in by_name:
            close = difflib.get_close_matches(name, by_name, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(by_name) or 'none'}"
            raise InputError(f"there is no suite {name!r}; {hint}")
    return [by_name[name] for name in dict.fromkeys(names)] if names else list(suites)


def data_folder(given: str | Path | None = None) -> Path:
    """The folder of the labelled data: ``given``, else ``$GUERDON_DATA``, else ``../shared/data``.

    Raises InputError where it is not a folder.
    """
    variable = os.environ.get(DATA_VARIABLE, "").strip()
    folder = Path(given or variable or Path("..") / "shared" / "data")
    if not folder.is_dir():
        raise InputError(
            f"there is no folder of labelled data at {folder}: "
            f"set {DATA_VARIABLE} to where it is, or give --data DIR"
        )
    return folder


def absent_files(suite: Suite, folder: Path) -> list[str]:
    """The files of a suite that are not in the folder."""
    return [name for name in suite.files if not (folder / name).exists()]
