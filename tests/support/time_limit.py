"""Begins no test that would end after ``$GUERDON_END_BY``, a time in seconds since 1970.

Continuous integration loads it with ``-p support.time_limit``. What is left out shows as skipped, "no time left".
"""

from __future__ import annotations

import os
import time

import pytest

QUICK_SECONDS = 5.0
SLOW_SECONDS = 30.0
BUSY = 1.5
"""How many times longer a test may take than its mark says, on a machine that does something else, too."""


def expected_seconds(item: pytest.Item) -> float:
    """About how long a test takes on a quiet machine, by its mark ``slow(seconds=...)``."""
    mark = item.get_closest_marker("slow")
    if mark is None:
        return SLOW_SECONDS if item.get_closest_marker("peers") else QUICK_SECONDS
    return float(mark.kwargs.get("seconds", SLOW_SECONDS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    end = float(os.environ["GUERDON_END_BY"])
    if time.time() + BUSY * expected_seconds(item) > end:
        pytest.skip("no time left: this test is not begun")
