"""Frames of a WebSocket: how a request is written, and how the frames that answer it are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from guerdon.errors import RemoteError, RewardError
from guerdon.serve.client.response import error_from_payload
from guerdon.serve.json_reading import MAX_ANSWER_VALUES, read_bounded_json

_BUSY = frozenset({"busy", "draining", "unavailable", "overloaded"})
"""Kinds of an error frame that say nothing of the sample; it is sent again."""


class InvalidFrameError(Exception):
    """A frame that is not in the format."""


class WebSocketReply(NamedTuple):
    """A server's answer to request ``n``."""

    n: int
    value: Any
    """The answer, or the RewardError in place of one."""
    busy: bool = False
    """Whether the request is to be sent again."""


class WebSocketCodec(ABC):
    """The frames of one connection."""

    path: str

    @abstractmethod
    def decode(self, text: str) -> WebSocketReply | None:
        """The reply that is complete with this frame. Raises InvalidFrameError."""


def _object(text: str) -> dict[str, Any]:
    try:
        value = read_bounded_json(text, MAX_ANSWER_VALUES)
    except ValueError as error:
        raise InvalidFrameError(str(error)) from None
    if not isinstance(value, dict):
        raise InvalidFrameError("a frame must be an object")
    return value


def _failed(n: int, error: dict[str, Any]) -> WebSocketReply:
    return WebSocketReply(n, error_from_payload(error), error.get("kind") in _BUSY)


_MOST_PARTS = 4_096


class AdaptiveCodec(WebSocketCodec):
    """Adaptive's ``/ws``: a header frame with the number of chunks, then the chunks of a Response's JSON."""

    path = "ws"

    def __init__(self, max_response: int) -> None:
        self._max = max_response
        self._parts: dict[int, tuple[int, list[str]]] = {}
        """By id: how many chunks there will be, and those that came."""
        self._sizes: dict[int, int] = {}
        """By id: the characters of the chunks that came, and one more for each chunk."""

    def decode(self, text: str) -> WebSocketReply | None:
        frame = _object(text)
        n = frame.get("id")
        if not isinstance(n, int):
            return None  # the answer to no request of this connection
        if isinstance(error := frame.get("error"), dict):
            self._parts.pop(n, None)
            return _failed(n, error)
        if isinstance(total := frame.get("total_num_chunks"), int):
            self._parts[n], self._sizes[n] = (total, []), 0
            if len(self._parts) > _MOST_PARTS:
                raise InvalidFrameError("more answers have begun than requests can be in flight")
            return self._complete(n)
        chunk = frame.get("chunk")
        if not isinstance(chunk, str) or n not in self._parts:
            raise InvalidFrameError("a frame must have a chunk that was announced")
        self._parts[n][1].append(chunk)
        self._sizes[n] += len(chunk) + 1
        if self._sizes[n] > self._max:
            del self._parts[n]
            return WebSocketReply(n, RemoteError(f"the answer has more than {self._max} characters"))
        return self._complete(n)

    def _complete(self, n: int) -> WebSocketReply | None:
        total, chunks = self._parts[n]
        if len(chunks) < total:
            return None
        del self._parts[n]
        value: dict[str, Any] | RewardError = _object("".join(chunks))
        return WebSocketReply(n, value)


class V1Codec(WebSocketCodec):
    """Guerdon's own ``/v1/ws``: one frame with a result for one with a sample."""

    path = "v1/ws"

    def decode(self, text: str) -> WebSocketReply | None:
        frame = _object(text)
        n = frame.get("n")
        if not isinstance(n, int):
            return None
        if isinstance(result := frame.get("result"), dict):
            return WebSocketReply(n, result)
        if isinstance(error := frame.get("error"), dict):
            return _failed(n, error)
        raise InvalidFrameError("a frame must have a result or an error")
