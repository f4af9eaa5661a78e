"""Guerdon's own format, version 1: whole results, failures included, under ``/v1``.

A sample is a row in chat form, a result says which reward of which version and with which parameters made it. A
failure is a result too, so that it reaches the caller with its kind and its words whatever the transport.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from guerdon.checks import reason_of
from guerdon.errors import RemoteError
from guerdon.scoring.outcome import Outcome, metrics_as_dicts
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RefusedError,
    RewardInfo,
    Route,
    as_model,
    check_metadata,
    json_bytes,
    read_model,
    read_object,
    status_of,
)
from guerdon.serve.formats.plain_rows import PlainScoreRequest, plain_sample, with_near_names
from guerdon.types import Message, Sample, StepOutput

Identity = StrictStr | StrictInt | None
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class _ResponseModel(BaseModel):
    # A newer server may say more; an older client leaves it be.
    model_config = ConfigDict(extra="ignore", protected_namespaces=())


class ScoreRequest(_RequestModel):
    """One sample. Columns that are not named here go into ``metadata``."""

    messages: list[Message] = Field(
        min_length=1, description="The conversation; the last message is the completion."
    )
    original_messages: list[Message] | None = Field(
        None, description="The context of the completion; all messages but the last unless given."
    )
    ground_truth: Any = None
    answer: Any = None
    metadata: dict[str, Any] | None = Field(None, description="Every other column of the row.")
    id: Identity = Field(None, description="Comes back in the result.")


class BatchScoreRequest(_RequestModel):
    """Several samples, each with messages or as a prompt and a response."""

    samples: list[ScoreRequest]


class FrameRequest(_RequestModel):
    """A sample over the socket; ``n`` comes back with its result."""

    n: StrictInt
    sample: ScoreRequest


class Failure(_ResponseModel):
    """Why there is no score: ``timeout``, ``exception``, ``crash``, ``memory``, ``input``, … and in words."""

    kind: str
    message: str


class Metric(_ResponseModel):
    """One component of a verdict; what is absent is left out."""

    score: Number
    success: bool | None = None
    reason: str | None = None
    weight: Number | None = Field(None, description="The component's weight in its composition.")


class ScoreResult(_ResponseModel):
    """The verdict on a sample: a score, or an error, or neither where the reward does not apply."""

    id: Identity = None
    score: Number | None
    reason: str | None = None
    metrics: dict[str, Metric] = Field(default_factory=dict)
    step_outputs: list[StepOutput] | None = Field(None, description="Rewards of single steps of a rollout.")
    error: Failure | None = None
    reward: str = ""
    version: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    columns: str | None = Field(
        None, description="Which columns were found, where the sample's fields have other names."
    )


class BatchResult(_ResponseModel):
    """The results of a batch in its order; a failed sample is a result with an error."""

    results: list[ScoreResult]


class V1Format(Format):
    """``/v1/score`` and ``/v1/batch_score``, and as ``frame`` what goes over the socket ``/v1/ws``."""

    name: ClassVar[str] = "v1"
    routes: ClassVar[Sequence[Route]] = (
        Route(
            "/v1/score",
            "score",
            "Score one sample",
            ScoreRequest,
            ScoreResult,
            or_requests=(PlainScoreRequest,),
        ),
        Route("/v1/batch_score", "batch_score", "Score several", BatchScoreRequest, BatchResult, many=True),
    )

    sockets: ClassVar[Mapping[str, str]] = {"/v1/ws": "frame"}

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        return "/v1/score", {"prompt": prompt, "response": response, **columns}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        keys = {
            "score": ("messages", "response", "columns"),
            "batch_score": ("samples",),
            "frame": ("sample",),
        }
        return any(key in body for key in keys[op])

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        if op == "frame":
            return _read_frame(body, reward)
        if op == "score":
            read = [_read_one(body, reward)]
            check_metadata(reward, [(read[0][0], ("metadata",))])
        else:
            read = _read_many(body, reward)
            check_metadata(reward, ((s, ("samples", i, "metadata")) for i, (s, _) in enumerate(read)))
        # The columns that were found beside the identity, where some were.
        context = [sample.id if found is None else (sample.id, found) for sample, found in read]
        return ParsedRequest([sample for sample, _ in read], context)

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        if op == "batch_score":
            results = [_result(o, known, reward) for o, known in zip(outcomes, context, strict=True)]
            return 200, json_bytes({"results": results})
        (outcome,) = outcomes
        if op == "frame":
            number, identity = context
            return 200, json_bytes({"n": number, "result": _result(outcome, identity, reward)})
        return status_of(outcome), json_bytes(_result(outcome, context[0], reward))

    def identity_of(self, frame: bytes) -> Any:
        return _number_of(frame)

    def refused_frame(self, identity: Any, kind: str, message: str) -> bytes:
        return json_bytes({"n": identity, "error": {"kind": kind, "message": message}})


def result_of(outcome: Outcome, sample_id: str | int | None, reward_info: RewardInfo) -> dict[str, Any]:
    """The result object for an outcome, ready to be written as JSON.

    >>> result = result_of(Outcome(0.5), "a", RewardInfo("exact", "1"))
    >>> result["id"], result["score"], result["error"], result["reward"]
    ('a', 0.5, None, 'exact')
    """
    result: dict[str, Any] = {
        "id": sample_id,
        "score": outcome.score,
        "reason": outcome.reason,
        "metrics": metrics_as_dicts(outcome.metrics),
    }
    if outcome.steps:
        result["step_outputs"] = outcome.steps
    failed = outcome.error is not None
    result["error"] = {"kind": outcome.kind or "error", "message": outcome.error} if failed else None
    result["reward"] = reward_info.name
    result["version"] = reward_info.version
    result["parameters"] = dict(reward_info.parameters)
    return result


def _result(outcome: Outcome, known: Any, reward: RewardInfo) -> dict[str, Any]:
    if not isinstance(known, tuple):
        return result_of(outcome, known, reward)
    identity, found = known
    return {**result_of(outcome, identity, reward), "columns": found}


def outcome_of_result(result: Mapping[str, Any]) -> Outcome:
    """The outcome in a result object, the inverse of ``result_of``. Raises RemoteError for what is none.

    >>> outcome_of_result({"score": None, "error": {"kind": "timeout", "message": "over 10 s"}}).kind
    'timeout'
    """
    try:
        checked = ScoreResult.model_validate(result)
    except ValidationError as error:
        raise RemoteError(f"the server gave no result: {reason_of(error)}") from None
    failed = checked.error
    return Outcome(
        None if failed else checked.score,
        checked.reason,
        {name: (m.score, m.success, m.reason, m.weight) for name, m in checked.metrics.items()} or None,
        [step.model_dump(exclude_none=True) for step in checked.step_outputs or ()] or None,
        failed.message if failed else None,
        failed.kind if failed else None,
    )


def _read_frame(body: bytes, reward: RewardInfo) -> ParsedRequest:
    try:
        try:
            frame = read_model(FrameRequest, body)
            number, sample, found = frame.n, _sample(frame.sample), None
        except RefusedError:
            row, given = _object_in(body), _number_of(body)
            if row is None or given is None or set(row) != {"n", "sample"} or not _is_plain(row["sample"]):
                raise
            number, (sample, found) = given, plain_sample(row["sample"], reward, "sample")
        check_metadata(reward, [(sample, ("sample", "metadata"))])
    except RefusedError as error:
        raise RefusedError(error.status, error.detail, _number_of(body)) from None
    return ParsedRequest([sample], (number, sample.id if found is None else (sample.id, found)))


Read = tuple[Sample, str | None]
"""A sample, and which columns were found for it, if any had to be."""


def _read_one(body: bytes, reward: RewardInfo) -> Read:
    if b'"messages"' not in body and (row := _object_in(body)) is not None and _is_plain(row):
        return plain_sample(row, reward)
    try:
        return _sample(read_model(ScoreRequest, body)), None
    except RefusedError as refused:
        row = _object_in(body)
        if row is None or not _is_plain(row):
            raise with_near_names(refused) from None
    return plain_sample(row, reward)


def _read_many(body: bytes, reward: RewardInfo) -> list[Read]:
    """A batch of samples in chat form is read in one go, one with plain rows row by row."""
    try:
        return [(_sample(request), None) for request in read_model(BatchScoreRequest, body).samples]
    except RefusedError as refused:
        row = _object_in(body)
        rows = None if row is None or set(row) != {"samples"} else row["samples"]
        if not isinstance(rows, list) or not any(map(_is_plain, rows)):
            raise with_near_names(refused) from None
    return [_sample_of(row, reward, "samples", i) for i, row in enumerate(rows)]


def _sample_of(row: Any, reward: RewardInfo, *where: str | int) -> Read:
    if _is_plain(row):
        return plain_sample(row, reward, *where)
    return _sample(as_model(ScoreRequest, row, *where)), None


def _is_plain(row: Any) -> bool:
    return isinstance(row, dict) and "messages" not in row and bool(row)


def _object_in(body: bytes) -> dict[str, Any] | None:
    try:
        return read_object(body)
    except RefusedError:
        return None


def _number_of(body: bytes) -> int | None:
    """The number of a malformed frame, where it has one."""
    try:
        number = read_object(body).get("n")
    except RefusedError:
        return None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _sample(request: ScoreRequest) -> Sample:
    return Sample(
        request.messages,
        request.original_messages,
        request.ground_truth,
        request.answer,
        request.metadata or {},
        request.id,
    )
