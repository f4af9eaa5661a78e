"""Rows of scores: what each holds, and how it is written as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from typing import Any, TypeGuard

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


_CHECKSUM = b',"checksum":"'


def sealed_line(row: Mapping[str, Any]) -> bytes:
    """A row as a line that ends with a checksum of what stands before it."""
    text = dumps(row)[:-1].encode("ascii")
    return text + _CHECKSUM + _checksum_of(text) + b'"}\n'


def is_intact(line: bytes) -> bool:
    """Whether a line is as ``sealed_line`` wrote it: neither damaged nor edited by hand.

    >>> line = sealed_line({"score": 0.5})
    >>> is_intact(line), is_intact(line.replace(b"0.5", b"1.0"))
    (True, False)
    """
    text, _, rest = line.rpartition(_CHECKSUM)
    return rest == _checksum_of(text) + b'"}\n'


def _checksum_of(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).hexdigest().encode("ascii")


def loads(line: bytes) -> Any:
    """What a line of JSON holds. Raises ValueError for what is none: NaN and too deep a nesting, too."""
    try:
        return json.loads(line, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def check_row(row: Any) -> None:
    """Raises ValueError for what is no row of scores, whatever wrote it."""
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    for name in ("reward", "version"):
        if not isinstance(row.get(name), str):
            raise ValueError(f"{name} is not text")
    for name in ("error", "error_kind", "reason", "prompt", "response", "sample"):
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"{name} is not text")
    for name in ("score", "seconds"):
        if row.get(name) is not None and not is_number(row[name]):
            raise ValueError(f"{name} is not a number")
    if not isinstance(row.get("id"), str | int | float | None):
        raise ValueError("id is neither text nor a number")
    if not isinstance(row.get("group"), str | int | float | None):
        raise ValueError("group is neither text nor a number")
    if not isinstance(row.get("parameters"), dict | None):
        raise ValueError("parameters is not an object")
    if not isinstance(row.get("step_outputs"), list | dict | None):
        raise ValueError("step_outputs is not a list")
    check_metrics(row.get("metrics"))


def check_metrics(metrics: Any) -> None:
    """Raises ValueError for what are no metrics of a row."""
    if metrics is None:
        return
    if not isinstance(metrics, dict):
        raise ValueError("metrics is not an object")
    for name, metric in metrics.items():
        if not (
            isinstance(metric, dict)
            and is_number(metric.get("score"))
            and (metric.get("weight") is None or is_number(metric["weight"]))
            and isinstance(metric.get("success"), bool | None)
            and isinstance(metric.get("reason"), str | None)
        ):
            raise ValueError(f"the metric {name[:80]} is none")


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
