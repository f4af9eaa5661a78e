"""RewardServer, the class in which Adaptive's users write a reward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Generic, Self

from pydantic import BaseModel, ValidationError

from guerdon.checks import reason_of
from guerdon.errors import InputError, RewardError
from guerdon.serve.bodies import MetadataT, Response, ServerInfo, Turn, ValidatedRequest
from guerdon.types import Message

_detached: ContextVar[bool] = ContextVar("guerdon_detached", default=False)


class RewardServer(ABC, Generic[MetadataT]):
    """A reward as a class, generic over its metadata class: subclasses give ``score`` and ``info``.

    A subclass is a reward like any other: ``guerdon.score(MyServer, rows)`` and
    ``RewardFunction(MyServer, db_base_path="dbs")`` score with it in place, the conversation as turns,
    the other columns as metadata. Constructor arguments are given as fixed arguments.

    >>> from guerdon import EmptyMetadata, RewardFunction, Sample
    >>> class Short(RewardServer[EmptyMetadata]):
    ...     def __init__(self, port: int = 8000, **kwargs):
    ...         super().__init__(port, EmptyMetadata, **kwargs)
    ...     async def score(self, request):
    ...         return Response(reward=len(request.turns[-1].content) < 9)
    ...     async def info(self):
    ...         return ServerInfo(version="1", name="short", description="Short answers.")
    >>> sample = Sample(messages=[{"role": "assistant", "content": "4"}])
    >>> RewardFunction(Short).evaluate(sample).score
    1.0
    """

    def __init__(
        self,
        port: int,
        metadata_cls: type[MetadataT],
        blocking: bool = True,
        *,
        host: str = "127.0.0.1",
        **options: Any,
    ) -> None:
        self.port = port
        self.host = host
        self.metadata_cls = metadata_cls
        self.blocking = blocking
        self.options = options
        if not _detached.get():
            raise RewardError(
                f"{type(self).__name__} cannot listen on port {port}: this version of guerdon scores "
                f"with a RewardServer in place, guerdon.score({type(self).__name__}, rows), and does not serve"
            )

    @classmethod
    def detached(cls, **arguments: Any) -> Self:
        """An instance that does not listen, to score with in place."""
        token = _detached.set(True)
        try:
            return cls(**arguments)
        finally:
            _detached.reset(token)

    @abstractmethod
    async def score(self, request: ValidatedRequest[MetadataT]) -> Response:
        """The reward of one sample."""

    @abstractmethod
    async def info(self) -> ServerInfo:
        """What the server says of itself."""

    def make_request(
        self, messages: list[Message], metadata: Mapping[str, Any]
    ) -> ValidatedRequest[MetadataT]:
        """The request for a conversation. Raises InputError where the metadata does not fit."""
        try:
            checked = self.metadata_cls.model_validate(dict(metadata))
        except ValidationError as error:
            raise InputError(f"metadata.{reason_of(error)}") from None
        turns = [Turn(role=message.role, content=message.text) for message in messages]
        return ValidatedRequest[BaseModel].model_construct(turns=turns, metadata=checked)  # type: ignore[return-value]
