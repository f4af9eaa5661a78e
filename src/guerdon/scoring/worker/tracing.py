"""A coroutine whose every step is shown on the status page, so that the one that blocks is known."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

from guerdon.scoring.process.ipc import StatusPage

T = TypeVar("T")


class TracedCoroutine(Generic[T]):
    """An awaitable that says on the status page when its coroutine runs, and when it waits.

    ``closed`` is set once the event loop is gone and the coroutine was closed unfinished.
    """

    __slots__ = ("_coroutine", "_index", "_item", "_status", "closed")

    def __init__(self, coroutine: Awaitable[T], status: StatusPage, index: int, item: int = 0) -> None:
        self._coroutine, self._status, self._index, self._item = coroutine, status, index, item
        self.closed = False

    def __await__(self) -> Generator[Any, Any, T]:
        inner: Any = self._coroutine.__await__()
        status, index, item = self._status, self._index, self._item
        step, value = inner.send, None
        while True:
            status.start(index, item)
            try:
                awaited = step(value)
            except StopIteration as stop:
                result: T = stop.value
                return result
            finally:
                status.stop()
            try:
                value = yield awaited
                step = inner.send
            except GeneratorExit:  # the loop is gone, and so is the caller that waited for the result
                self.closed = True
                inner.close()
                raise
            except BaseException as error:  # of what was awaited, or a cancellation: the coroutine handles it
                step, value = inner.throw, error
