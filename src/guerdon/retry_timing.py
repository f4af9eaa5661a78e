"""How long to wait before a request is sent again: the ``Retry-After`` header and exponential backoff."""

from __future__ import annotations

import math
import random
import time
from email.utils import parsedate_to_datetime
from typing import Protocol


class Headers(Protocol):
    """What the headers of any HTTP library have in common."""

    def get(self, name: str, /) -> str | None: ...


def retry_after(headers: Headers) -> float | None:
    """The seconds that a server asks to wait; None where it asks for nothing that is a time.

    Reads ``Retry-After-Ms``, else ``Retry-After`` as a number of seconds or an HTTP date (RFC 9110, 10.2.3). A date
    that has passed is 0.

    >>> retry_after({"Retry-After": "2"}), retry_after({"Retry-After-Ms": "250"}), retry_after({"Retry-After": "soon"})
    (2.0, 0.25, None)
    """
    milliseconds, text = ((headers.get(name) or "").strip() for name in ("Retry-After-Ms", "Retry-After"))
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(text)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if 0.0 <= seconds < math.inf else None


def backoff(attempt: int, *, first: float, longest: float, jitter: float = 0.5) -> float:
    """The seconds to wait after ``attempt`` failed attempts: a random part of a bound that doubles each time.

    The bound is ``first`` after one attempt and ``longest`` at most; ``jitter`` is the share of it that is random, so
    that clients that failed together do not come back together. 1 is "full jitter", see
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.

    >>> 0.5 <= backoff(3, first=0.25, longest=30.0) <= 1.0
    True
    """
    bound = min(longest, first * 2.0 ** min(attempt - 1, 64))
    return random.uniform(bound * (1.0 - jitter), bound)
