"""A verdict as a plain tuple: how it crosses from a worker process and lies in memory or on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from guerdon.types import EvaluateResult, MetricResult, Provenance, StepOutput

PackedMetric = tuple[float, bool | None, str | None, float | None]
"""score, success, reason, weight"""


class Outcome(NamedTuple):
    """The fields of an EvaluateResult but for its provenance, which a run shares."""

    score: float | None
    reason: str | None = None
    metrics: dict[str, PackedMetric] | None = None
    steps: list[dict[str, Any]] | None = None
    error: str | None = None
    kind: str | None = None


_NOTHING_MORE = Outcome(None)[1:]


def pack(result: EvaluateResult) -> Outcome:
    """The outcome of a result; what is no plain text or number becomes text."""
    if result.reason is None and result.error is None and not result.metrics and not result.step_outputs:
        return Outcome(result.score)
    metrics = {
        _text(name): (m.score, m.success, None if m.reason is None else _text(m.reason), m.weight)
        for name, m in result.metrics.items()
    }
    return Outcome(
        result.score,
        None if result.reason is None else _text(result.reason),
        metrics or None,
        [_step(step) for step in result.step_outputs] if result.step_outputs else None,
        None if result.error is None else _text(result.error),
        result.error_kind,
    )


def unpack(outcome: Outcome, provenance: Provenance | None) -> EvaluateResult:
    """The result of an outcome; the inverse of ``pack``."""
    if outcome.score is not None and outcome[1:] == _NOTHING_MORE:
        return EvaluateResult.of_score(outcome.score, provenance)
    metrics = {
        name: MetricResult(score, success, reason, weight=weight)
        for name, (score, success, reason, weight) in (outcome.metrics or {}).items()
    }
    return EvaluateResult(
        outcome.score,
        outcome.reason,
        metrics,
        step_outputs=None if outcome.steps is None else [StepOutput(**step) for step in outcome.steps],
        error=outcome.error,
        error_kind=outcome.kind,
        provenance=provenance,
    )


def failure(kind: str, error: str) -> Outcome:
    """The outcome of a sample that has no score."""
    return Outcome(None, error=error, kind=kind)


def metrics_as_dicts(metrics: Mapping[str, PackedMetric] | None) -> dict[str, dict[str, Any]]:
    """Metrics as they are written to a file; what is absent is left out.

    >>> metrics_as_dicts({"length": (0.5, None, "12 words", None)})
    {'length': {'score': 0.5, 'reason': '12 words'}}
    """
    names = ("score", "success", "reason", "weight")
    return {
        metric: {n: v for n, v in zip(names, values, strict=True) if v is not None}
        for metric, values in (metrics or {}).items()
    }


def metrics_from_dicts(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, PackedMetric] | None:
    """The inverse of ``metrics_as_dicts``."""
    return {
        name: (m["score"], m.get("success"), m.get("reason"), m.get("weight")) for name, m in metrics.items()
    } or None


def _text(value: str) -> str:
    # Subclasses of str, such as numpy's, would make the parent import what the worker imported.
    return value if type(value) is str else str(value)


def _step(step: StepOutput) -> dict[str, Any]:
    dumped: dict[str, Any] = step.model_dump(mode="json", fallback=str, exclude_none=True)
    return dumped
