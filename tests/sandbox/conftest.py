"""What runs the jobs in these tests."""

from __future__ import annotations

import pytest
from plain_executor import PlainExecutor


@pytest.fixture
def executor() -> PlainExecutor:
    """Ordinary processes: what is tested here is what is asked and how it is judged."""
    return PlainExecutor()
