"""Results in the JSON of servers: those of Guerdon's own format and Adaptive's responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from guerdon.checks import reason_of
from guerdon.errors import InvalidResultError, RemoteError, RewardError
from guerdon.serve.client.response import error_from_payload
from guerdon.serve.models import Response
from guerdon.types import EvaluateResult, MetricResult, Provenance, StepOutput


def read_result(value: Any, url: str) -> EvaluateResult:
    """A result object of v1 as an EvaluateResult. Raises RemoteError where it is none."""
    if not isinstance(value, Mapping) or "score" not in value:
        raise RemoteError(f"{url} did not answer with a result", url=url)
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
        raise RemoteError(f"{url} did not answer with a result: {reason_of(problem)}", url=url) from None
    except (TypeError, KeyError, AttributeError, ValueError) as problem:
        raise RemoteError(f"{url} did not answer with a result: {problem!r}", url=url) from None
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


def read_response(value: Any, url: str) -> Response | RewardError:
    """An item of Adaptive's format as a Response, or the failure that it stands for."""
    if not isinstance(value, dict):
        return RemoteError(f"{url} did not answer with a response", url=url)
    error = value.get("error")
    if isinstance(error, dict):
        return error_from_payload(error)
    if "reward" in value and value["reward"] is None:
        # What a reward that is not finite becomes in the JSON of other servers.
        return InvalidResultError(f"{url} answered with a reward that is not a finite number", url=url)
    try:
        return Response.model_validate(value)
    except ValidationError as problem:
        return RemoteError(f"{url} did not answer with a response: {reason_of(problem)}", url=url)


def raise_if_error(outcome: Response | RewardError) -> Response:
    """The response; raises the failure in place of it."""
    if isinstance(outcome, RewardError):
        raise outcome
    return outcome
