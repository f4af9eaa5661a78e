"""A judge's server for each test, on a machine without settings of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.judge_server import JudgeServer, always, judge_server


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL", "BASE_URL", "API_KEY", "CACHE"):
        monkeypatch.delenv(f"GUERDON_JUDGE_{name}", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server(always(score=4)) as running:
        yield running
