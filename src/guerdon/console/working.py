"""Saying what a command is doing where it takes a while and has nothing else to show."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from guerdon.settings import setting

_ERASE = "\r\x1b[K"


class Working:
    """Says on standard error what is being done, once it takes ``patience`` seconds, by default GUERDON_SAY_AFTER.

    Use it as a context manager, or ``start`` and ``stop`` it. On a terminal the line has a clock and goes when the work
    is done; elsewhere it is written once.

    >>> with Working("loading the model"):
    ...     pass
    """

    def __init__(self, what: str, patience: float | None = None) -> None:
        self._what = what
        self._patience = setting("say_after") if patience is None else patience
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """The work begins."""
        stream = sys.stderr
        if stream is None:  # a process may have been started without one
            return
        self._thread = threading.Thread(
            target=self._watch, args=(stream,), daemon=True, name="guerdon-working"
        )
        self._thread.start()

    def stop(self) -> None:
        """The work is done; may be called again."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Working:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watch(self, stream: TextIO) -> None:
        started = time.monotonic()
        if self._stopped.wait(min(self._patience, threading.TIMEOUT_MAX)):
            return
        try:
            if not stream.isatty() or os.environ.get("TERM") == "dumb":
                stream.write(f"{self._what} …\n")
                stream.flush()
                return
            while True:
                stream.write(f"{_ERASE}{self._what} … {time.monotonic() - started:.0f} s")
                stream.flush()
                if self._stopped.wait(1.0):
                    break
            stream.write(_ERASE)
            stream.flush()
        except (OSError, ValueError):  # standard error was closed
            return
