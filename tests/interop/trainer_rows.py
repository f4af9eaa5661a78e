"""What trainers have scored in their own environments, with the verdicts worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

REWARDS = Path(__file__).resolve().parent / "trainer_rewards.py"
COMBINED = f"{REWARDS}::combined"
ASYNC = f"{REWARDS}::right_async"
SECONDS = 1.5
"""The deadline that "hang" overruns."""


@dataclass(frozen=True)
class Expected:
    """A response to a prompt whose truth is ``truth``; a weighted sum of a half and two quarters."""

    response: str
    truth: str
    score: float
    right: float
    right_form: float
    length: float
    """The component ``score``: a tenth for each character."""
    failed: bool = False

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of its row, some of them named like the trainers' own."""
        return {
            "ground_truth": self.truth,
            "levels": [1, 2],
            "flag": True,
            "note": "as it is",
            "score": 3,
            "reward": "none",
            "response": "another one",
        }


ROWS = (
    Expected("4", "4", 0.775, 1.0, 1.0, 0.1),
    Expected("5", "4", 0.275, 0.0, 1.0, 0.1),
    Expected("bad", "4", 0.0, 0.0, 0.0, 0.3, failed=True),
    Expected("four", "four", 0.6, 1.0, 0.0, 0.4),
    Expected("hang", "4", 0.0, 0.0, 0.0, 0.0, failed=True),
    Expected("12", "12", 0.8, 1.0, 1.0, 0.2),
)
