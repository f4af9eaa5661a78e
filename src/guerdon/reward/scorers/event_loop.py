"""One event loop on a thread of its own, so that async rewards can be called from anywhere.

It lives as long as the process: a client that an async reward keeps (an HTTP session, say) stays bound
to one loop, also when the caller is a thread, a notebook cell or another event loop.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Coroutine, Iterable
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
            threading.Thread(target=_run_forever, args=(_loop,), name="guerdon-loop", daemon=True).start()
        return _loop


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    while not loop.is_closed():
        # asyncio lets these two through to the code that runs the loop, after passing them to the awaiting task.
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


async def gather(calls: Iterable[Coroutine[Any, Any, T]], at_once: int | None = None) -> list[T]:
    """The results of coroutines that run side by side, at most ``at_once`` of them."""
    import asyncio

    if at_once is None:
        return await asyncio.gather(*calls)
    room = asyncio.Semaphore(at_once)

    async def one(call: Coroutine[Any, Any, T]) -> T:
        async with room:
            return await call

    return await asyncio.gather(*map(one, calls))


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whatever loop the caller may be on."""
    import asyncio

    if asyncio._get_running_loop() is background_loop():
        # Waiting here would stop the loop that has to run it: an async reward calls a sync one that
        # calls an async one.
        return _run_elsewhere(coroutine)
    future = asyncio.run_coroutine_threadsafe(_outcome(coroutine), background_loop())
    try:
        value, error = future.result()
    except BaseException:  # the caller gave up waiting, by Ctrl-C say: what nobody waits for is not run on
        future.cancel()
        raise
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


async def _outcome(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    try:
        return await coroutine, None
    except (KeyboardInterrupt, SystemExit) as error:  # raised here, they would end the loop
        return None, error


def _run_elsewhere(coroutine: Coroutine[Any, Any, T]) -> T:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "guerdon-inner-loop") as pool:
        return pool.submit(asyncio.run, coroutine).result()


def ends_the_caller(error: BaseException) -> bool:
    """Whether what a coroutine raised is meant for those who run it: Ctrl-C, or a cancellation from outside.

    A coroutine that raises CancelledError without anybody having cancelled its task has failed by itself.
    """
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)  # the latter also closes a coroutine


def _forget() -> None:
    global _loop
    _loop = None


# A forked child has the loop object but not its thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
