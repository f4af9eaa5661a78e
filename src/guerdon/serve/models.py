"""The bodies of Adaptive's reward servers (adaptive-sdk 0.14.2): requests, responses, server info."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictStr, field_validator

from guerdon.checks import finite

MetadataT = TypeVar("MetadataT", bound=BaseModel)


class _Body(BaseModel):
    # An infinite number is written as such, which is not JSON, so that the receiver refuses it.
    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, protected_namespaces=(), ser_json_inf_nan="constants"
    )


class Turn(_Body):
    """One message of the conversation."""

    role: StrictStr
    content: StrictStr


class EmptyMetadata(_Body):
    """The metadata class of a reward that needs none; whatever a sample has is ignored."""

    model_config = ConfigDict(extra="ignore")


class Request(_Body):
    """What a client sends: a conversation, whose last turn is the completion, and its metadata."""

    turns: list[Turn]
    metadata: dict[str, Any] | None = None
    id: int | None = None


class ValidatedRequest(_Body, Generic[MetadataT]):
    """A request whose metadata has been checked against the server's metadata class."""

    turns: list[Turn]
    metadata: MetadataT
    id: int | None = None


class ValidatedBatchedRequest(_Body, Generic[MetadataT]):
    """The argument of ``RewardServer.batch_score``: the requests of one body, all checked."""

    requests: list[ValidatedRequest[MetadataT]]


class Response(_Body):
    """A reward server's answer; ``reward`` is any finite number."""

    reward: float
    metadata: dict[str, Any] = Field(default_factory=dict)
    id: int | None = None

    @field_validator("reward", mode="before")
    @classmethod
    def _finite(cls, value: Any) -> float:
        return finite(value, "reward")


class BatchedRequest(_Body):
    """Several requests in one body."""

    requests: list[Request]


class BatchedResponse(_Body):
    """The responses to a BatchedRequest, in its order."""

    responses: list[Response]


class ServerInfo(_Body):
    """A reward server's description."""

    version: str
    name: str
    description: str
