"""A reward that burns a millisecond of processor time, to see what a second worker brings."""

from __future__ import annotations

import time


def one_millisecond(response: str) -> float:
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
    return 1.0
