"""AsyncRewardClient: a reward server called from async code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Literal, Self, overload

from guerdon.errors import RewardError
from guerdon.serve.client.base_client import BaseRewardClient
from guerdon.serve.client.batch import OnError
from guerdon.serve.client.metadata_check import (
    BatchedMetadataValidationResponse,
    MetadataValidationResponse,
    check_metadata,
)
from guerdon.serve.models import Request, Response, ServerInfo
from guerdon.types import EvaluateResult, Sample


class AsyncRewardClient(BaseRewardClient):
    """A reward server, called from async code; Adaptive's servers as well as Guerdon's.

    ``url`` or ``base_url`` is the server's address, or that of one reward on it
    (``http://host:8000/rewards/math``); by default the setting ``GUERDON_BASE_URL``.

    - ``api_key``: sent as a Bearer token; by default ``GUERDON_API_KEY``.
    - ``timeout``: seconds that one request may take over all its tries, 60 by default; None sets no limit.
    - ``max_connections``: requests in flight at once, 32 by default.
    - ``retries``: how often a request is sent again, 5 by default, after a broken connection, a 429 or a 5xx,
      with waits that grow from a fifth of a second to ten, or as long as the server asks for. A Guerdon server does
      not score a request again that is sent again.
    - ``transport``: ``"http"``; ``"websocket"``, which ``score`` then goes over; ``"auto"`` for the latter where
      the server takes it.
    - ``ca_file``: a file of certificates to trust in place of the system's.

    Close it, or use it in ``async with``. Raises InputError for an invalid address, MissingExtraError
    where aiohttp is not installed.

    >>> import asyncio
    >>> from guerdon import AsyncRewardClient, Request, Turn
    >>> async def main():
    ...     async with AsyncRewardClient("http://127.0.0.1:9", retries=0) as client:
    ...         await client.score(Request(turns=[Turn(role="assistant", content="4")]))
    >>> asyncio.run(main())
    Traceback (most recent call last):
    ...
    guerdon.errors.RemoteError: http://127.0.0.1:9/score cannot be reached: ...
    """

    async def setup(self) -> None:
        """Connect the WebSocket; ``connect_websocket`` under Adaptive's other name for it."""
        await self.connect_websocket()

    async def connect_websocket(self) -> Self:
        """Send ``score`` over a WebSocket from now on, and connect it. Raises RemoteError."""
        await self._session.connect_websocket()
        return self

    async def drop_websocket(self) -> None:
        """Close the WebSocket; ``score`` goes over HTTP again."""
        await self._session.drop_websocket()

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def score(self, request: Request) -> Response:
        """The reward of one conversation.

        Raises the RewardError of the failure's kind where the reward failed: InputError for metadata that does
        not fit, DeadlineError, ExecutionError, …; RemoteError where the server cannot be reached or does not
        answer with a reward.
        """
        return await self._session.score(request)

    @overload
    async def batch_score(
        self, requests: Sequence[Request], *, on_error: Literal["raise"] = ...
    ) -> list[Response]: ...
    @overload
    async def batch_score(
        self, requests: Sequence[Request], *, on_error: Literal["return"]
    ) -> list[Response | RewardError]: ...
    @overload
    async def batch_score(
        self, requests: Sequence[Request], *, on_error: OnError = ...
    ) -> Sequence[Response | RewardError]: ...
    async def batch_score(
        self, requests: Sequence[Request], *, on_error: OnError = "raise"
    ) -> Sequence[Response | RewardError]:
        """The rewards of many conversations, in order, however many.

        They go in chunks of at most 256 and 4 MB, several at once. ``on_error="return"`` gives a RewardError in
        the place of each that failed; by default the first failure is raised.
        """
        return await self._session.batch_score(requests, on_error)

    async def stream_scores(
        self, samples: Iterable[Sample | Mapping[str, Any]]
    ) -> AsyncGenerator[EvaluateResult]:
        """The results of samples, or of rows in chat form, in order as they arrive; for Guerdon's servers.

        The source may be endless: it is read only some chunks ahead. A failure is a result with an ``error``,
        also where the server could not be reached for that sample.
        """
        async with aclosing(self._session.stream_batches(samples)) as batches:
            async for batch in batches:
                for result in batch:
                    yield result

    async def info(self) -> ServerInfo:
        """The server's name, version and description. Raises RemoteError."""
        return await self._session.info()

    async def metadata_schema(self) -> dict[str, Any]:
        """The JSON Schema that the metadata of every request must fit. Raises RemoteError."""
        return await self._session.metadata_schema()

    async def validate_metadata(self, metadata: Mapping[str, Any] | None) -> MetadataValidationResponse:
        """Whether metadata fits the server's schema, checked here; the schema is fetched once."""
        return check_metadata(await self.metadata_schema(), metadata)

    async def batch_validate_metadata(
        self, list_of_metadata: Iterable[Mapping[str, Any] | None]
    ) -> BatchedMetadataValidationResponse:
        """``validate_metadata`` for many, in order."""
        schema = await self.metadata_schema()
        return BatchedMetadataValidationResponse(
            responses=[check_metadata(schema, metadata) for metadata in list_of_metadata]
        )
