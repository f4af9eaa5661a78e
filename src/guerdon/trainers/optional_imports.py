"""The packages of trainers, which are imported where an adapter needs them and nowhere else."""

from __future__ import annotations

import importlib
from typing import Any

from guerdon.errors import BindingError, MissingExtraError
from guerdon.trainers.adapter import Adapter


def package(module: str, install: str, what: str) -> Any:
    """The module of a trainer's package. Raises MissingExtraError that names the line which installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if missing.partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(f"{what} needs a package: {install}", extra=missing) from None


def refuse_skip(adapter: Adapter, title: str) -> None:
    """Raise BindingError where failed samples are to be skipped and the trainer takes nothing but numbers."""
    if adapter.on_failure == "skip":
        raise BindingError(f'{title} cannot skip a sample: on_failure must be "raise" or a number')
