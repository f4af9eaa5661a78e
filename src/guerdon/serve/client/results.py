"""Results as version 1 of Guerdon's own format has them, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from guerdon.checks import reason_of
from guerdon.errors import RemoteError
from guerdon.types import EvaluateResult, MetricResult, Provenance, StepOutput


def read_result(value: Any, where: str) -> EvaluateResult:
    """A result object of v1 as an EvaluateResult. Raises RemoteError where it is none."""
    if not isinstance(value, Mapping) or "score" not in value:
        raise RemoteError(f"{where} answered with what is no result", url=where)
    error = value.get("error")
    try:
        result = EvaluateResult(
            value["score"],
            value.get("reason"),
            {name: _metric(metric) for name, metric in (value.get("metrics") or {}).items()},
            step_outputs=[StepOutput(**step) for step in value["step_outputs"]]
            if value.get("step_outputs")
            else None,
            error=None if error is None else str(error["message"]),
            error_kind=None if error is None else str(error["kind"]),
            provenance=_provenance(value),
        )
    except ValidationError as problem:
        raise RemoteError(
            f"{where} answered with what is no result: {reason_of(problem)}", url=where
        ) from None
    except (TypeError, KeyError, AttributeError, ValueError) as problem:
        raise RemoteError(f"{where} answered with what is no result: {problem!r}", url=where) from None
    return result


def _metric(value: Any) -> MetricResult:
    if isinstance(value, int | float):
        return MetricResult(value)
    # Reward Kit's word for success, in the metrics of its results.
    success = value.get("success", value.get("is_score_valid"))
    return MetricResult(value["score"], success, value.get("reason"), weight=value.get("weight"))


def _provenance(value: Mapping[str, Any]) -> Provenance | None:
    if not value.get("reward") or not value.get("version"):
        return None
    return Provenance(str(value["reward"]), str(value["version"]), dict(value.get("parameters") or {}))
