"""Which backends there are."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping

from guerdon.errors import InputError
from guerdon.train.backend import Backend

BACKENDS: Mapping[str, str] = {
    "trl": "guerdon.train.backends.trl.backend:TrlBackend",
    "tunix": "guerdon.train.backends.tunix.backend:TunixBackend",
}
"""Name of each backend and where it is; imported when it is used."""


def find_backend(name: str) -> Backend:
    """The backend of this name. Raises InputError that names the nearest one there is."""
    if name not in BACKENDS:
        close = difflib.get_close_matches(name, BACKENDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(BACKENDS)}"
        raise InputError(f"there is no backend {name!r}; {hint}")
    module, _, attribute = BACKENDS[name].partition(":")
    backend: Backend = getattr(importlib.import_module(module), attribute)()
    return backend
