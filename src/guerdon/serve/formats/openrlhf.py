"""OpenRLHF's remote reward models (0.11.2): texts in, lists of numbers out.

Its client posts ``query``, ``prompts`` and ``labels`` and turns ``rewards``, ``scores`` and each of ``extra_logs``
into tensors. The answer holds lists also for one query: a bare number would give a tensor of another shape.

A sample without a score fails the whole batch, with an HTTP status and the reasons. The client can take nothing
else: a ``null`` ends the training in ``torch.tensor``, a NaN goes into the gradient. It tries a failed request five
times and then logs it and leaves the reward out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from guerdon.data.labels import after_prompt, label_of, labelled_sample
from guerdon.scoring.outcome import Outcome
from guerdon.serve.formats.base import (
    STATUS_OF_KIND,
    Format,
    ParsedRequest,
    RewardInfo,
    Route,
    check_metadata,
    failure_answer,
    json_bytes,
    read_model,
    reason_without_score,
    refused,
)

_LISTED = 5
_TAKEN = frozenset({"reward", "score", "response_clip_ratio"})
"""What the client logs itself, under names that an extra log would overwrite."""


class OpenRLHFRequest(BaseModel):
    """Queries, each a prompt followed by its completion, as the tokenizer decodes them."""

    model_config = ConfigDict(extra="forbid")

    query: list[str] = Field(description="Prompt and completion, special tokens included.")
    prompts: list[str] | None = Field(None, description="The prompts that the queries start with.")
    labels: list[Any] | None = Field(
        None,
        description="One for each query: the ground truth, or an object (or its JSON) that has the columns.",
    )


class OpenRLHFResponse(BaseModel):
    """Always lists, in the order of the queries."""

    model_config = ConfigDict(extra="forbid")

    rewards: list[float]
    scores: list[float] = Field(description="The same; OpenRLHF filters groups by them.")
    extra_logs: dict[str, list[float]] = Field(description="The metrics that every sample has.")


class OpenRLHFFormat(Format):
    """Known by its ``query``, at every path that a trainer is likely to be given."""

    name: ClassVar[str] = "openrlhf"
    routes: ClassVar[Sequence[Route]] = tuple(
        Route(path, "get_reward", "Score queries", OpenRLHFRequest, OpenRLHFResponse, many=True)
        for path in ("/get_reward", "/", "/score", "/reward")
    )

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        return "/get_reward", {
            "query": [prompt + response],
            "prompts": [prompt],
            "labels": [label_of(columns)],
        }

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return "query" in body

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        request = read_model(OpenRLHFRequest, body)
        count = len(request.query)
        for name, values in (("prompts", request.prompts), ("labels", request.labels)):
            if values is not None and len(values) != count:
                raise refused(f"{name} has {len(values)} entries for {count} in query", name)
        prompts = request.prompts or [""] * count
        labels = request.labels or [None] * count
        samples = [
            labelled_sample(prompt, after_prompt(query, prompt), label)
            for query, prompt, label in zip(request.query, prompts, labels, strict=True)
        ]
        check_metadata(reward, ((sample, ("query", i)) for i, sample in enumerate(samples)))
        return ParsedRequest(list(samples))

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        missing = [(i, why) for i, o in enumerate(outcomes) if (why := reason_without_score(o)) is not None]
        if missing:
            return _failed(missing, len(outcomes))
        scores = [outcome.score for outcome in outcomes]
        answer = {"rewards": scores, "scores": scores, "extra_logs": _logs(outcomes)}
        return 200, json_bytes(answer)


def _logs(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """The metrics that all samples have: the client makes tensors of them, which have no place for a gap."""
    if not outcomes or not all(outcome.metrics for outcome in outcomes):
        return {}
    first, *others = [outcome.metrics or {} for outcome in outcomes]
    common = [name for name in first if all(name in metrics for metrics in others)]
    return {
        f"metric_{name}" if name in _TAKEN else name: [metrics[name][0] for metrics in (first, *others)]
        for name in common
    }


def _failed(missing: Sequence[tuple[int, tuple[str, str]]], count: int) -> tuple[int, bytes]:
    """The whole batch as a failure; the gravest of its failures decides the status."""
    errors = [{"index": i, "kind": kind, "message": message} for i, (kind, message) in missing]
    gravest = max((kind for _, (kind, _) in missing), key=lambda kind: STATUS_OF_KIND.get(kind, 500))
    shown = "; ".join(f"query[{i}]: {kind}: {message}" for i, (kind, message) in missing[:_LISTED])
    more = f"; and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    return failure_answer(gravest, f"{len(missing)} of {count} have no score: {shown}{more}", errors=errors)
