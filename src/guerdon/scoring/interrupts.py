"""Ctrl-C while samples are scored."""

from __future__ import annotations

import signal
import threading
from typing import Any

from guerdon.scoring.engine.base import Engine


class GracefulInterrupt:
    """Ctrl-C while scoring: once finishes what is in flight, twice drops it.

    Only the main thread gets signals; elsewhere this does nothing.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> GracefulInterrupt:
        mine = threading.current_thread() is threading.main_thread()
        if mine and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: Any) -> None:
        if self.pressed:
            self._engine.abort()
            raise KeyboardInterrupt
        self.pressed = True
        self._engine.stop()
