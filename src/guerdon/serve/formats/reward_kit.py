"""Reward Kit's servers (reward-kit 0.4.1, eval-protocol 0.3): ``/evaluate`` and ``/reward``.

A failed sample is answered with an HTTP status of 4xx or 5xx. Their client, ``RewardFunction(mode="remote")``,
takes ``score``, ``reason`` and ``metrics`` of a 200 and drops ``error`` and ``is_score_valid``: a failure that is
reported there with a score of 0 becomes a valid 0. It calls ``raise_for_status`` first, so a status raises in the
caller's hands, and that also holds for every other client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from guerdon.scoring.outcome import Outcome, PackedMetric
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RewardInfo,
    Route,
    as_sample,
    check_metadata,
    example_messages,
    failure_answer,
    json_bytes,
    read_model,
    reason_without_score,
    refused,
)
from guerdon.types import Message

_TRUTH = "The expected answer, or whatever the reward compares with."


class EvaluateRequest(BaseModel):
    """What reward-kit's ``generic_server`` takes: the reward's further arguments apart, in ``kwargs``."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    messages: list[Message] = Field(min_length=1, description="The last message is the completion.")
    ground_truth: Any = Field(None, description=_TRUTH)
    kwargs: dict[str, Any] | None = Field(None, description="Columns that the reward reads by name.")


class RewardRequest(BaseModel):
    """What reward-kit's ``RewardServer`` takes and its client sends: every further field is an argument."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    messages: list[Message] = Field(min_length=1, description="The last message is the completion.")
    ground_truth: Any = Field(
        None,
        description=f"{_TRUTH} Reward Kit's client sends the messages before the last where it is not set.",
    )
    original_messages: list[Message] | None = None
    metadata: dict[str, Any] | None = None
    id: StrictStr | StrictInt | None = None


class MetricAnswer(BaseModel):
    """One component; both names of one flag, since the client reads the one and the class has the other."""

    score: float
    reason: str
    is_score_valid: bool = True
    success: bool | None = None


class EvaluateAnswer(BaseModel):
    """An EvaluateResult of Reward Kit's. A failed sample is answered with a status of 4xx or 5xx instead."""

    model_config = ConfigDict(extra="forbid")

    score: float
    is_score_valid: bool = True
    reason: str | None = None
    metrics: dict[str, MetricAnswer] = Field(default_factory=dict)
    unbounded_metrics: dict[str, MetricAnswer] = Field(
        default_factory=dict, description="Components outside 0 to 1, which Reward Kit's metrics cannot hold."
    )
    step_outputs: list[dict[str, Any]] | None = None
    error: None = None


class RewardKitFormat(Format):
    """Both of Reward Kit's servers; they differ in where a reward's further arguments stand."""

    name: ClassVar[str] = "reward_kit"
    routes: ClassVar[Sequence[Route]] = (
        Route("/evaluate", "evaluate", "Evaluate a conversation", EvaluateRequest, EvaluateAnswer),
        Route("/reward", "reward", "Score a conversation", RewardRequest, EvaluateAnswer),
        Route("/", "reward", "Score a conversation", RewardRequest, EvaluateAnswer),
    )

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        return "/reward", {"messages": example_messages(prompt, response), **columns}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return "messages" in body

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        if op == "evaluate":
            request = read_model(EvaluateRequest, body)
            kwargs = request.kwargs or {}
            for name in ("messages", "ground_truth"):
                if name in kwargs:
                    raise refused(f"{name} is already given outside kwargs", "kwargs", name)
            row = {**kwargs, "messages": request.messages, "ground_truth": request.ground_truth}
            where: tuple[str, ...] = ("kwargs",)
        else:
            flat = read_model(RewardRequest, body)
            row, where = {**flat.__dict__, **(flat.__pydantic_extra__ or {})}, ()
        sample = as_sample(row, *where)
        check_metadata(reward, [(sample, where)])
        return ParsedRequest([sample])

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        (outcome,) = outcomes
        if (missing := reason_without_score(outcome)) is not None:
            return failure_answer(*missing)
        metrics: dict[str, Any] = {}
        unbounded: dict[str, Any] = {}
        for name, metric in (outcome.metrics or {}).items():
            # The client's class refuses a metric outside 0 to 1, and with it the whole result.
            (metrics if 0 <= metric[0] <= 1 else unbounded)[name] = _metric(name, metric)
        result = {
            "score": outcome.score,
            "is_score_valid": True,
            "reason": outcome.reason,
            "metrics": metrics,
            **({"unbounded_metrics": unbounded} if unbounded else {}),
            "step_outputs": outcome.steps,
            "error": None,
        }
        return 200, json_bytes(result)


def _metric(name: str, metric: PackedMetric) -> dict[str, Any]:
    score, success, reason, _ = metric
    # The client wants a text and a flag: it refuses a null for either.
    shown = {"score": score, "reason": reason or f"{name} score", "is_score_valid": success is not False}
    return shown if success is None else {**shown, "success": success}
