"""What holds for the calls of one reward."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchLimits:
    """What holds for the calls of one reward."""

    timeout: float
    """Seconds that one sample may take."""
    request_timeout: float
    """Seconds that a request may take, waiting included."""
    workers: int
    concurrency: int
    max_memory: int | None
    load_timeout: float
    max_queue: int
    """Requests that may wait or be in the works."""
