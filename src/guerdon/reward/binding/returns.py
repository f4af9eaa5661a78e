"""What a reward function may return, and how each form becomes an EvaluateResult."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from guerdon.checks import finite, reason_of
from guerdon.errors import InvalidResultError, WrongLengthError
from guerdon.types import EvaluateResult, MetricResult

_FORMS = (
    "return a number, a bool, (score, reason), (score, {metric: score}), a dict with a score, an EvaluateResult, "
    "or None where the reward does not apply"
)
_RESULT_MODELS = {"EvaluateResult", "MetricResult", "StepOutput", "Response"}


def to_result(value: Any, name: str) -> EvaluateResult:
    """The result for what the function ``name`` returned.

    Accepted: EvaluateResult; a number or bool; ``(score, {metric: score})`` and ``(score, reason)``, the reason
    being text or None; a dict with ``score`` (or
    ``reward``), whose other numbers become metrics; an object with a ``reward`` and a ``metadata``, as
    Adaptive's Response; None for "does not apply". Raises InvalidResultError, naming the function, for
    NaN, infinity and everything else.

    >>> to_result((0.5, {"overlap": 0.25}), "f").metrics["overlap"].score
    0.25
    """
    try:
        return _convert(value)
    except ValidationError as error:
        raise InvalidResultError(
            f"{name} returned an invalid result: {reason_of(error)}", reward=name
        ) from None
    except ValueError as error:
        raise InvalidResultError(f"{name} returned an invalid result: {error}", reward=name) from None


def _convert(value: Any) -> EvaluateResult:
    if type(value) in (float, int, bool):
        return EvaluateResult.of_score(value)
    if isinstance(value, EvaluateResult):
        return _checked(value)
    if value is None:
        return EvaluateResult(reason="does not apply")
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, tuple):
        return _from_pair(value)
    if isinstance(value, BaseModel):
        return _from_model(value)
    if isinstance(value, str | bytes | type) or not hasattr(value, "__float__"):
        raise ValueError(f"a {type(value).__name__} is not a score; {_FORMS}")
    return EvaluateResult(finite(value))


def _checked(result: EvaluateResult) -> EvaluateResult:
    # The user may have put anything into the metrics of a result that was valid when it was made, and may
    # have built it past the validation.
    if result.score is not None:
        finite(result.score)
    for name, metric in result.metrics.items():
        if type(metric) is not MetricResult or not math.isfinite(metric.score):
            result.metrics[name] = _metric(name, metric)
    # One that a reward has signed before comes from another reward, or is kept and returned again.
    return result if result.provenance is None else _copied(result)


def _copied(result: EvaluateResult) -> EvaluateResult:
    return result.model_copy(update={"metrics": dict(result.metrics)})


def _from_pair(value: tuple[Any, ...]) -> EvaluateResult:
    if len(value) != 2 or not isinstance(value[1], Mapping | str | None):
        raise ValueError(f"a tuple of {len(value)} is not a result; {_FORMS}")
    if isinstance(value[1], Mapping):
        return EvaluateResult(finite(value[0]), metrics=_metrics(value[1]))
    if value[0] is None:  # the reason why it does not apply
        return EvaluateResult(reason=value[1])
    return EvaluateResult(finite(value[0]), value[1])


def _from_mapping(value: Mapping[Any, Any]) -> EvaluateResult:
    if value.get("error") is not None:
        return EvaluateResult(
            error=str(value["error"]), error_kind=str(value.get("error_kind") or "exception")
        )
    key = "score" if "score" in value else "reward"
    if key not in value:
        raise ValueError(
            f"the dict has no score (its keys: {', '.join(map(str, value)) or 'none'}); {_FORMS}"
        )
    metrics = _metrics(value.get("metrics") or {})
    known = {key, "reason", "metrics", "step_outputs", "error", "error_kind", "is_score_valid", "provenance"}
    for name, item in value.items():
        if name not in known and name not in metrics and hasattr(item, "__float__"):
            metrics[str(name)] = MetricResult(finite(item, str(name)))
    reason = value.get("reason")
    return EvaluateResult(
        None if value[key] is None else finite(value[key]),
        None if reason is None else str(reason),
        metrics,
        step_outputs=value.get("step_outputs"),
    )


def _from_model(value: BaseModel) -> EvaluateResult:
    """Results of other packages: Adaptive's Response and reward-kit's EvaluateResult, by their fields."""
    fields = type(value).model_fields
    if "reward" in fields:
        extra = getattr(value, "metadata", None) or {}
        words = "; ".join(f"{k}: {v}" for k, v in extra.items() if isinstance(v, str))
        metrics = {str(k): finite(v, str(k)) for k, v in extra.items() if hasattr(v, "__float__")}
        return EvaluateResult(finite(vars(value)["reward"]), words or None, _metrics(metrics))
    if "score" in fields:
        return _from_mapping(value.model_dump())
    raise ValueError(f"a {type(value).__name__} is not a result; {_FORMS}")


def _metrics(values: Mapping[Any, Any]) -> dict[str, MetricResult]:
    if not isinstance(values, Mapping):
        raise ValueError(f"metrics must be a dict, not a {type(values).__name__}")
    return {str(name): _metric(str(name), value) for name, value in values.items() if value is not None}


def _metric(name: str, value: Any) -> MetricResult:
    if isinstance(value, MetricResult):
        finite(value.score, f"the metric {name!r}")
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        if "score" not in value:
            raise ValueError(f"the metric {name!r} has no score")
        return MetricResult(
            finite(value["score"], f"the metric {name!r}"),
            value.get("success", value.get("is_score_valid")),
            value.get("reason"),
            weight=value.get("weight"),
        )
    return MetricResult(finite(value, f"the metric {name!r}"))


def to_results(value: Any, name: str, count: int) -> list[EvaluateResult]:
    """The results of a batch function for ``count`` samples.

    Accepted: a list (tuple, array, tensor) of what ``to_result`` accepts, where one that is invalid fails
    its own sample only; OpenRLHF's dict of lists ``{"rewards": […], "scores": […], "extra_logs":
    {metric: […]}}``; for one sample, its bare result. Raises WrongLengthError where the number of
    results differs, and where there is one object for several samples.
    """
    logs: Mapping[str, Any] = {}
    if isinstance(value, Mapping) and ("rewards" in value or "scores" in value):
        logs = value.get("extra_logs") or {}
        value = value["rewards"] if "rewards" in value else value["scores"]
    if not isinstance(value, str | bytes | Mapping) and hasattr(value, "tolist"):
        value = value.tolist()
    is_bare = not isinstance(value, Sequence) or isinstance(value, str | bytes) or _is_pair(value)
    if is_bare and count == 1:
        value = [value]
    elif is_bare:
        raise WrongLengthError(
            f"{name} scores batches and must return a list of {count} results, not a {type(value).__name__}",
            reward=name,
        )
    if len(value) != count:
        got = "1 result" if len(value) == 1 else f"{len(value)} results"
        asked = "1 sample" if count == 1 else f"{count} samples"
        raise WrongLengthError(f"{name} returned {got} for {asked}", reward=name)
    results = [_own_result(item, name) for item in value]
    for key, column in logs.items():
        for result, item in zip(results, _column(column, count), strict=False):
            if hasattr(item, "__float__") and math.isfinite(number := float(item)):
                result.metrics.setdefault(str(key), MetricResult(number))
    return results


def not_asked_again(text: str) -> str:
    """The sentence for samples that came after ``text`` was said of a batch: that the number of results was wrong."""
    note = "; it is not asked again"
    return text if text.endswith(note) else text + note


def _is_pair(value: Any) -> bool:
    """Whether this is ``(score, {metric: score})`` or ``(score, reason)``, the result of a single sample."""
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    if isinstance(value[1], str):
        return not isinstance(value[0], str)
    return (
        isinstance(value[1], Mapping)
        and not isinstance(value[0], Mapping | tuple | EvaluateResult)
        and "score" not in value[1]
    )


def _own_result(item: Any, name: str) -> EvaluateResult:
    try:
        return to_result(item, name)
    except InvalidResultError as error:
        return EvaluateResult.failure(error)


def _column(value: Any, count: int) -> Sequence[Any]:
    """One entry a sample of what a function logged; none if the entries cannot be assigned to samples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value if len(value) == count else []
    return [value] * count


def is_result_error(error: BaseException) -> bool:
    """Whether a pydantic error says that one of *our* results was built from invalid values."""
    return isinstance(error, ValidationError) and error.title in _RESULT_MODELS
