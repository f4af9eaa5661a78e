"""OpenEnv's environments (openenv 0.10): ``/reset``, ``/step`` and ``/state``, and the messages of ``/ws``.

A reward is an environment of one step: the action is a row, its score the reward, and then the episode is done.
OpenEnv's client uses the WebSocket only; over HTTP every request is an environment of its own, as in OpenEnv's
own server. A sample without a score is an HTTP status there and an error message here, for which the client raises;
"does not apply" is a reward of ``null``, which an observation may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import from_json

from guerdon.scoring.outcome import Outcome, metrics_as_dicts
from guerdon.serve.formats.base import (
    Format,
    ParsedRequest,
    RewardInfo,
    Route,
    as_model,
    as_sample,
    check_metadata,
    failure_answer,
    json_bytes,
    problems_of,
    read_object,
    refused,
)
from guerdon.serve.json_reading import read_bounded_json
from guerdon.types import Message

_NAMES = ("prompt", "response")


class ResetRequest(BaseModel):
    """Starts an episode; there is nothing to choose, so both are only remembered."""

    model_config = ConfigDict(extra="allow")

    seed: int | None = Field(None, ge=0)
    episode_id: str | None = Field(None, max_length=255)


class Action(BaseModel):
    """A row to score: ``messages``, or a ``prompt`` and a ``response``. Every further field is a column."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    messages: list[Message] | None = Field(None, min_length=1)
    prompt: str | None = None
    response: str | None = None
    ground_truth: Any = None
    metadata: dict[str, Any] | None = None


class StepRequest(BaseModel):
    """An action. Further fields are an environment's own, of which a reward has none."""

    model_config = ConfigDict(extra="allow")

    action: Action
    timeout_s: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Not observed: the server's own deadline holds."
    )
    request_id: str | None = Field(None, max_length=255)


class EnvironmentResponse(BaseModel):
    """An observation with its reward."""

    model_config = ConfigDict(extra="forbid")

    observation: dict[str, JsonValue]
    reward: float | None = None
    done: bool = False
    metadata: dict[str, JsonValue] | None = None


class StateRequest(BaseModel):
    """Nothing."""

    model_config = ConfigDict(extra="forbid")


class StateResponse(BaseModel):
    """The state of an episode; over HTTP always that of a fresh one."""

    model_config = ConfigDict(extra="forbid")

    episode_id: str | None = None
    step_count: int = 0


class OpenEnvFormat(Format):
    """The environment over HTTP; ``OpenEnvCodec`` is its half of the socket."""

    name: ClassVar[str] = "openenv"
    routes: ClassVar[Sequence[Route]] = (
        Route("/reset", "reset", "Start an episode", ResetRequest, EnvironmentResponse),
        Route("/step", "step", "Score an action", StepRequest, EnvironmentResponse),
        Route("/", "step", "Score an action", StepRequest, EnvironmentResponse),
        Route("/state", "state", "The state of a fresh environment", StateRequest, StateResponse),
    )

    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        return "/step", {"action": {"prompt": prompt, "response": response, **columns}}

    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        return op != "step" or "action" in body

    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        value = read_object(body) if op == "step" or body.strip() else {}
        if op != "step":
            as_model(ResetRequest if op == "reset" else StateRequest, value)
            return ParsedRequest([])
        request = as_model(StepRequest, value)
        sample = as_sample(_row(request.action), "action")
        check_metadata(reward, [(sample, ("action",))])
        return ParsedRequest([sample])

    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        if op == "state":
            return 200, json_bytes(StateResponse())
        if op == "reset":
            return 200, _observed({}, None, False, reward)
        (outcome,) = outcomes
        if outcome.error is not None:
            return failure_answer(outcome.kind or "error", outcome.error)
        seen = {"reason": outcome.reason, "metrics": metrics_as_dicts(outcome.metrics)}
        return 200, _observed(seen, outcome.score, True, reward)


def _observed(observation: dict[str, Any], score: float | None, done: bool, reward: RewardInfo) -> bytes:
    # In the observation for typed clients and next to it for generic ones, as OpenEnv's server has it.
    made_by = {"reward": reward.name, "version": reward.version}
    observation = {**observation, "metadata": made_by}
    return json_bytes({"observation": observation, "reward": score, "done": done, "metadata": made_by})


def _row(action: Action) -> dict[str, Any]:
    row = {n: v for n, v in {**action.__dict__, **(action.__pydantic_extra__ or {})}.items() if v is not None}
    prompt, response = (row.pop(name, None) for name in _NAMES)
    if "messages" in row:
        if response is not None:
            raise refused("give messages or a response, not both", "action", "response")
        return row if prompt is None else {**row, "prompt": prompt}
    if response is None:
        raise refused("an action needs messages, or a response", "action")
    before = [] if prompt is None else [Message(role="user", content=prompt)]
    return {**row, "messages": [*before, Message(role="assistant", content=response)]}


ErrorCode = Literal["INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR"]
TYPES = frozenset({"reset", "step", "state", "close", "mcp"})
"""What a message of OpenEnv's has as its ``type``; no frame of another format has one."""


class _ClientMessage(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: str


class _DataMessage(_ClientMessage):
    data: dict[str, Any] = Field(default_factory=dict)


class _StepMessage(_ClientMessage):
    data: dict[str, Any]


_MESSAGES: Mapping[str, type[_ClientMessage]] = {
    "reset": _DataMessage,
    "step": _StepMessage,
    "state": _ClientMessage,
    "close": _ClientMessage,
}


@dataclass(slots=True)
class SessionCommand:
    """What a message asks: a request of the HTTP format, an answer that is known already, or to close."""

    op: str
    body: bytes = b""
    answer: bytes | None = None


@dataclass(slots=True)
class OpenEnvCodec:
    """One connection's environment.

    Messages carry no id, so a connection is answered in the order of its requests: what ``receive`` gives is
    answered, by the HTTP format where there is no answer yet, before the next one is received.

    >>> session = OpenEnvCodec()
    >>> turn = session.receive('{"type": "step", "data": {"response": "4"}}')
    >>> turn.op, turn.body
    ('step', b'{"action":{"response":"4"}}')
    >>> session.answer(turn, 200, b'{"observation":{},"reward":1.0,"done":true}')
    b'{"type":"observation","data":{"observation":{},"reward":1.0,"done":true}}'
    >>> session.receive('{"type": "state"}').answer
    b'{"type":"state","data":{"episode_id":null,"step_count":1}}'
    """

    episode_id: str | None = None
    step_count: int = 0

    def receive(self, text: str | bytes) -> SessionCommand:
        """What a text frame asks; a malformed one is a turn whose answer says so."""
        try:
            value = read_bounded_json(text, allow_inf_nan=False)
        except ValueError as error:
            return SessionCommand("error", answer=error_frame("INVALID_JSON", f"Invalid JSON: {error}"))
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in _MESSAGES:
            return SessionCommand(
                "error", answer=error_frame("UNKNOWN_TYPE", f"Unknown message type: {kind}")
            )
        try:
            message = _MESSAGES[kind].model_validate(value)
            if kind == "reset":
                self._reset(ResetRequest.model_validate(value.get("data", {})))
        except ValidationError as error:
            return SessionCommand(
                "error", answer=error_frame("VALIDATION_ERROR", "Invalid message", problems_of(error))
            )
        if isinstance(message, _StepMessage):
            return SessionCommand("step", json_bytes({"action": message.data}))
        if isinstance(message, _DataMessage):
            return SessionCommand("reset", json_bytes(message.data))
        if kind == "close":
            return SessionCommand("close")
        state = {"episode_id": self.episode_id, "step_count": self.step_count}
        return SessionCommand("state", answer=b'{"type":"state","data":%s}' % json_bytes(state))

    def answer(self, turn: SessionCommand, status: int, body: bytes) -> bytes:
        """The frame for what the HTTP format answered to a turn."""
        if status == 200:
            self.step_count += turn.op == "step"
            return b'{"type":"observation","data":%s}' % body
        failure = from_json(body)
        detail = failure.get("detail") if isinstance(failure, dict) else None
        if isinstance(detail, list):
            return error_frame("VALIDATION_ERROR", _sentence(detail), detail)
        return error_frame("EXECUTION_ERROR", str(detail or f"status {status}"))

    def _reset(self, request: ResetRequest) -> None:
        self.episode_id, self.step_count = request.episode_id, 0


def error_frame(code: ErrorCode, message: str, errors: Sequence[Any] | None = None) -> bytes:
    """An error message; the client raises it with its text and its code."""
    more = {} if errors is None else {"errors": errors}
    return json_bytes({"type": "error", "data": {"message": message, "code": code, **more}})


def _sentence(problems: Sequence[Mapping[str, Any]]) -> str:
    """The first problems in words: the client shows nothing but the message."""
    shown = [f"{'.'.join(map(str, p.get('loc', ())))}: {p.get('msg')}" for p in problems[:3]]
    return "Invalid message: " + "; ".join(shown)
