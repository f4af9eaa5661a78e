"""How long to wait before a request is sent again."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from guerdon.retry_timing import backoff, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": " 3 "}, 3.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After-Ms": "soon", "Retry-After": "9"}, None),
    ],
)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_to_come() -> None:
    found = retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert found is not None
    assert 55 < found <= 60


@pytest.mark.parametrize(
    ("attempt", "jitter", "least", "most"),
    [
        (1, 0.5, 0.1, 0.2),
        (2, 0.5, 0.2, 0.4),
        (4, 0.0, 1.6, 1.6),
        (4, 1.0, 0.0, 1.6),
        (7, 0.5, 5.0, 10.0),
        (10_000, 0.5, 5.0, 10.0),
    ],
)
def test_waits_double_up_to_the_longest(attempt: int, jitter: float, least: float, most: float) -> None:
    waits = [backoff(attempt, first=0.2, longest=10.0, jitter=jitter) for _ in range(50)]
    assert least <= min(waits)
    assert max(waits) <= most
    assert jitter == 0.0 or len(set(waits)) > 1
