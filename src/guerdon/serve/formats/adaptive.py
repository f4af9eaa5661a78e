"""Adaptive's reward servers (adaptive-sdk 0.14.2): ``/score``, ``/batch_score`` and the frames of ``/ws``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import to_json

from guerdon.checks import finite, refuse_infinities
from guerdon.errors import InvalidResultError, NotApplicableError
from guerdon.reward.binding.returns import to_result
from guerdon.scoring.outcome import Outcome, failure, metrics_as_dicts, pack
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RefusedError,
    RewardInfo,
    Route,
    check_metadata,
    example_messages,
    json_bytes,
    problems_of,
    read_model,
    refuse_infinite_json,
    status_of,
    value_problem,
)
from guerdon.serve.json_reading import MAX_ANSWER_VALUES, read_bounded_json
from guerdon.serve.models import (
    BatchedRequest,
    BatchedResponse,
    Request,
    Response,
    Turn,
    ValidatedRequest,
)
from guerdon.types import Message, Sample

CHUNK = 10_240
"""Characters of a response in one frame."""
EncodedResponse = tuple[float, bytes]
"""What a RewardServer said of one request: its reward and the Response as JSON."""


class AdaptiveFormat(Format):
    """The bodies are those of ``guerdon.serve.models``; the last turn is the completion.

    ``metadata: null`` and absent metadata mean ``{}``. A request's ``id`` comes back in its response.
    """

    name: ClassVar[str] = "adaptive"
    routes: ClassVar[Sequence[Route]] = (
        Route("/score", "score", "Score one conversation", Request, Response),
        Route("/batch_score", "batch_score", "Score several", BatchedRequest, BatchedResponse, many=True),
        Route("/", "score", "Score one conversation", Request, Response),
        Route("/", "batch_score", "Score several", BatchedRequest, BatchedResponse, many=True),
    )

    sockets: ClassVar[Mapping[str, str]] = {"/ws": "frame"}

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        turns = example_messages(prompt, response)
        return "/score", {"turns": turns, "metadata": dict(columns)}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return ("requests" if op == "batch_score" else "turns") in body

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        if op == "batch_score":
            requests = read_model(BatchedRequest, body).requests
            places: list[tuple[str | int, ...]] = [("requests", i) for i in range(len(requests))]
        else:
            requests, places = [read_frame(body) if op == "frame" else read_model(Request, body)], [()]
        samples = [_sample(request) for request in requests]
        placed = (
            (s, (*p, "metadata")) for s, p in zip(samples, places, strict=True) if isinstance(s, Sample)
        )
        try:
            check_metadata(reward, placed)
        except RefusedError as refused:
            raise RefusedError(refused.status, refused.detail, requests[0].id) from None
        return ParsedRequest(samples, [request.id for request in requests])

    def identity_of(self, frame: bytes) -> Any:
        return _identity_of(frame)

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        made_by = json_bytes(
            {"reward": reward.name, "version": reward.version, "parameters": dict(reward.parameters)}
        )
        replies: list[EncodedResponse | Outcome] = [
            _reply(outcome, identity, made_by) for outcome, identity in zip(outcomes, context, strict=True)
        ]
        return written(op, context, replies)


def written(
    op: str, ids: Sequence[int | None], replies: Sequence[EncodedResponse | Outcome]
) -> tuple[int, bytes]:
    """The answer to a request for what is known of each of its items."""
    if op == "batch_score":
        items = [
            reply[1] if len(reply) == 2 else _failed_item(reply, identity)
            for reply, identity in zip(replies, ids, strict=True)
        ]
        return 200, b'{"responses":[' + b",".join(items) + b"]}"
    return written_one(op, ids[0], replies[0])


def written_one(op: str, identity: int | None, reply: EncodedResponse | Outcome) -> tuple[int, bytes]:
    """The answer to a request for one score."""
    if op == "frame":
        assert identity is not None  # a frame without one was refused
        return 200, frames_of(reply[1], identity) if len(reply) == 2 else _error_frame(reply, identity)
    if len(reply) == 2:
        return 200, reply[1]
    return status_of(reply), json_bytes({"detail": reply.error, "error": _error(reply), "id": identity})


def _error(outcome: Outcome) -> dict[str, Any]:
    return {"kind": outcome.kind, "message": outcome.error}


def _error_frame(outcome: Outcome, identity: int | None) -> bytes:
    return json_bytes({"id": identity, "error": _error(outcome)})


def _failed_item(outcome: Outcome, identity: int | None) -> bytes:
    return json_bytes({"reward": None, "metadata": {}, "id": identity, "error": _error(outcome)})


def frames_of(response: bytes, identity: int) -> bytes:
    """A response as the frames of the socket, one a line: a header, then chunks of at most 10,240 characters."""
    if len(response) <= CHUNK:
        return b'{"id":%d,"total_num_chunks":1}\n{"id":%d,"chunk":%s}' % (
            identity,
            identity,
            to_json(response.decode()),
        )
    text = response.decode()
    chunks = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    lines = [b'{"id":%d,"total_num_chunks":%d}' % (identity, len(chunks))]
    lines += [b'{"id":%d,"chunk":%s}' % (identity, to_json(chunk)) for chunk in chunks]
    return b"\n".join(lines)


def read_frame(body: bytes) -> Request:
    """A text frame as a request. Raises RefusedError, which carries the frame's ``id`` where it has one."""
    try:
        refuse_infinite_json(body)
        request = Request.model_validate_json(body)
    except RefusedError as refused:
        raise refused_frame(body, refused.detail) from None
    except ValidationError as error:
        raise refused_frame(body, problems_of(error)) from None
    if request.id is None:
        raise refused_frame(body, "a frame needs an id, a whole number, by which its answer is known")
    return request


def refused_frame(body: bytes, detail: Any) -> RefusedError:
    """The refusal of a frame."""
    return RefusedError(422, detail, _identity_of(body))


def _identity_of(frame: bytes) -> int | None:
    try:
        value = read_bounded_json(frame, MAX_ANSWER_VALUES)
    except ValueError:
        return None
    identity = value.get("id") if isinstance(value, dict) else None
    return identity if isinstance(identity, int) and not isinstance(identity, bool) else None


def _sample(request: Request) -> Sample | Outcome:
    metadata = request.metadata or {}
    if not request.turns:
        return failure("input", "turns is empty: the last turn must be the completion")
    return Sample(
        messages=[Message(role=turn.role, content=turn.content) for turn in request.turns],
        # The format has no other place for these.
        ground_truth=metadata.get("ground_truth"),
        answer=metadata.get("answer"),
        metadata=metadata,
        id=request.id,
    )


def _reply(outcome: Outcome, identity: int | None, made_by: bytes) -> EncodedResponse | Outcome:
    if outcome.error is not None:
        return outcome
    if outcome.score is None:
        return failure(NotApplicableError.kind, outcome.reason or "the reward does not apply to this sample")
    parts = [b'"made_by":' + made_by]
    if outcome.reason is not None:
        parts.append(b'"reason":' + json_bytes(outcome.reason))
    if outcome.metrics:
        parts.append(b'"metrics":' + json_bytes(metrics_as_dicts(outcome.metrics)))
    number = b"null" if identity is None else b"%d" % identity
    body = b'{"reward":%s,"metadata":{%s},"id":%s}' % (to_json(outcome.score), b",".join(parts), number)
    return outcome.score, body


# A RewardServer uses this format natively: its requests are validated and its Response goes out as it is.


@dataclass(slots=True)
class ServerRequests:
    """The checked requests of one body, for a RewardServer."""

    requests: list[ValidatedRequest[Any]]
    ids: list[int | None]
    batch_cls: type[BaseModel]


class ServerReader:
    """Reads bodies into requests of one RewardServer's metadata class."""

    def __init__(self, metadata_cls: type[BaseModel], any_ending: bool = False) -> None:
        cls: Any = metadata_cls
        self._any_ending = any_ending
        self._metadata_cls = cls
        wire: Any = create_model(
            "ValidatedRequest", __base__=ValidatedRequest[cls], metadata=(cls | None, None)
        )
        many: Any = create_model("BatchedRequest", __base__=BatchedRequest, requests=(list[wire], ...))
        self._one = wire.__pydantic_validator__.validate_json
        self._batch_cls = many
        self._many = many.__pydantic_validator__.validate_json

    def one(self, op: str, body: bytes) -> ValidatedRequest[Any] | None:
        """The request in a body that holds one and is well formed; ``read`` says what is wrong with others."""
        try:
            request: ValidatedRequest[Any] = self._one(body)
        except ValidationError:
            return None
        fields = request.__dict__
        if b"NaN" in body or b"Infinity" in body or self._wrong_ending(fields["turns"]):
            return None
        if fields["metadata"] is None or (op == "frame" and fields["id"] is None):
            return None
        return request

    def read(self, op: str, body: bytes) -> ServerRequests:
        """Raises RefusedError that lists every problem of every item."""
        try:
            refuse_infinite_json(body)
        except RefusedError as refused:
            raise (refused_frame(body, refused.detail) if op == "frame" else refused) from None
        try:
            requests = self._many(body).requests if op == "batch_score" else [self._one(body)]
        except ValidationError as error:
            problems = problems_of(error)
            raise refused_frame(body, problems) if op == "frame" else RefusedError(422, problems) from None
        ids = [request.__dict__["id"] for request in requests]
        problems = []
        for i, request in enumerate(requests):
            place: tuple[str | int, ...] = ("requests", i) if op == "batch_score" else ()
            if (wrong := self._wrong_ending((fields := request.__dict__)["turns"])) is not None:
                problems.append(value_problem(wrong, *place, "turns"))
            if fields["metadata"] is None:
                problems += self._fill(fields, place)
        if op == "frame" and ids[0] is None:
            raise refused_frame(body, "a frame needs an id, a whole number, by which its answer is known")
        if problems:
            raise refused_frame(body, problems) if op == "frame" else RefusedError(422, problems)
        return ServerRequests(requests, ids, self._batch_cls)

    def _wrong_ending(self, turns: Sequence[Turn]) -> str | None:
        """What is wrong with turns that do not end with the assistant's."""
        if self._any_ending or (turns and turns[-1].role == "assistant"):
            return None
        if not turns:
            return "turns is empty: the last turn must be the completion"
        return f'the last turn must be the assistant\'s, not one of the role "{turns[-1].role[:40]}"'

    def _fill(self, fields: dict[str, Any], place: Sequence[str | int]) -> list[dict[str, Any]]:
        """No metadata means empty metadata, which may lack what the class requires."""
        try:
            fields["metadata"] = self._metadata_cls.model_validate({})
        except ValidationError as error:
            return problems_of(error, *place, "metadata")
        return []


_serialize = Response.__pydantic_serializer__.to_json


def reply_of(value: Any, identity: int | None, name: str) -> EncodedResponse | Outcome:
    """What a RewardServer's ``score`` gave, as it goes out. Raises InvalidResultError for what is not a result."""
    try:
        if type(value) is not Response:
            return _foreign_reply(value, identity, name)
        fields = value.__dict__
        if identity is not None or type(fields["reward"]) is not float:
            return _own_reply(value, identity)
        body = _serialize(value)
        # What is not a number is written as these words, which a text may hold too.
        if b"NaN" in body or b"Infinity" in body:
            return _own_reply(value, identity)
        return fields["reward"], body
    except ValueError as error:
        if isinstance(error, InvalidResultError):
            raise
        raise InvalidResultError(f"{name} returned an invalid result: {error}", reward=name) from None


def _own_reply(value: Response, identity: int | None) -> EncodedResponse:
    fields = value.__dict__
    reward = fields["reward"]
    if type(reward) is not float or not isfinite(reward):
        finite(reward, "reward")  # it may have been set after it was checked
        fields["reward"] = float(reward)
    own = fields["id"]
    if identity is not None:
        fields["id"] = identity
    try:
        body = _serialize(value)
    finally:
        fields["id"] = own  # the object is the reward's, which may give it again
    if b"NaN" in body or b"Infinity" in body:
        refuse_infinities(fields["metadata"], "metadata")
    return reward, body


def _foreign_reply(value: Any, identity: int | None, name: str) -> EncodedResponse | Outcome:
    """The reply for a number, a subclass, or the Response of another package."""
    fields = type(value).model_fields if isinstance(value, BaseModel) else {}
    if "reward" in fields:
        reward = finite(vars(value)["reward"], "reward")
        metadata = getattr(value, "metadata", None) or {}
        refuse_infinities(metadata, "metadata")
        own = getattr(value, "id", None) if identity is None else identity
        return reward, json_bytes({"reward": reward, "metadata": metadata, "id": own})
    outcome = pack(to_result(value, name))
    if outcome.score is None:
        return outcome if outcome.error else failure(InvalidResultError.kind, f"{name} returned no reward")
    reason = {} if outcome.reason is None else {"reason": outcome.reason}
    metrics = {"metrics": metrics_as_dicts(outcome.metrics)} if outcome.metrics else {}
    body = {"reward": outcome.score, "metadata": {**reason, **metrics}, "id": identity}
    return outcome.score, json_bytes(body)
