"""The sandboxes of this process, made at the first use and shared by all rewards: one for each isolation and what
is preloaded."""

from __future__ import annotations

import atexit
import os
import threading

from guerdon.sandbox.sandbox import Sandbox
from guerdon.scoring.worker import inside_worker

PRELOADED = (
    *("bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools"),
    *("json", "math", "operator", "random", "re", "statistics", "string", "typing"),
)
"""What programs of the field's data sets import, of the standard library; it is there before they start."""

_lock = threading.Lock()
_made: dict[tuple[int, str, tuple[str, ...]], Sandbox] = {}


def shared(isolation: str = "auto", preload: tuple[str, ...] = PRELOADED) -> Sandbox:
    """The sandbox of this process for an isolation and what it has loaded; it is closed when the process ends.

    In a worker of the scoring engine, of which there is one a core, it has a single fork server. Raises
    InputError for an unknown isolation.
    """
    key = (os.getpid(), isolation, preload)  # a forked process must not talk on its parent's sockets
    with _lock:
        if key not in _made:
            workers = 1 if inside_worker() else None
            _made[key] = Sandbox(isolation, workers=workers, preload=preload)
        return _made[key]


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _close() -> None:
    for (pid, *_), sandbox in _made.items():
        if pid == os.getpid():
            sandbox.close()
