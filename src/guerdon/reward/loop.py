"""One event loop on a thread of its own, so that async rewards can be called from anywhere.

It lives as long as the process: a client that an async reward keeps (an HTTP session, say) stays bound
to one loop, also when the caller is a thread, a notebook cell or another event loop.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's background event loop, started at first use."""
    import asyncio  # here, since importing guerdon would cost a third more with it

    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="guerdon-loop", daemon=True).start()
        return _loop


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whatever loop the caller may be on."""
    import asyncio

    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _forget() -> None:
    global _loop
    _loop = None


# A forked child has the loop object but not its thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
