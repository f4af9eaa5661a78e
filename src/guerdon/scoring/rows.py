"""Rows of scores: what each holds, and how it is written as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from guerdon.scoring.outcome import Outcome, metrics_as_dicts, metrics_from_dicts
from guerdon.scoring.texts import SampleText
from guerdon.types import Provenance, Sample


def row_of(
    identity: str | int,
    outcome: Outcome,
    seconds: float,
    made_by: Provenance,
    *,
    text: SampleText | None = None,
    group: Any = None,
    digest: str | None = None,
) -> dict[str, Any]:
    """One row as it is written; without ``text`` it has no prompt, response and ground_truth."""
    row: dict[str, Any] = {
        "id": identity,
        "score": outcome.score,
        "error": outcome.error,
        "error_kind": outcome.kind,
        "reason": outcome.reason,
        "metrics": metrics_as_dicts(outcome.metrics),
    }
    if text is not None:
        row.update(prompt=text.prompt, response=text.response, ground_truth=text.ground_truth)
    if group is not None:
        row["group"] = group
    row.update(
        seconds=round(seconds, 7),
        reward=made_by.reward,
        version=made_by.version,
        parameters=made_by.parameters,
    )
    if outcome.steps is not None:
        row["step_outputs"] = outcome.steps
    if digest is not None:
        row["sample"] = digest
    return row


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The outcome in a written row."""
    return Outcome(
        row["score"],
        row.get("reason"),
        metrics_from_dicts(row.get("metrics") or {}),
        row.get("step_outputs"),
        row.get("error"),
        row.get("error_kind"),
    )


def dumps(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON; ASCII only, so that no text in it can break the line or the encoding.

    Infinity and NaN, which only parameters can hold, are written as text: JSON has no word for them.
    """
    try:
        return json.dumps(row, default=str, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_without_infinities(row), default=str, separators=(",", ":"))


def _without_infinities(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return value


def digest_of(row: Mapping[str, Any] | Sample) -> str:
    """A hash of a sample's content, the same in every process.

    >>> digest_of({"messages": [], "answer": 4}) == digest_of({"answer": 4, "messages": []})
    True
    """
    plain = row.to_row() if isinstance(row, Sample) else row
    try:
        text = json.dumps(plain, sort_keys=True, default=_plain)
    except (TypeError, ValueError):  # keys of mixed types, or a value that refuses
        text = repr(plain)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
