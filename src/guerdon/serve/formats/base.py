"""Format: one wire format, as the server's workers use it.

A format is one file under ``serve/formats``. It names the paths where it is served, reads a request's body into
samples and writes their outcomes as a response's body. It runs where the reward runs, in a worker process, so
that untrusted bodies are parsed there and not in the process that answers the health checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, from_json, to_json

from guerdon.errors import (
    BindingError,
    DeadlineError,
    InputError,
    NotApplicableError,
)
from guerdon.scoring.outcome import Outcome, failure
from guerdon.types import Sample, check_ending

ModelT = TypeVar("ModelT", bound=BaseModel)
Detail = str | list[dict[str, Any]]
_SHOWN_INPUT = 200
_SHOWN_PROBLEMS = 100
_DEPTH = 100


class RefusedError(Exception):
    """A request that is not scored: an HTTP status of 4xx and what is wrong, in FastAPI's form.

    ``id`` is the request's own where its answer is known by it, as on a socket.
    """

    def __init__(self, status: int, detail: Detail, id: Any = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.id = status, detail, id


@dataclass(frozen=True, slots=True)
class Route:
    """A path where a format takes POST requests, relative to a reward's root."""

    path: str
    op: str
    """The operation at this path, in the format's own words; ``read`` and ``write`` get it."""
    summary: str
    request: type[BaseModel]
    response: type[BaseModel]
    many: bool = False
    """Whether a body may hold several samples."""
    or_requests: Sequence[type[BaseModel]] = ()
    """Further forms of the body, for the page of documentation."""


@dataclass(frozen=True, slots=True)
class RewardInfo:
    """What a format may know of the reward that is served."""

    name: str
    version: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata_cls: type[BaseModel] | None = None
    """The class that the metadata of every request must fit, where the reward declares one."""
    reads: frozenset[str] | None = frozenset()
    """The names that the reward reads of a sample; None where they are not known."""
    any_ending: bool = False
    """Whether it scores conversations that do not end with the assistant."""


@dataclass(slots=True)
class ParsedRequest:
    """What a request's body holds."""

    samples: list[Sample | Outcome]
    """In the body's order; an Outcome in place of a sample that cannot be scored."""
    context: Any = None
    """Whatever ``write`` needs of the request; it must pickle."""


class Format(ABC):
    """One wire format; instances hold no state."""

    name: ClassVar[str]
    routes: ClassVar[Sequence[Route]]
    sockets: ClassVar[Mapping[str, str]] = {}
    """The paths of its WebSockets, and the operation of a text frame there.

    The answer's body holds one frame a line.
    """

    @abstractmethod
    def example(self, prompt: str, response: str, columns: Mapping[str, Any]) -> tuple[str, Any]:
        """The path and the body of a request to score one response; ``columns`` has its ground truth, too."""

    @abstractmethod
    def claims(self, op: str, body: Mapping[str, Any]) -> bool:
        """Whether a body has the shape of this operation, for a path that several want."""

    @abstractmethod
    def read(self, op: str, body: bytes, reward: RewardInfo) -> ParsedRequest:
        """The samples in a request's body. Raises RefusedError where it is malformed as a whole."""

    def identity_of(self, frame: bytes) -> Any:
        """What the answer to a frame, well-formed or not, is known by; None where it does not say."""
        return None

    def refused_frame(self, identity: Any, kind: str, message: str) -> bytes:
        """The frame that answers one which is not scored; ``identity`` is what its answer is known by."""
        return json_bytes({"id": identity, "error": {"kind": kind, "message": message}})

    @abstractmethod
    def write(
        self, op: str, context: Any, outcomes: Sequence[Outcome], reward: RewardInfo
    ) -> tuple[int, bytes]:
        """The status and the body that answer a request, for the outcomes of its samples in their order."""


def example_messages(prompt: str, response: str) -> list[dict[str, str]]:
    """The conversation of an example in chat form."""
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}]


def read_object(body: bytes) -> dict[str, Any]:
    """A request's body as a JSON object. Raises RefusedError for anything else, also for NaN and infinities."""
    value = _json_in(body)
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise RefusedError(
            422, [_problem("dict_type", ["body"], f"the body must be a JSON object, not a {kind}")]
        )
    return value


def _json_in(body: bytes) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        problem = _problem("json_invalid", ["body"], f"the body is not JSON: {error}")
        raise RefusedError(422, [problem]) from None


def refuse_infinite_json(body: bytes) -> None:
    """Raise RefusedError for a body with NaN or Infinity, which a field of any type would take."""
    if b"NaN" in body or b"Infinity" in body:
        _json_in(body)


def read_model(model: type[ModelT], body: bytes) -> ModelT:
    """A request's body as a pydantic model. Raises RefusedError that lists every problem with its place."""
    refuse_infinite_json(body)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise RefusedError(422, problems_of(error)) from None


def as_model(model: type[ModelT], value: Any, *where: str | int) -> ModelT:
    """A value out of a body, at ``where``, as a pydantic model. Raises RefusedError as ``read_model`` does."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RefusedError(422, problems_of(error, *where)) from None


def as_sample(row: Mapping[str, Any], *where: str | int) -> Sample:
    """A row in chat form, at ``where`` in the body, as a sample. Raises RefusedError."""
    try:
        return Sample.from_row(row)
    except InputError as error:
        raise refused(str(error), *where) from None


def with_response(sample: Sample | Outcome) -> Sample | Outcome:
    """The sample; the failure that says what is wrong where it ends with no response of the assistant's.

    >>> asked = Sample([{"role": "user", "content": "2 + 2?"}])
    >>> print(with_response(asked).error)
    the conversation ends with a message of the role "user"; the last one must be the assistant's, which is the response
    """
    if not isinstance(sample, Sample):
        return sample
    try:
        check_ending(sample.messages)
    except InputError as error:
        return failure(InputError.kind, str(error))
    return sample


def refused(message: str, *where: str | int) -> RefusedError:
    """The refusal of a body for one thing that is wrong at ``where``."""
    return RefusedError(422, [value_problem(message, *where)])


def value_problem(message: str, *where: str | int) -> dict[str, Any]:
    """One thing that is wrong at ``where``, in FastAPI's form."""
    return _problem("value_error", ["body", *where], message)


def check_metadata(reward: RewardInfo, placed: Iterable[tuple[Sample, Sequence[str | int]]]) -> None:
    """Hold the metadata of samples against the class that the reward declares.

    ``placed`` has each sample with the place of its metadata in the body. A field of the class that is called
    ``ground_truth`` or ``answer`` is the sample's own. Raises RefusedError that lists what is wrong in all of them.
    """
    if reward.metadata_cls is None:
        return
    fields = reward.metadata_cls.model_fields
    problems: list[dict[str, Any]] = []
    for sample, where in placed:
        metadata = dict(sample.metadata)
        for name in ("ground_truth", "answer"):
            if name in fields and getattr(sample, name) is not None:
                metadata.setdefault(name, getattr(sample, name))
        try:
            reward.metadata_cls.model_validate(metadata)
        except ValidationError as error:
            problems += problems_of(error, *where)
        except Exception:
            # The validators are the user's own code: what else they raise is reported where the sample is scored.
            continue
    if problems:
        more = len(problems) - _SHOWN_PROBLEMS
        if more > 0:
            problems[_SHOWN_PROBLEMS:] = [_problem("too_many", ["body"], f"and {more} more problems")]
        raise RefusedError(422, problems)


def problems_of(error: ValidationError, *where: str | int) -> list[dict[str, Any]]:
    """A pydantic error in FastAPI's form: ``type``, ``loc`` from ``["body", …]``, ``msg``, ``input``."""
    found = error.errors(include_url=False, include_context=False)
    listed = [_detail(item, where) for item in found[:_SHOWN_PROBLEMS]]
    if len(found) > _SHOWN_PROBLEMS:
        more = f"and {len(found) - _SHOWN_PROBLEMS} more problems"
        listed.append(_problem("too_many", ["body", *where], more))
    return listed


def _detail(item: ErrorDetails, where: Sequence[str | int]) -> dict[str, Any]:
    shown = item["input"]
    if isinstance(shown, bytes):  # the body itself, where it is not JSON
        shown = shown[: _SHOWN_INPUT * 4].decode(errors="replace")
    if not isinstance(shown, int | float | bool | None) and len(text := repr(shown)) > _SHOWN_INPUT:
        shown = text[:_SHOWN_INPUT] + "…"
    message = item["msg"].removeprefix("Value error, ")
    return {"type": item["type"], "loc": ["body", *where, *item["loc"]], "msg": message, "input": shown}


def _problem(kind: str, where: Sequence[str | int], message: str) -> dict[str, Any]:
    return {"type": kind, "loc": list(where), "msg": message, "input": None}


def json_bytes(value: Any) -> bytes:
    """A value as JSON; what JSON has no form for becomes text. Outcomes hold neither NaN nor infinities.

    >>> json_bytes({"reason": "half a pair: \\ud83d", "limit": float("inf")})
    b'{"reason":"half a pair: ?","limit":"Infinity"}'
    """
    try:
        return to_json(value, fallback=str, inf_nan_mode="strings")
    except PydanticSerializationError:  # text that is not UTF-8, as a reward's words about a model's may be
        return to_json(_plain(value), fallback=str, inf_nan_mode="strings")


def _plain(value: Any, depth: int = 0) -> Any:
    """A value with what cannot be written replaced: lone surrogates, bytes, nesting without an end."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if depth < _DEPTH and isinstance(value, Mapping):
        return {_plain(str(name)): _plain(item, depth + 1) for name, item in value.items()}
    if depth < _DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    return value if isinstance(value, int | float | None) else _plain(str(value))


STATUS_OF_KIND = {
    DeadlineError.kind: 504,
    InputError.kind: 422,
    BindingError.kind: 422,
    NotApplicableError.kind: 422,
}


def status_of(outcome: Outcome) -> int:
    """The HTTP status of one outcome: 200, 422 for what the request lacks, 504, 500."""
    return 200 if outcome.error is None else STATUS_OF_KIND.get(outcome.kind or "", 500)


def reason_without_score(outcome: Outcome) -> tuple[str, str] | None:
    """The kind and the message of an outcome that gives no number; None where there is a score.

    For formats whose clients take a number and nothing else, "does not apply" is such an outcome too.
    """
    if outcome.error is not None:
        return outcome.kind or "error", outcome.error
    if outcome.score is None:
        return NotApplicableError.kind, outcome.reason or "the reward does not apply to this sample"
    return None


def failure_answer(kind: str, message: str, **more: Any) -> tuple[int, bytes]:
    """The status and the body of a failure, for a format whose response has no field for one."""
    body = {"detail": message, "error": {"kind": kind, "message": message}, **more}
    return STATUS_OF_KIND.get(kind, 500), json_bytes(body)
