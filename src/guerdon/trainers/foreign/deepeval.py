"""Metrics of DeepEval as rewards."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, SupportsIndex

from guerdon.errors import BindingError, ExecutionError
from guerdon.reward.binding.returns import to_result
from guerdon.reward.function import RewardFunction
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.versioning.fingerprint import fingerprint
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.trainers.foreign.base import (
    ForeignScorer,
    accepted,
    columns_of,
    fingerprint_data_of,
    instantiate,
    refuse_parameters,
    slug,
    truth_of,
)
from guerdon.types import EvaluateResult, MetricResult, Sample

# What measuring leaves on a metric, which is no part of its make-up.
_MEASURED = [
    "score",
    "score_breakdown",
    "reason",
    "success",
    "error",
    "evaluation_cost",
    "input_tokens",
    "output_tokens",
    "verbose_logs",
    "skipped",
    "confidence",
    "precision",
    "recall",
    "f1",
    "system_one_fallback_reason",
]
_FIELDS = ("context", "retrieval_context", "tools_called", "expected_tools")


def from_deepeval(metric: Any, *, name: str | None = None, **parameters: Any) -> RewardFunction:
    """A reward that is a metric of DeepEval: an instance of one, or its class with ``parameters``.

    The prompt is the test case's ``input``, the response its ``actual_output``, the ground truth its
    ``expected_output``; the columns ``context``, ``retrieval_context``, ``tools_called`` and ``expected_tools``
    go by their names. A conversational metric gets all messages as turns. The metric's reason is kept, its
    verdict against its threshold is the metric's ``success``; one that was skipped does not apply. Metrics
    that ask a model are async. DeepEval's telemetry is turned off in every process that scores.

    Raises BindingError for what is not a metric of DeepEval, and for one that compares several responses.

    Example::

        from deepeval.metrics import ExactMatchMetric
        reward = from_deepeval(ExactMatchMetric)
        reward(prompt="2 + 2?", response="4", ground_truth="4").score   # 1.0
    """
    found = scorer_of(metric, parameters)
    if found is None:
        raise BindingError(f"this {type(metric).__name__} is not a metric of DeepEval")
    return RewardFunction.of_scorer(found, RewardOptions(name=name))


def scorer_of(target: Any, fixed: Mapping[str, Any]) -> DeepEvalScorer | None:
    """The scorer around a metric of DeepEval; None for what is none."""
    cls = target if isinstance(target, type) else type(target)
    kinds = {b.__name__ for b in cls.__mro__ if b.__module__ == "deepeval.metrics.base_metric"}
    if "BaseArenaMetric" in kinds:
        raise BindingError(
            f"{cls.__name__} compares several responses with each other; it is not a reward for one"
        )
    if not kinds & {"BaseMetric", "BaseConversationalMetric"}:
        return None
    quiet()
    if isinstance(target, type):
        target = instantiate(target, fixed)
    else:
        refuse_parameters(cls.__name__, fixed)
    return DeepEvalScorer(target, fixed, is_conversation="BaseConversationalMetric" in kinds)


def quiet() -> None:
    """Turn DeepEval's telemetry off in this process; it asks the environment at every use."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"


class DeepEvalScorer(ForeignScorer):
    """Measures each sample with a copy of the metric, since a metric keeps its last result on itself."""

    package = "deepeval"

    def __init__(self, metric: Any, fixed: Mapping[str, Any], *, is_conversation: bool) -> None:
        cls = type(metric)
        shown = str(metric.__name__)
        super().__init__(slug(cls.__name__ if shown.startswith("Base ") else shown), metric, fixed)
        self._is_conversation = is_conversation
        asks = getattr(metric, "model", None) is not None or metric.evaluation_model is not None
        self.is_async = bool(asks and metric.async_mode)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # In two parts, so that telemetry is off before the metric's package is imported.
        return _unpacked, (Quiet(), self.wrapped, self._fixed, self._is_conversation, self.name)

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        metric = self._fresh()
        case = self._case(sample, explicit)
        score = metric.measure(case, **accepted(metric.measure, {"_show_indicator": False}))
        return self._result(metric, score)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        metric = self._fresh()
        case = self._case(sample, explicit)
        score = await metric.a_measure(case, **accepted(metric.a_measure, {"_show_indicator": False}))
        return self._result(metric, score)

    def _fresh(self) -> Any:
        metric = copy.copy(self.wrapped)
        for name in ("score", "reason", "success", "error", "score_breakdown"):
            metric.__dict__.pop(name, None)
        metric.__dict__.pop("skipped", None)
        return metric

    def _case(self, sample: Sample, explicit: CallArguments) -> Any:
        cases = import_module("deepeval.test_case")
        columns = columns_of(sample, explicit)
        truth = truth_of(sample)
        if self._is_conversation:
            turns = [
                cases.Turn(role=m.role, content=m.text)
                for m in sample.messages
                if m.role in ("user", "assistant")
            ]
            more = {
                n: columns[n] for n in ("scenario", "context", "chatbot_role") if columns.get(n) is not None
            }
            outcome = {} if truth is None else {"expected_outcome": str(truth)}
            return cases.ConversationalTestCase(turns=turns, **outcome, **more)
        more = {n: columns[n] for n in _FIELDS if columns.get(n) is not None}
        return cases.LLMTestCase(
            input=sample.prompt,
            actual_output=sample.response,
            expected_output=None if truth is None else str(truth),
            metadata=columns,
            **more,
        )

    def _result(self, metric: Any, returned: Any) -> EvaluateResult:
        if metric.error is not None:
            raise ExecutionError(f"{self.name} failed: {metric.error}", reward=self.name)
        score = metric.score if metric.score is not None else returned
        if metric.skipped or score is None:
            return EvaluateResult(reason=metric.reason or "skipped")
        result = to_result({"score": score, "reason": metric.reason}, self.name)
        broken_down = metric.score_breakdown if isinstance(metric.score_breakdown, Mapping) else {}
        for name, value in broken_down.items():
            if type(value) in (int, float):
                result.metrics[str(name)] = MetricResult(value)
        passed = metric.is_successful() if metric.threshold is not None else None
        result.metrics.setdefault(self.name, MetricResult(result.score, passed, metric.reason))
        return result

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        metric = self._fresh()
        for name in _MEASURED:
            metric.__dict__.pop(name, None)
        return [self.package, fingerprint_data_of(metric, self.package, snapshot), fingerprint(self._fixed)]


class Quiet:
    """Turns the telemetry off when it arrives in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _quieted, ()


def _quieted() -> Quiet:
    quiet()
    return Quiet()


def _unpacked(
    _: Quiet, metric: Any, fixed: Mapping[str, Any], is_conversation: bool, name: str
) -> DeepEvalScorer:
    scorer = DeepEvalScorer(metric, fixed, is_conversation=is_conversation)
    scorer.name = name
    return scorer
