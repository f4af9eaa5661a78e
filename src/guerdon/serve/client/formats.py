"""ClientFormat: a wire format as a remote reward uses it, a sample out and a result in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.errors import ExecutionError, InvalidResultError, RemoteError
from guerdon.reward.binding.returns import to_result
from guerdon.serve.client.response import HttpResponse, error_from_payload
from guerdon.serve.client.results import read_result
from guerdon.serve.encoding import json_of
from guerdon.types import EvaluateResult, Sample

_GENERIC_SERVER_SAYS = "Internal server error during evaluation: "


class ClientFormat(ABC):
    """One format; ``path`` is where a sample is posted, relative to the reward's address."""

    name: ClassVar[str]
    path: str

    @abstractmethod
    def encode(self, sample: Sample, fixed: Mapping[str, Any]) -> bytes:
        """The body for a sample; ``fixed`` arguments win over its columns. Raises InputError."""

    @abstractmethod
    def decode(self, response: HttpResponse) -> EvaluateResult:
        """The result in an response. Raises the RewardError in place of one."""

    def is_final(self, response: HttpResponse) -> bool:
        """Whether an answer with an error status reports the reward's failure in the format's own way."""
        return False


class V1ClientFormat(ClientFormat):
    """Guerdon's own."""

    name = "v1"
    path = "v1/score"

    def encode(self, sample: Sample, fixed: Mapping[str, Any]) -> bytes:
        row = sample.to_row()
        columns = dict(fixed)
        for key in ("ground_truth", "answer"):
            if key in columns:
                row[key] = columns.pop(key)
        if columns:
            row["metadata"] = {**sample.metadata, **columns}
        return json_of(row)

    def decode(self, response: HttpResponse) -> EvaluateResult:
        value = response.json() if response.status in (200, 422, 500, 504) else None
        if isinstance(value, dict) and "score" in value and "reward" in value:
            return read_result(value, response.url)
        response.raise_for_status()
        return read_result(value, response.url)


class AdaptiveClientFormat(ClientFormat):
    """Adaptive's: the conversation as turns, the columns as metadata."""

    name = "adaptive"
    path = "score"

    def __init__(self, schema: Mapping[str, Any], reward: str) -> None:
        properties = schema.get("properties")
        self._fields = set(properties) if isinstance(properties, dict) else set()
        self._strict = schema.get("additionalProperties") is False
        self._reward = reward

    def encode(self, sample: Sample, fixed: Mapping[str, Any]) -> bytes:
        # As a RewardServer that is scored with in place: see targets.ServerScore.
        known = {"ground_truth": sample.ground_truth, "answer": sample.response, "id": sample.id}
        metadata = {n: v for n, v in known.items() if n in self._fields and v is not None}
        # A class that forbids other fields is not sent the data set's other columns.
        metadata |= {n: v for n, v in sample.metadata.items() if not self._strict or n in self._fields}
        turns = [{"role": message.role, "content": message.text} for message in sample.messages]
        return json_of({"turns": turns, "metadata": {**metadata, **fixed}})

    def decode(self, response: HttpResponse) -> EvaluateResult:
        value = response.object()
        if isinstance(error := value.get("error"), dict):
            raise error_from_payload(error)
        if value.get("reward", 0) is None:
            raise InvalidResultError(f"{response.url} answered with a reward that is not a finite number")
        if "reward" not in value:
            raise RemoteError(
                f"{response.url} answered with something that is not a response", url=response.url
            )
        return read_adaptive(value, self._reward)


def read_adaptive(value: Mapping[str, Any], reward: str) -> EvaluateResult:
    """The result in Adaptive's response, as that of a RewardServer in place."""
    from guerdon.serve.models import Response

    return to_result(Response(reward=value["reward"], metadata=value.get("metadata") or {}), reward)


class RewardKitClientFormat(ClientFormat):
    """Reward Kit's: flat keyword arguments, or nested ones as its generic server takes them."""

    name = "reward-kit"

    def __init__(self, path: str, nested: bool) -> None:
        self.path = path
        self._nested = nested

    def encode(self, sample: Sample, fixed: Mapping[str, Any]) -> bytes:
        fixed = dict(fixed)
        truth = fixed.pop("ground_truth", sample.ground_truth)
        if truth is None:
            truth = fixed.get("answer", sample.response)
        if truth is not None and not isinstance(truth, str | list):
            truth = str(truth)
        row: dict[str, Any] = {"messages": [m.to_dict() for m in sample.messages], "ground_truth": truth}
        arguments: dict[str, Any] = {n: v for n, v in sample.metadata.items() if n not in row}
        if sample.answer is not None:
            arguments["answer"] = sample.answer
        if sample.original_messages != sample.messages[:-1]:
            arguments["original_messages"] = [m.to_dict() for m in sample.original_messages]
        arguments |= fixed
        return json_of({**row, "kwargs": arguments} if self._nested else {**arguments, **row})

    def is_final(self, response: HttpResponse) -> bool:
        return response.status == 500 and _detail(response) is not None

    def decode(self, response: HttpResponse) -> EvaluateResult:
        if response.status == 500 and (detail := _detail(response)) is not None:
            raise ExecutionError(detail, url=response.url)  # its servers' word for a reward that raised
        value = response.object()
        if value.get("error"):
            error = value["error"]
            if isinstance(error, dict):
                raise error_from_payload(error)
            kind = value.get("error_kind")
            return EvaluateResult(error=str(error), error_kind=kind if isinstance(kind, str) else "exception")
        if "score" not in value:
            raise RemoteError(
                f"{response.url} answered with something that is not a result", url=response.url
            )
        if value.get("is_score_valid") is False and not value.get("metrics") and not value["score"]:
            # What its servers make of a reward that returned no result; its rewards mark low scores so, too, but
            # with metrics.
            raise InvalidResultError(
                str(value.get("reason") or f"{response.url} says that its score is not valid")
            )
        return read_result({**value, "error": None, "step_outputs": None, "reward": None}, response.url)


def _detail(response: HttpResponse) -> str | None:
    try:
        value = response.json()
    except RemoteError:
        return None
    detail = value.get("detail") if isinstance(value, dict) else None
    return detail.removeprefix(_GENERIC_SERVER_SAYS) if isinstance(detail, str) else None
