"""RewardClient: a reward server called from plain code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, overload

from guerdon.errors import RewardError
from guerdon.serve.client.base_client import BaseRewardClient
from guerdon.serve.client.batch import OnError
from guerdon.serve.client.event_loop import run_sync
from guerdon.serve.client.metadata_check import (
    BatchedMetadataValidationResponse,
    MetadataValidationResponse,
    check_metadata,
)
from guerdon.serve.models import Request, Response, ServerInfo
from guerdon.types import EvaluateResult, Sample


class RewardClient(BaseRewardClient):
    """A reward server, called from plain code and from any thread; takes the arguments of AsyncRewardClient.

    >>> from guerdon import Request, RewardClient, Turn
    >>> with RewardClient(url="http://127.0.0.1:9", retries=0) as client:
    ...     client.score(Request(turns=[Turn(role="assistant", content="4")]))
    Traceback (most recent call last):
    ...
    guerdon.errors.RemoteError: http://127.0.0.1:9/score cannot be reached: ...
    """

    def connect_websocket(self) -> Self:
        """Send ``score`` over a WebSocket from now on, and connect it. Raises RemoteError."""
        run_sync(self._session.connect_websocket())
        return self

    def drop_websocket(self) -> None:
        """Close the WebSocket; ``score`` goes over HTTP again."""
        run_sync(self._session.drop_websocket())

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        run_sync(self._session.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def score(self, request: Request) -> Response:
        """The reward of one conversation; see AsyncRewardClient.score."""
        return run_sync(self._session.score(request))

    @overload
    def batch_score(
        self, requests: Sequence[Request], *, on_error: Literal["raise"] = ...
    ) -> list[Response]: ...
    @overload
    def batch_score(
        self, requests: Sequence[Request], *, on_error: Literal["return"]
    ) -> list[Response | RewardError]: ...
    def batch_score(
        self, requests: Sequence[Request], *, on_error: OnError = "raise"
    ) -> Sequence[Response | RewardError]:
        """The rewards of many conversations, in order; see AsyncRewardClient.batch_score."""
        return run_sync(self._session.batch_score(requests, on_error))

    def stream_scores(self, samples: Iterable[Sample | Mapping[str, Any]]) -> Iterator[EvaluateResult]:
        """The results of samples in order as they arrive; see AsyncRewardClient.stream_scores."""
        batches = run_sync(self._start_stream(samples))
        try:
            while (batch := run_sync(_next_batch(batches))) is not None:
                yield from batch
        finally:
            run_sync(batches.aclose())

    async def _start_stream(
        self, samples: Iterable[Sample | Mapping[str, Any]]
    ) -> AsyncGenerator[list[EvaluateResult]]:
        # A coroutine because the connections belong to the loop that opens them.
        return self._session.stream_batches(samples)

    def info(self) -> ServerInfo:
        """The server's name, version and description. Raises RemoteError."""
        return run_sync(self._session.info())

    def metadata_schema(self) -> dict[str, Any]:
        """The JSON Schema that the metadata of every request must fit. Raises RemoteError."""
        return run_sync(self._session.metadata_schema())

    def validate_metadata(self, metadata: Mapping[str, Any] | None) -> MetadataValidationResponse:
        """Whether metadata fits the server's schema, checked here; the schema is fetched once."""
        return check_metadata(self.metadata_schema(), metadata)

    def batch_validate_metadata(
        self, list_of_metadata: Iterable[Mapping[str, Any] | None]
    ) -> BatchedMetadataValidationResponse:
        """``validate_metadata`` for many, in order."""
        schema = self.metadata_schema()
        return BatchedMetadataValidationResponse(
            responses=[check_metadata(schema, metadata) for metadata in list_of_metadata]
        )


async def _next_batch(batches: AsyncGenerator[list[EvaluateResult]]) -> list[EvaluateResult] | None:
    return await anext(batches, None)
