"""What runs the jobs in these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from guerdon.sandbox import Sandbox
from support.job_executors import PlainExecutor, Recording


@pytest.fixture(scope="session")
def _sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as made:
        yield made


@pytest.fixture
def executor(_sandbox: Sandbox) -> Recording:
    """The sandbox, as whoever judges programs has it."""
    return Recording(_sandbox)


@pytest.fixture
def plain() -> PlainExecutor:
    """Ordinary processes: for programs that look for the very means by which they are asked."""
    return PlainExecutor()
