"""The event loop on which synchronous clients do their input and output, on a thread of its own.

It is not the loop that async rewards run on: such a reward may call a synchronous client, and waiting there for the
same loop would never end.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def network_loop() -> asyncio.AbstractEventLoop:
    """The process's loop for input and output, started at first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="guerdon-network", daemon=True).start()
        return _loop


def run_sync(coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
    """Run a coroutine on the network loop and wait for its result; Ctrl-C cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop or network_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _forget() -> None:
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


# A forked child has the loop object but not its thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
