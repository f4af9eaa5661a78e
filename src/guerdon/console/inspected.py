"""A scored sample as the commands that inspect show it: verdict, prompt, response, what was expected, the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from guerdon.console.layout import print_labelled
from guerdon.scoring.selection import SampleResult
from guerdon.scoring.statistics.figures import figure

TEXT_LIMIT = 600
"""Most characters of a text that are shown; a long one is shown with its beginning and its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedSample:
    """What is shown of a sample."""

    label: str
    """Stands before the verdict: ``sample``, ``step 12``."""
    name: str = ""
    """Its id, where the label does not say which it is."""
    score: float | None
    error: str | None = None
    error_kind: str | None = None
    reason: str | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    prompt: str | None
    response: str | None
    expected: Any = None
    note: str = ""

    @classmethod
    def of_result(cls, one: SampleResult) -> InspectedSample:
        """A sample of Scores."""
        return cls(
            label="sample",
            name=str(one.id),
            score=one.score,
            error=one.error,
            error_kind=one.result.error_kind,
            reason=one.reason,
            components={name: metric.score for name, metric in one.metrics.items()},
            prompt=one.prompt,
            response=one.response,
            expected=one.ground_truth,
        )

    @property
    def verdict(self) -> str:
        """Score and components on one line, or why there is none."""
        if self.error is not None:
            return f"failed, {self.error_kind}: {self.error}"
        score = "does not apply" if self.score is None else f"score {figure(self.score)}"
        return "   ".join([score, *(f"{name} {figure(part)}" for name, part in self.components.items())])


def print_inspected(one: InspectedSample, console: Console, limit: int | None = TEXT_LIMIT) -> None:
    """One sample, after an empty line; its texts whole where ``limit`` is None."""
    console.print()
    verdict = f"{one.name}   {one.verdict}" if one.name else one.verdict
    print_labelled(console, one.label, verdict, style="bold" if one.error is None else "red")
    if one.note:
        print_labelled(console, "", one.note)
    # Rows that were written without text have neither.
    if one.prompt is not None:
        print_labelled(console, "prompt", one.prompt, limit)
    if one.response is not None:
        print_labelled(console, "response", one.response, limit)
    if one.expected is not None:
        print_labelled(console, "expected", str(one.expected), limit)
    if one.reason:
        print_labelled(console, "reason", one.reason, limit)
