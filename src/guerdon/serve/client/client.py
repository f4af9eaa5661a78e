"""RewardClient and AsyncRewardClient: reward servers called from Python."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, overload

from pydantic import ValidationError
from pydantic_core import to_json

from guerdon.checks import reason_of
from guerdon.errors import BindingError, InputError, InvalidResultError, RemoteError, RewardError
from guerdon.serve.client.address import Address
from guerdon.serve.client.chunks import Chunk, chunks
from guerdon.serve.client.codecs import AdaptiveCodec
from guerdon.serve.client.event_loop import run_sync
from guerdon.serve.client.metadata_check import (
    BatchedMetadataValidationResponse,
    MetadataValidationResponse,
    check_metadata,
)
from guerdon.serve.client.response import HttpResponse, error_from_payload, problem_text
from guerdon.serve.client.stream import ScoresStream
from guerdon.serve.client.transport import CallOptions, Transport
from guerdon.serve.client.websocket import WebSocketClient, WebSocketUnsupportedError
from guerdon.serve.models import Request, Response, ServerInfo
from guerdon.settings import setting
from guerdon.types import EvaluateResult, Sample

T = TypeVar("T")
TransportName = Literal["http", "websocket", "auto"]
OnError = Literal["raise", "return"]
_CONCURRENT_CHUNKS = 8
_TRANSPORTS = ("http", "websocket", "auto")


class AsyncRewardClient:
    """A reward server, called from async code; Adaptive's servers as well as Guerdon's.

    ``url`` or ``base_url`` is the server's address, or that of one reward on it
    (``http://host:8000/rewards/math``); by default the setting ``GUERDON_BASE_URL``.

    - ``api_key``: sent as a Bearer token; by default ``GUERDON_API_KEY``.
    - ``timeout``: seconds that one request may take over all its tries, 60 by default; None sets no limit.
    - ``max_connections``: requests in flight at once, 32 by default.
    - ``retries``: how often a request is sent again, 5 by default, after a broken connection, a 429 or a 5xx,
      with waits that grow from a fifth of a second to ten, or as long as the server asks to. A request that is
      sent again is not scored again by a Guerdon server.
    - ``transport``: ``"http"``; ``"websocket"``, which ``score`` then goes over; ``"auto"`` for the latter where
      the server takes it.
    - ``ca_file``: a file of certificates to trust in place of the system's.

    Close it, or use it in ``async with``. Raises InputError for an address that is none, MissingExtraError
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

    def __init__(
        self,
        url: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 60.0,
        max_connections: int = 32,
        retries: int = 5,
        transport: TransportName = "http",
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self.address = Address.of(_address(url, base_url))
        self.options = CallOptions(
            api_key=api_key,
            timeout=timeout,
            max_connections=max_connections,
            retries=retries,
            ca_file=ca_file,
        )
        if transport not in _TRANSPORTS:
            raise InputError(f'transport must be "http", "websocket" or "auto", not {transport!r}')
        self._mode: TransportName = transport
        self._transport: Transport | None = None
        self._socket: WebSocketClient | None = None
        self._is_guerdon: bool | None = None
        self._schema: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    # The connection.

    def _on_this_loop(self) -> Transport:
        """The pool of connections of the running event loop."""
        if self._transport is None or self._transport.loop is not asyncio.get_running_loop():
            self._transport, self._socket = Transport(self.address, self.options), None
            self._transport.close_with(self)
        return self._transport

    async def setup(self) -> None:
        """Connect the WebSocket; ``connect_websocket`` under Adaptive's other name for it."""
        await self.connect_websocket()

    async def connect_websocket(self) -> Self:
        """Have ``score`` go over a WebSocket from now on, and connect it. Raises RemoteError."""
        await (await self._websocket_client()).connect()
        self._mode = "websocket"
        return self

    async def drop_websocket(self) -> None:
        """Close the WebSocket; ``score`` goes over HTTP again."""
        self._mode = "http"
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()

    async def _websocket_client(self) -> WebSocketClient:
        transport = self._on_this_loop()
        if self._socket is None:
            session = os.urandom(16).hex() if await self._speaks_v1() else None
            limit = self.options.max_response
            if self._socket is None:
                self._socket = WebSocketClient(
                    transport, lambda: AdaptiveCodec(limit), AdaptiveCodec.path, session
                )
        return self._socket

    async def _speaks_v1(self) -> bool:
        """Whether the server is Guerdon's."""
        if self._is_guerdon is None:
            answer = await self._on_this_loop().request("GET", self.address / "v1/info")
            self._is_guerdon = answer.status in (200, 401, 403)
        return self._is_guerdon

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        socket, self._socket = self._socket, None
        transport, self._transport = self._transport, None
        here = transport is not None and transport.loop is asyncio.get_running_loop()
        if socket is not None and here:
            await socket.close()
        if transport is not None and here:
            await transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Scoring.

    async def score(self, request: Request) -> Response:
        """The reward of one conversation.

        Raises the RewardError of the failure's kind where the reward failed: InputError for metadata that does
        not fit, DeadlineError, ExecutionError, …; RemoteError where the server cannot be reached or does not
        answer with a reward.
        """
        if self._mode != "http":
            try:
                return await self._ask(request)
            except WebSocketUnsupportedError:
                if self._mode == "websocket":
                    raise
                self._mode = "http"
        answer = await self._on_this_loop().request("POST", self.address / "score", _body(request))
        return _raised(_response(answer.object(), answer.url))

    async def _ask(self, request: Request) -> Response:
        socket = await self._websocket_client()
        content = request.model_dump()
        value = await socket.ask(lambda n: to_json({**content, "id": n}).decode())
        response = _raised(_response(value, socket.url))
        response.id = request.id
        return response

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
        if on_error not in ("raise", "return"):
            raise BindingError(f'on_error must be "raise" or "return", not {on_error!r}')
        bodies = ((place, _body(request)) for place, request in enumerate(requests))
        found: dict[int, Response | RewardError] = {}
        room = asyncio.Semaphore(min(_CONCURRENT_CHUNKS, self.options.max_connections))
        async with asyncio.TaskGroup() as group:
            for chunk in chunks(bodies):
                await room.acquire()
                task = group.create_task(self._score_chunk(chunk, found, on_error))
                task.add_done_callback(lambda _: room.release())
                if on_error == "raise" and any(isinstance(value, RewardError) for value in found.values()):
                    break
        if on_error == "raise":
            for place in sorted(found):
                _raised(found[place])
        return [found[place] for place in range(len(found))]

    async def _score_chunk(
        self, chunk: Chunk, found: dict[int, Response | RewardError], on_error: OnError
    ) -> None:
        """Score a chunk; what fails on its way fails for every item, what fails for one of them for that."""
        try:
            may_split = on_error == "return" and len(chunk) > 1
            answer = await self._post_chunk(chunk, (lambda a: a.status == 500) if may_split else None)
            if may_split and answer.status == 500:
                # Other servers answer so where one item raises; alone, each has its own answer.
                await asyncio.gather(*(self._score_chunk([item], found, on_error) for item in chunk))
                return
            if on_error == "return" and (refused := _refused(answer, len(chunk))):
                # Other servers refuse a whole batch for one item.
                for i, error in refused.items():
                    found[chunk[i][0]] = error
                chunk = [item for i, item in enumerate(chunk) if i not in refused]
                if not chunk:
                    return
                answer = await self._post_chunk(chunk)
            responses = answer.object().get("responses")
            if not isinstance(responses, list) or len(responses) != len(chunk):
                raise RemoteError(
                    f"{answer.url} did not answer {len(chunk)} requests with as many responses",
                    url=answer.url,
                )
        except RewardError as error:
            found.update((place, error) for place, _ in chunk)
        else:
            for (place, _), item in zip(chunk, responses, strict=True):
                found[place] = _response(item, answer.url)

    async def _post_chunk(
        self, chunk: Chunk, is_verdict: Callable[[HttpResponse], bool] | None = None
    ) -> HttpResponse:
        body = b'{"requests":[' + b",".join(body for _, body in chunk) + b"]}"
        return await self._on_this_loop().request(
            "POST", self.address / "batch_score", body, is_verdict=is_verdict
        )

    async def stream_scores(
        self, samples: Iterable[Sample | Mapping[str, Any]]
    ) -> AsyncGenerator[EvaluateResult]:
        """The results of samples, or of rows in chat form, in order as they come; for Guerdon's servers.

        The source may be endless: it is read only some chunks ahead. A failure is a result with an ``error``,
        also where the server could not be reached for that sample.
        """
        async with aclosing(self._streamed(samples)) as batches:
            async for batch in batches:
                for result in batch:
                    yield result

    def _streamed(
        self, samples: Iterable[Sample | Mapping[str, Any]]
    ) -> AsyncGenerator[list[EvaluateResult]]:
        return ScoresStream(self._on_this_loop(), samples).batches()

    # What the server says of itself.

    async def info(self) -> ServerInfo:
        """The server's name, version and description. Raises RemoteError."""
        answer = await self._on_this_loop().request("GET", self.address / "info")
        try:
            return ServerInfo.model_validate(answer.object())
        except ValidationError as error:
            raise RemoteError(f"{answer.url} answered with what is no info: {reason_of(error)}") from None

    async def metadata_schema(self) -> dict[str, Any]:
        """The JSON Schema that the metadata of every request must fit. Raises RemoteError."""
        if self._schema is None:
            answer = await self._on_this_loop().request("GET", self.address / "metadata_schema")
            self._schema = answer.object()
        return self._schema

    async def validate_metadata(self, metadata: Mapping[str, Any] | None) -> MetadataValidationResponse:
        """Whether metadata fits the server's schema, checked here; the schema is fetched once."""
        return check_metadata(await self.metadata_schema(), metadata)

    async def batch_validate_metadata(
        self, list_of_metadata: Iterable[Mapping[str, Any] | None]
    ) -> BatchedMetadataValidationResponse:
        """``validate_metadata`` for many, in order."""
        schema = await self.metadata_schema()
        return BatchedMetadataValidationResponse(
            responses=[check_metadata(schema, one) for one in list_of_metadata]
        )


class RewardClient:
    """A reward server, called from plain code and from any thread; takes the arguments of AsyncRewardClient.

    >>> from guerdon import Request, RewardClient, Turn
    >>> with RewardClient(url="http://127.0.0.1:9", retries=0) as client:
    ...     client.score(Request(turns=[Turn(role="assistant", content="4")]))
    Traceback (most recent call last):
    ...
    guerdon.errors.RemoteError: http://127.0.0.1:9/score cannot be reached: ...
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 60.0,
        max_connections: int = 32,
        retries: int = 5,
        transport: TransportName = "http",
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self._client = AsyncRewardClient(
            url,
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            max_connections=max_connections,
            retries=retries,
            transport=transport,
            ca_file=ca_file,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._client.address}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        _wait(self._client.close())

    def connect_websocket(self) -> Self:
        """Have ``score`` go over a WebSocket from now on, and connect it. Raises RemoteError."""
        _wait(self._client.connect_websocket())
        return self

    def drop_websocket(self) -> None:
        """Close the WebSocket; ``score`` goes over HTTP again."""
        _wait(self._client.drop_websocket())

    def score(self, request: Request) -> Response:
        """The reward of one conversation; see AsyncRewardClient.score."""
        return _wait(self._client.score(request))

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
        return _wait(self._client.batch_score(requests, on_error=on_error))

    def stream_scores(self, samples: Iterable[Sample | Mapping[str, Any]]) -> Iterator[EvaluateResult]:
        """The results of samples in order as they come; see AsyncRewardClient.stream_scores."""
        batches = _wait(_call_on_loop(lambda: self._client._streamed(samples)))
        try:
            while (batch := _wait(_next(batches))) is not None:
                yield from batch
        finally:
            _wait(batches.aclose())

    def info(self) -> ServerInfo:
        """The server's name, version and description. Raises RemoteError."""
        return _wait(self._client.info())

    def metadata_schema(self) -> dict[str, Any]:
        """The JSON Schema that the metadata of every request must fit. Raises RemoteError."""
        return _wait(self._client.metadata_schema())

    def validate_metadata(self, metadata: Mapping[str, Any] | None) -> MetadataValidationResponse:
        """Whether metadata fits the server's schema, checked here; the schema is fetched once."""
        return _wait(self._client.validate_metadata(metadata))

    def batch_validate_metadata(
        self, list_of_metadata: Iterable[Mapping[str, Any] | None]
    ) -> BatchedMetadataValidationResponse:
        """``validate_metadata`` for many, in order."""
        return _wait(self._client.batch_validate_metadata(list_of_metadata))


def _address(url: str | None, base_url: str | None) -> str:
    if url is not None and base_url is not None:
        raise BindingError("url and base_url are two names for the same thing; give one of them")
    given = url if url is not None else base_url if base_url is not None else setting("base_url")
    if given is None:
        raise InputError("give the server's address as url=, or set GUERDON_BASE_URL")
    return str(given)


def _body(request: Request) -> bytes:
    try:
        return request.model_dump_json().encode()
    except (AttributeError, ValueError) as error:
        raise InputError(f"a request must be a guerdon.Request whose metadata can be JSON: {error}") from None


def _response(item: Any, where: str) -> Response | RewardError:
    """One response, or the failure in place of it."""
    if not isinstance(item, dict):
        return RemoteError(f"{where} answered with what is no response", url=where)
    error = item.get("error")
    if isinstance(error, dict):
        return error_from_payload(error)
    if "reward" in item and item["reward"] is None:
        # What a reward that is not finite becomes in the JSON of other servers.
        return InvalidResultError(f"{where} answered with a reward that is no finite number", url=where)
    try:
        return Response.model_validate(item)
    except ValidationError as problem:
        return RemoteError(f"{where} answered with what is no response: {reason_of(problem)}", url=where)


def _raised(value: Response | RewardError) -> Response:
    if isinstance(value, RewardError):
        raise value
    return value


def _refused(answer: HttpResponse, count: int) -> dict[int, RewardError]:
    """By place, the items for which a whole batch was refused; empty where it was not, or not for some of them."""
    found: dict[int, list[str]] = {}
    for problem in answer.problems() if answer.status == 422 else ():
        match problem.get("loc"):
            case ["body", "requests", int(place), *rest] if place < count:
                found.setdefault(place, []).append(problem_text({**problem, "loc": rest}))
            case _:
                return {}
    return {place: InputError("; ".join(texts)) for place, texts in found.items()}


def _wait(coroutine: Coroutine[Any, Any, T]) -> T:
    return run_sync(coroutine)


async def _call_on_loop(make: Callable[[], T]) -> T:
    return make()


async def _next(batches: AsyncGenerator[list[EvaluateResult]]) -> list[EvaluateResult] | None:
    return await anext(batches, None)
