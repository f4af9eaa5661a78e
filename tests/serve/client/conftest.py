"""Servers on real sockets that misbehave on demand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.misbehaving import Misbehaving


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving() as server:
        yield server


@pytest.fixture
def adaptive() -> Iterator[Misbehaving]:
    with Misbehaving(v1=False) as server:
        yield server
