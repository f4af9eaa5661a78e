"""ServerSession: what RewardClient and AsyncRewardClient share, the connections to a server and the calls over them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from guerdon.checks import reason_of
from guerdon.errors import RemoteError, RewardError
from guerdon.serve.client.address import Address
from guerdon.serve.client.batch import BatchScorer, OnError
from guerdon.serve.client.codecs import AdaptiveCodec
from guerdon.serve.client.options import CallOptions, TransportName
from guerdon.serve.client.results import raise_if_error, read_response
from guerdon.serve.client.stream import ScoresStream
from guerdon.serve.client.transport import Transport
from guerdon.serve.client.websocket import WebSocketClient, WebSocketUnsupportedError
from guerdon.serve.encoding import request_bytes
from guerdon.serve.models import Request, Response, ServerInfo
from guerdon.types import EvaluateResult, Sample


class ServerSession:
    """The connections of one client to one server, opened at first use on the event loop that calls."""

    def __init__(self, address: Address, options: CallOptions) -> None:
        self.address, self.options = address, options
        self._mode: TransportName = options.transport
        self._transport: Transport | None = None
        self._socket: WebSocketClient | None = None
        self._is_guerdon: bool | None = None
        self._schema: dict[str, Any] | None = None

    # Connections.

    def transport(self) -> Transport:
        """The connection pool of the running event loop."""
        if self._transport is None or self._transport.loop is not asyncio.get_running_loop():
            self._transport, self._socket = Transport(self.address, self.options), None
            self._transport.close_with(self)
        return self._transport

    async def connect_websocket(self) -> None:
        """Send ``score`` over a WebSocket from now on, and connect it. Raises RemoteError."""
        await (await self._websocket()).connect()
        self._mode = "websocket"

    async def drop_websocket(self) -> None:
        """Close the WebSocket; ``score`` goes over HTTP again."""
        self._mode = "http"
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()

    async def _websocket(self) -> WebSocketClient:
        transport = self.transport()
        if self._socket is None:
            session = os.urandom(16).hex() if await self._supports_v1() else None
            limit = self.options.max_response
            if self._socket is None:
                self._socket = WebSocketClient(
                    transport, lambda: AdaptiveCodec(limit), AdaptiveCodec.path, session
                )
        return self._socket

    async def _supports_v1(self) -> bool:
        """Whether the server is Guerdon's."""
        if self._is_guerdon is None:
            response = await self.transport().request("GET", self.address / "v1/info")
            self._is_guerdon = response.status in (200, 401, 403)
        return self._is_guerdon

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        socket, self._socket = self._socket, None
        transport, self._transport = self._transport, None
        if transport is None or transport.loop is not asyncio.get_running_loop():
            return
        if socket is not None:
            await socket.close()
        await transport.close()

    # Scoring.

    async def score(self, request: Request) -> Response:
        """See AsyncRewardClient.score."""
        if self._mode != "http":
            try:
                return await self._score_over_websocket(request)
            except WebSocketUnsupportedError:
                if self._mode == "websocket":
                    raise
                self._mode = "http"
        response = await self.transport().request("POST", self.address / "score", request_bytes(request))
        return raise_if_error(read_response(response.object(), response.url))

    async def _score_over_websocket(self, request: Request) -> Response:
        socket = await self._websocket()
        content = request.model_dump()
        value = await socket.request(lambda n: to_json({**content, "id": n}).decode())
        response = raise_if_error(read_response(value, socket.url))
        response.id = request.id
        return response

    async def batch_score(
        self, requests: Sequence[Request], on_error: OnError
    ) -> Sequence[Response | RewardError]:
        """See AsyncRewardClient.batch_score."""
        return await BatchScorer(self.transport(), self.address / "batch_score", on_error).score(requests)

    def stream_batches(
        self, samples: Iterable[Sample | Mapping[str, Any]]
    ) -> AsyncGenerator[list[EvaluateResult]]:
        """The results of samples in order, in lists of those that have arrived."""
        return ScoresStream(self.transport(), samples).batches()

    # The server's description.

    async def info(self) -> ServerInfo:
        """The server's name, version and description. Raises RemoteError."""
        response = await self.transport().request("GET", self.address / "info")
        try:
            return ServerInfo.model_validate(response.object())
        except ValidationError as error:
            raise RemoteError(f"{response.url} did not answer with its info: {reason_of(error)}") from None

    async def metadata_schema(self) -> dict[str, Any]:
        """The JSON Schema of the metadata, fetched once. Raises RemoteError."""
        if self._schema is None:
            response = await self.transport().request("GET", self.address / "metadata_schema")
            self._schema = response.object()
        return self._schema
