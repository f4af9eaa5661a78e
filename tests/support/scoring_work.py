"""Rows and rewards that the tests of scoring share."""

from __future__ import annotations

import re
from typing import Any

SCRIPT = """
import guerdon
factor = 3

def reward(response):
    return len(response) * factor

rows = [{"messages": [{"role": "assistant", "content": "x" * i}]} for i in range(30)]
scores = guerdon.score(reward, rows, workers=2)
print(scores.scores == [i * 3.0 for i in range(30)])
"""
"""A program that scores in workers without a guard of ``__main__``."""


def rows(count: int, **columns: Any) -> list[dict[str, Any]]:
    """Rows whose responses are their numbers."""
    return [
        {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": str(i)}], **columns}
        for i in range(count)
    ]


def spin() -> None:
    """Never return."""
    while True:
        pass


def backtrack() -> None:
    """Match for hours, in C code that holds the GIL."""
    re.match(r"(a+)+$", "a" * 50 + "b")
