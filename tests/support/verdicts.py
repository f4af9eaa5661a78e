"""Verdicts of other projects, as tests have them; worker processes import them from here."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any


def even(row: Mapping[str, Any]) -> bool | None:
    """Right where the response is as long as an even number; nothing of what is empty."""
    text = row["messages"][-1]["content"]
    return len(text) % 2 == 0 if text else None


def broken(row: Mapping[str, Any]) -> bool:
    """Raises, hangs or ends its process where the response says so."""
    text = row["messages"][-1]["content"]
    if text == "raise":
        raise ValueError("no way")
    if text == "hang":
        time.sleep(60)
    if text == "end":
        os._exit(3)
    return True


def with_slow_import(row: Mapping[str, Any]) -> bool:
    """Takes long the first time in a process, as what imports a large package does."""
    if not with_slow_import.__dict__.get("loaded"):
        time.sleep(1.0)
        with_slow_import.__dict__["loaded"] = True
    return True
