"""NeMo Gym's resources servers: ``/verify``, ``/seed_session`` and ``/aggregate_metrics``.

An agent posts the row it ran, with the model's Response under ``response``, and gets all of it back with a
``reward``. Numeric top-level fields of that answer become metrics of the run, so each component is one; a weighted
composition also gives ``reward_components``, which sum to the reward.

A sample without a score is answered with an HTTP status. ``reward`` is a required number there, and a 0 with
``mask_sample`` next to it would train every trainer that does not read that field; agents call ``raise_for_status``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from guerdon.data.gym_rollouts import PARAMS, RESPONSE, field_name, parts_of, sample_of_rollout
from guerdon.errors import InputError
from guerdon.scoring.outcome import Outcome, PackedMetric
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RewardInfo,
    Route,
    as_model,
    check_metadata,
    failure_answer,
    json_bytes,
    read_object,
    reason_without_score,
    refused,
)
from guerdon.types import Sample

_GREATEST = 1e150
"""Beyond this the square of a deviation is not a number any more."""
TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"


class CreateParams(BaseModel):
    """The model's input, in the form of OpenAI's Responses."""

    model_config = ConfigDict(extra="allow")

    input: str | list[dict[str, Any]]
    instructions: str | None = None
    tools: list[dict[str, Any]] | None = None


class ModelResponse(BaseModel):
    """What the model and its tools answered, in the form of OpenAI's Responses."""

    model_config = ConfigDict(extra="allow")

    output: list[dict[str, Any]] = Field(description="Messages, function calls and their outputs, reasoning.")


class VerifyRequest(BaseModel):
    """A finished rollout. Every further field is a column of the row; ``expected_answer`` is the ground truth."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: CreateParams
    response: ModelResponse


class VerifyResponse(VerifyRequest):
    """The request with its reward; each metric is a field of its own."""

    reward: float
    reward_components: dict[str, float] | None = Field(
        None, description="Weight times score of each component of a weighted sum; they sum to the reward."
    )


class SeedSessionRequest(BaseModel):
    """The row that a rollout starts with; a reward keeps no state for it."""

    model_config = ConfigDict(extra="allow")

    resources_session_id: str | None = None


class SeedSessionResponse(BaseModel):
    """Empty, or what an Environment Server requested."""

    model_config = ConfigDict(extra="forbid")

    resources_session_id: str | None = None
    resources_tools: None = None
    sandbox_access: None = None


class AggregateMetricsRequest(BaseModel):
    """Answers of ``/verify``, each with its task's index under ``_ng_task_index``."""

    verify_responses: list[dict[str, Any]]


class AggregateMetricsResponse(BaseModel):
    """Mean, max, min, median and standard deviation of every numeric field: by task, and over all."""

    model_config = ConfigDict(extra="forbid")

    group_level_metrics: list[dict[str, Any]]
    agent_metrics: dict[str, Any]
    key_metrics: dict[str, Any] = Field(description="The means over all.")


class NemoGymFormat(Format):
    """A resources server without tools, whose verifier is the reward."""

    name: ClassVar[str] = "nemo_gym"
    routes: ClassVar[Sequence[Route]] = (
        Route("/verify", "verify", "Score a rollout", VerifyRequest, VerifyResponse),
        Route("/", "verify", "Score a rollout", VerifyRequest, VerifyResponse),
        Route("/seed_session", "seed_session", "Start a rollout", SeedSessionRequest, SeedSessionResponse),
        Route(
            "/aggregate_metrics",
            "aggregate_metrics",
            "Summarise rollouts",
            AggregateMetricsRequest,
            AggregateMetricsResponse,
        ),
    )

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        answer = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": response}],
        }
        rollout = {PARAMS: {"input": prompt}, RESPONSE: {"output": [answer]}}
        return "/verify", {**rollout, **columns}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return {"verify": PARAMS in body, "aggregate_metrics": "verify_responses" in body}.get(op, True)

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        if op == "seed_session":
            return ParsedRequest([], _session_of(read_object(body)))
        if op == "aggregate_metrics":
            return ParsedRequest([], _responses_of(body))
        row = read_object(body)
        as_model(VerifyRequest, row)
        sample = _sample(row)
        check_metadata(reward, [(sample, ())])
        return ParsedRequest([sample], row)

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        if op == "seed_session":
            return 200, json_bytes(context)
        if op == "aggregate_metrics":
            return 200, json_bytes(aggregate(context))
        (outcome,) = outcomes
        if (missing := reason_without_score(outcome)) is not None:
            return failure_answer(*missing)
        metrics = outcome.metrics or {}
        # A row that is verified again brings the fields of the first time: they are replaced or taken out.
        answer = {name: value for name, value in context.items() if name != "reward_components"}
        for name, metric in metrics.items():
            answer[field_name(name)] = metric[0]
        answer["reward"] = outcome.score
        if components := reward_components(outcome.score or 0.0, metrics):
            answer["reward_components"] = components
        return 200, json_bytes(answer)


def _responses_of(body: bytes) -> list[dict[str, Any]]:
    """The answers to summarise, of which every number can be: RefusedError names what cannot."""
    responses = as_model(AggregateMetricsRequest, read_object(body)).verify_responses
    for i, response in enumerate(responses):
        task = response.get(TASK, 0)
        if isinstance(task, bool) or not isinstance(task, int):
            raise refused("must be a whole number", "verify_responses", i, TASK)
        for name, value in _measures(response).items():
            if abs(value) > _GREATEST:
                raise refused(f"must be a number of at most {_GREATEST:g}", "verify_responses", i, name)
    return responses


def _session_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """An Environment Server names its session and gets the name back; an agent's row gets an empty answer."""
    named = {"resources_session_id", "episode_id", "task_id", "task_data"} == set(row)
    session = row.get("resources_session_id")
    if not (named and isinstance(session, str) and session):
        return {}
    return {"resources_session_id": session, "resources_tools": None, "sandbox_access": None}


def _sample(row: Mapping[str, Any]) -> Sample:
    try:
        return sample_of_rollout(row)
    except InputError as error:
        raise refused(error.message, *error.about.get("where", ())) from None


def reward_components(reward: float, metrics: Mapping[str, PackedMetric]) -> dict[str, float] | None:
    """Weight times score of each component of a weighted sum; None where they do not sum to the reward.

    >>> reward_components(0.7, {"right": (1.0, None, None, 0.5), "brief": (0.4, None, None, 0.5)})
    {'right': 0.5, 'brief': 0.2}
    """
    return parts_of(reward, {name: (metric[0], metric[3]) for name, metric in metrics.items()})


_Statistic = Callable[[Sequence[float]], float]
_STATISTICS: Mapping[str, _Statistic] = {
    "mean": statistics.fmean,
    "max": max,
    "min": min,
    "median": statistics.median,
}


def aggregate(responses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Baseline statistics as NeMo Gym's RewardProfiler gives them, of fields and of the response's usage.

    Bools count as 0 and 1; a field that a response lacks is left out of its statistics. The standard deviation is
    that of a sample, and 0 where every group of values is a single one.

    >>> aggregate([{"reward": 1.0}, {"reward": 0.0}])["key_metrics"]
    {'mean/reward': 0.5}
    """
    rows = [_measures(response) for response in responses]
    tasks: dict[Any, list[Mapping[str, float]]] = {}
    for response, numbers in zip(responses, rows, strict=True):
        tasks.setdefault(response.get(TASK, 0), []).append(numbers)
    overall = _statistics(rows) if rows else {}
    return {
        "group_level_metrics": [
            {**_statistics(tasks[task]), "sample": {"agent_ref": {"name": "agent"}}, TASK: task}
            for task in sorted(tasks)
        ],
        "agent_metrics": overall,
        "key_metrics": {name: value for name, value in overall.items() if name.startswith("mean/")},
    }


def _measures(response: Mapping[str, Any]) -> dict[str, float]:
    """What is a number among the fields of an answer and in its response's usage."""
    inner = response.get(RESPONSE)
    usage = inner.get("usage") if isinstance(inner, Mapping) else None
    fields = {**response, **usage} if isinstance(usage, Mapping) else response
    return {n: v for n, v in fields.items() if isinstance(v, int | float) and n not in (TASK, ROLLOUT)}


def _statistics(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(float(value))
    found = {f"{stat}/{name}": of(c) for stat, of in _STATISTICS.items() for name, c in columns.items()}
    return {**found, **{f"std/{name}": value for name, value in _deviations(columns, len(rows))}}


def _deviations(columns: Mapping[str, Sequence[float]], count: int) -> Iterable[tuple[str, float]]:
    several = {name: values for name, values in columns.items() if len(values) > 1}
    if several:
        return [(name, statistics.stdev(values)) for name, values in several.items()]
    return [(name, 0.0) for name, values in columns.items() if len(values) == count]
