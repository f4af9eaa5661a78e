"""InterruptHandler: the first Ctrl-C ends a run after its step, the second at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class InterruptHandler:
    """A context manager: within it the first Ctrl-C sets ``requested``, the second raises KeyboardInterrupt.

    In a thread other than the main one, where Python delivers no signals, it changes nothing.

    >>> with InterruptHandler() as interrupts:
    ...     interrupts.requested
    False
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._previous: Any = None
        self._handles = threading.current_thread() is threading.main_thread()

    @property
    def requested(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._event.is_set()

    def __enter__(self) -> InterruptHandler:
        if self._handles:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, self._previous)
