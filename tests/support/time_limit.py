"""Begins no test that would end after ``$GUERDON_END_BY``, a time in seconds since 1970.

Continuous integration loads it with ``-p support.time_limit``. What is left out shows as skipped, "no time left".
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

QUICK_SECONDS = 5.0
SLOW_SECONDS = 30.0
PEER_SECONDS = 10.0
BUSY = 1.5
"""How many times longer a test may take than its mark says, on a machine that does something else, too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--list-seconds", help="write the seconds that are expected of each file's tests, as JSON"
    )


def expected_seconds(item: pytest.Item) -> float:
    """About how long a test takes on a quiet machine, by its mark ``slow(seconds=...)``."""
    mark = item.get_closest_marker("slow")
    if mark is None:
        return PEER_SECONDS if item.get_closest_marker("peers") else QUICK_SECONDS
    return float(mark.kwargs.get("seconds", SLOW_SECONDS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    end = float(os.environ["GUERDON_END_BY"])
    if time.time() + BUSY * expected_seconds(item) > end:
        pytest.skip("no time left: this test is not begun")


def pytest_collection_finish(session: pytest.Session) -> None:
    if listing := session.config.getoption("--list-seconds"):
        by_file: dict[str, list[float]] = {}
        for item in session.items:
            by_file.setdefault(item.nodeid.partition("::")[0], []).append(expected_seconds(item))
        Path(listing).write_text(json.dumps(by_file), encoding="utf-8")
