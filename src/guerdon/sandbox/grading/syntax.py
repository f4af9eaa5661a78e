"""Python's own parser and compiler, from any thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 20
_lock = threading.Lock()


def alone(work: Callable[[], T]) -> T:
    """What ``work`` gives, which parses or compiles syntax trees, with nobody here doing so at the same time.

    Python 3.11 counts the depth of a tree once for all threads (python/cpython#106905) and raises SystemError
    where two are at it. What other parts of the program parse meanwhile is met by trying again. Raises what
    ``work`` raises.

    >>> import ast
    >>> ast.unparse(alone(lambda: ast.parse("a  +  1")))
    'a + 1'
    """
    for _ in range(_TRIES - 1):
        try:
            with _lock:
                return work()
        except SystemError:
            continue
    with _lock:
        return work()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)
