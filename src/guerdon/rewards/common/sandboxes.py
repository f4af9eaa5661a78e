"""The sandboxes of this process, made at the first use and shared by all rewards: one for each isolation and what
is preloaded."""

from __future__ import annotations

import atexit
import os
import threading

from guerdon.errors import SandboxError
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.sandbox import Sandbox
from guerdon.scoring.worker.entry import inside_worker

PRELOADED = (
    *("bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools"),
    *("json", "math", "operator", "random", "re", "statistics", "string", "typing"),
)
"""What programs of the field's data sets import, of the standard library; it is there before they start."""


class _SharedSandboxes:
    """What was made so far. Private to an object, so that using a reward does not change its version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sandboxes: dict[tuple[int, str, tuple[str, ...]], Sandbox] = {}

    def of(self, isolation: str, preload: tuple[str, ...]) -> Sandbox:
        key = (os.getpid(), isolation, preload)  # a forked process must not talk on its parent's sockets
        with self._lock:
            if key not in self._sandboxes:
                workers = 1 if inside_worker() else None
                self._sandboxes[key] = Sandbox(isolation, workers=workers, preload=preload)
            return self._sandboxes[key]

    def after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it

    def close(self) -> None:
        for (pid, *_), sandbox in self._sandboxes.items():
            if pid == os.getpid():
                sandbox.close()


_shared = _SharedSandboxes()
os.register_at_fork(after_in_child=_shared.after_fork)
atexit.register(_shared.close)


def reach(isolation: str = "auto", **_: object) -> None:
    """Raise SandboxError where no tier of an isolation holds on this machine."""
    reason = tiers.chosen(isolation)[1]
    if reason:
        raise SandboxError(f"the sandbox cannot be used here: {reason}")


def shared(isolation: str = "auto", preload: tuple[str, ...] = PRELOADED) -> Sandbox:
    """The sandbox of this process for an isolation and what it has loaded; it is closed when the process ends.

    In a worker of the scoring engine, of which there is one a core, it has a single fork server. Raises
    InputError for an unknown isolation.
    """
    return _shared.of(isolation, preload)
