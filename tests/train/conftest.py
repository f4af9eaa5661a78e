"""Fixtures for the tests of training."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, with nothing of Guerdon's in the environment."""
    for name in list(os.environ):
        if name.startswith("GUERDON_") and name != "GUERDON_SAY_AFTER":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path
