"""Retries: which failures are tried again, after which wait, until which deadline."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from guerdon.errors import InputError, RewardError
from guerdon.retry_timing import backoff

RETRYABLE_STATUSES = frozenset({408, 425, 429})
"""The statuses below 500 after which a request is tried again."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often a request is tried again, with waits that grow: "full jitter", a random share of a doubling bound.

    See https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
    """

    retries: int = 5
    first: float = 0.2
    """Seconds that bound the wait before the second try."""
    longest: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(f"retries must be a whole number of 0 or more, not {self.retries!r}")

    def wait(self, tries: int) -> float:
        """Seconds to wait after so many tries."""
        return backoff(tries, first=self.first, longest=self.longest, jitter=1.0)


@dataclass(slots=True)
class Deadline:
    """The moment at which a request, with all its tries, must have been answered."""

    seconds: float
    """Infinite where there is no limit."""
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        """Seconds until then; negative once it has passed."""
        return self._end - time.monotonic()

    def timeout(self) -> float | None:
        """What is left, as asyncio takes it: None where there is no limit."""
        return None if math.isinf(self._end) else max(0.0, self.left())


class RetryableError(Exception):
    """A failure that the next try may not have; ``wait`` is the seconds that the server asks to wait before it."""

    def __init__(self, fault: RewardError, wait: float) -> None:
        super().__init__(fault.message)
        self.fault, self.wait = fault, wait
