"""Python's own parser and compiler, from any thread."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 20
_DOTS = 200
"""Full stops of one import: the parser keeps each beginning of such a name, which takes quadratic memory."""
_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
_IMPORTED = re.compile(r"\b(?:import|from)\b((?:[ \t\f.]|\w)*)")
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


def too_long(source: str, tokens: int) -> str | None:
    """Why a source is not to be parsed; None where parsing it takes about 1 kB of memory for each of its ``tokens``.

    >>> too_long("import a" + ".a" * 1000, 50_000)
    'an import of more than 200 parts'
    """
    if len(source) > tokens and sum(1 for _ in _TOKEN.finditer(source)) > tokens:
        return f"more than {tokens:,} tokens"
    if source.count(".") > _DOTS:
        joined = source.replace("\r\n", "\n").replace("\r", "\n").replace("\\\n", "")
        for line in joined.split("\n"):
            if line.count(".") > _DOTS and any(name.count(".") > _DOTS for name in _IMPORTED.findall(line)):
                return f"an import of more than {_DOTS} parts"
    return None


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)
