"""Problem: one prompt to learn from, with the columns that the reward reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Prompt = str | list[dict[str, Any]]
"""A plain prompt, or the messages of a conversation."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One prompt to learn from, with what the reward needs to know of it."""

    id: str | int
    prompt: Prompt
    columns: Mapping[str, Any] = field(default_factory=dict)
    """``ground_truth``, ``answer`` and every other column."""
